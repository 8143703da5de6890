"""Databases that hold the same conversations: an endpoint is one row in one database."""

from collections.abc import Iterable
from itertools import combinations

from pipelines.config.errors import CopyError
from pipelines.config.queue_filter import queue_text
from pipelines.config.snapshots.server import ServerSnapshot

NO_BROKER = "00000000-0000-0000-0000-000000000000"
"""The service_broker_guid of a database that never had a broker."""
Place = tuple[str, str]
"""Instance and database."""


def require_different_brokers(snapshots: Iterable[ServerSnapshot]) -> None:
    """Refuse two databases that snapshots show with one service_broker_guid, at any two moments.

    Raises:
        CopyError: there are such; one line a pair.
    """
    by_guid: dict[str, set[Place]] = {}
    for each in snapshots:
        guid = each.service_broker_guid
        if guid is not None and guid != NO_BROKER:
            by_guid.setdefault(guid, set()).add(each.database_key)
    pairs = {pair: guid for guid, places in by_guid.items() for pair in combinations(sorted(places), 2)}
    if pairs:
        raise CopyError(
            *(describe_copy(*pair, f"both with service_broker_guid {pairs[pair]}") for pair in sorted(pairs))
        )


def describe_copy(one: Place, other: Place, why: str) -> str:
    """The line about two databases, with what to do."""
    first, second = map(queue_text, (one, other))
    return (
        f"snapshots: {first} and {second} hold the same conversations ({why}); leave out the copy, "
        f"`leave_out: [{first}]` or `leave_out: [{second}]` at its entry of snapshots (views by hand: remove "
        "the entry); if they are failover partners, or one database that was renamed or moved, write "
        f"`aliases: {{NAME: [{first}, {second}]}}`, with its present name last"
    )
