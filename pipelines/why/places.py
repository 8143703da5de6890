"""The places of open messages."""

from typing import Any

PLACE = ("kind", "instance", "database", "queue")
"""A place: a queue (kind receive), an instance's transmission queue, or all messages that can't be placed."""
OF_PLACE = ", ".join(f"{name} string" for name in PLACE)
"""The columns of PLACE as DDL."""
KINDS = ("receive", "transmission", "unresolved")

Row = dict[str, Any]
Place = tuple[str, str, str, str]


def place_of(row: Row) -> Place:
    """The place of a row: kind, instance, database and queue, empty where it has none."""
    kind, instance, database, queue = (row[name] for name in PLACE)
    return kind, instance, database, queue
