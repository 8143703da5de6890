"""The places of open messages, and the names by which they are counted."""

from typing import Any

from pipelines.config.rules.limits import CRITERIA

PLACE = ("kind", "instance", "database", "queue")
"""A place: a queue (kind receive), an instance's transmission queue, or all messages that can't be placed."""
KINDS = ("receive", "transmission", "unresolved")
NAMES = CRITERIA
"""Contract and services of the endpoint that holds a message."""

Row = dict[str, Any]
Place = tuple[str, str, str, str]


def place_of(row: Row) -> Place:
    """The place of a row: kind, instance, database and queue, empty where it has none."""
    kind, instance, database, queue = (row[name] for name in PLACE)
    return kind, instance, database, queue
