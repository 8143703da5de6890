"""The packing station of Brackwater Supply: the sample's queue whose readers keep to the levels.

The rush before noon is more than two readers can do. What goes wrong in it is one thing of each kind that
`priorities conformance` tells apart.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from dev.generator.rulebook import Rulebook, Statement
from dev.generator.world import HOUR, MINUTE, Line, Rush, micros

DISPATCH, PACKING = SERVICES = ("DispatchService", "PackingService")

SHARES = {
    "ExpressPackingContract": 0.2,
    "StandardPackingContract": 0.3,
    "GiftPackingContract": 0.1,
    "BulkPackingContract": 0.4,
}

PER_HALF_HOUR = (55, 75, 95, 100, 70, 45, 25, 15)
"""Conversations that begin, from ten o'clock on."""

STATEMENT_LATE = 3 * MINUTE
"""The server gets a changed rule so long after its moment in the rule file."""


def rush(
    statements: Sequence[Statement],
    *,
    places: Mapping[str, tuple[str, str, str]],
    session: int,
    midnight: int,
) -> Rush:
    """The rush of the sample's day.

    Args:
        statements: the rules.
        places: (instance, database, queue) of every service.
        session: number of the first session.
        midnight: the day's, in microseconds.
    """
    instance, database, queue = places[PACKING]
    _, from_database, from_queue = places[DISPATCH]
    book = Rulebook(statements)

    def at(hour: int, minute: int) -> int:
        return midnight + hour * HOUR + minute * MINUTE

    return Rush(
        instance=instance,
        initiator=(DISPATCH, from_database, from_queue),
        target=(PACKING, database, queue),
        initiator_level=book.level(instance, from_database, next(iter(SHARES)), DISPATCH, PACKING),
        lines=tuple(
            Line(contract, share, _levels(contract, statements, book, places[PACKING]))
            for contract, share in SHARES.items()
        ),
        session=session,
        readers=2,
        begin=at(10, 0),
        per_half_hour=PER_HALF_HOUR,
        ended_from=at(20, 0),
        # Mostly before and after the worst of it: what is taken out of turn moves all that follows until the
        # queue is empty, and a replay that can't know of it would go other ways for hours.
        late=(at(10, 12), at(10, 20), at(10, 30)),
        sending=(at(10, 12), at(10, 36), at(12, 50)),
        going_on=(at(11, 10), at(11, 20)),
        by_hand=(at(10, 35), at(12, 5), at(12, 40)),
        stray_from=at(12, 35),
        stray_until=at(12, 38),
    )


def _levels(
    contract: str, statements: Sequence[Statement], book: Rulebook, place: tuple[str, str, str]
) -> tuple[tuple[int, int], ...]:
    """The level of the target's endpoint by the rule of the contract, since when, on the server."""
    instance, database, _ = place
    rule = next(
        each.name
        for each in statements
        if each.verb == "create" and each.settings.get("contract") == contract
    )
    changes = [
        (micros(_instant(each.effective_from)) + STATEMENT_LATE, int(each.settings["level"]))
        for each in statements
        if (each.verb, each.instance, each.database, each.name) == ("alter", instance, database, rule)
    ]
    return ((0, book.level(instance, database, contract, PACKING, DISPATCH)), *sorted(changes))


def _instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
