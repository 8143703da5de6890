"""The machine of conformance alone, without an engine."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from pipelines.conformance import timeline as codes
from pipelines.conformance.queue import Queue
from pipelines.conformance.timeline import PAYLOAD
from pipelines.queue_machine.workers import BITS

TYPES = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}
Row = dict[str, Any]


def row(time: int, kind: int, **what: Any) -> Row:
    return {"position": (time << BITS) + kind, **what}


def arrival(time: int, message: str, group: str, level: int, endpoint: str | None = None) -> Row:
    """A message, in a conversation of its own unless one is given."""
    ids = {"message_id": message, "endpoint": endpoint or message, "group_id": group}
    return row(time, codes.ARRIVAL, arrived=time, level=level, rank=2, **ids)


def taken(time: int, message: str, group: str, transaction: str | None, **what: Any) -> Row:
    """A message that is taken, of a conversation of its own unless one is given."""
    ids = {"message_id": message, "endpoint": what.pop("endpoint", message), "group_id": group}
    return row(
        time,
        codes.RECEIVED,
        transaction_id=transaction,
        is_outside=what.pop("is_outside", False),
        **ids,
        **what,
    )


def table(rows: Iterable[Row]) -> pa.Table:
    in_order = sorted(rows, key=lambda each: each["position"])
    types = {"position": "bigint", **PAYLOAD}
    return pa.table(
        {name: pa.array([each.get(name) for each in in_order], TYPES[of]) for name, of in types.items()}
    )


def play(rows: pa.Table, tolerance: int = 10) -> Queue:
    queue = Queue(start=0, tolerance=tolerance, has_queue_events=True)
    queue.play([rows[name].to_pylist() for name in ("position", *PAYLOAD)])
    queue.finish()
    return queue


def test_a_hold_that_begins_and_ends_in_an_instant_is_no_break() -> None:
    """A group that is there before and after an instant has been there all the time."""
    rows = [
        arrival(0, "a", "high", 8),
        arrival(0, "b", "high", 8),
        arrival(0, "c", "low", 5),
        # The first one stays open and holds the group, until the second one has the message for good.
        taken(50, "a", "high", "t1"),
        taken(50, "a", "high", "t2", committed=40),
        taken(50, "c", "low", "t3", committed=60),
    ]
    [deviation] = play(table(rows), tolerance=1).evaluator.deviations
    assert (deviation.conversation_group_id, deviation.kind) == ("low", "unexplained")


def test_groups_that_have_just_come_are_no_fault() -> None:
    rows = [arrival(45, f"m{each}", f"g{each}", 9) for each in range(50)]
    rows += [arrival(0, "c", "low", 5), taken(50, "c", "low", "t", committed=60)]
    for tolerance, kind in ((6, "timing"), (5, "unexplained")):
        [deviation] = play(table(rows), tolerance).evaluator.deviations
        assert (deviation.passed_groups, deviation.kind) == (50, kind)


def test_every_group_that_was_passed_has_to_be_named() -> None:
    rows = [arrival(0, f"m{each}", f"g{each}", 9) for each in range(20)]
    rows += [arrival(0, "c", "low", 5), taken(50, "c", "low", "t", committed=60)]
    # One that comes later, and one that goes, change nothing of what was passed.
    rows += [arrival(51, "late", "late", 9), taken(51, "m3", "g3", "t4", committed=51)]
    named = [
        row(45 + each % 10, codes.STATEMENT, endpoint=f"m{each}", group_id=f"g{each}") for each in range(20)
    ]
    for statements, kind in ((named, "other_lock"), (named[1:], "unexplained"), (named[:-1], "unexplained")):
        deviations = play(table(rows + statements)).evaluator.deviations
        assert [each.kind for each in deviations if each.conversation_group_id == "low"] == [kind]


GET_HIGH = row(20, codes.GET_GROUP, group_id="high", transaction_id="t2", committed=99)
OVER, OWN = {"committed": 40}, {"transaction_id": "t"}
WAITING = [arrival(0, "a", "high", 8), arrival(0, "b", "low", 5)]
CHOOSES = {"decisions": 1, "with_choice": 1, "conforming": 1, "passable": 1}
PASSES = {"decisions": 1, "with_choice": 1, "passed": 1, "passable": 1, "unexplained": 1}
ALONE = {"decisions": 1}
LOCKED = {"decisions": 1, "lock_skipped": 1}
TAKES_LOW = taken(50, "b", "low", "t", committed=50)
"""Of two groups, at levels 8 and 5, the lower one is received at 50."""


ENDED = [
    arrival(0, "a", "high", 8),
    arrival(0, "c", "high", 8),
    arrival(0, "b", "low", 5),
    row(5, codes.END, endpoint="a", group_id="high"),
]
"""Two messages of the group high; the endpoint of one of them ends at 5."""


def gone(time: int, message: str, **what: Any) -> Row:
    """A snapshot shows no more of a message of the group high."""
    return row(
        time, codes.GONE, message_id=message, endpoint=message, group_id="high", is_outside=False, **what
    )


def high(time: int, transaction: str, **what: Any) -> Row:
    """The message a of the group high is taken."""
    return taken(time, "a", "high", transaction, **what)


LATE = arrival(9, "a", "high", 8) | {"is_outside": True}
TWICE = {"decisions": 3, "with_choice": 2, "conforming": 2, "passable": 2, "partial": 2, "lock_skipped": 1}
CASES: dict[str, tuple[list[Row], dict[str, int]]] = {
    "the higher one": ([*WAITING, high(50, "t", committed=50)], CHOOSES),
    "the lower one": ([*WAITING, TAKES_LOW], PASSES),
    "what arrives at that instant is there": (
        [arrival(50, "a", "high", 8), WAITING[1], TAKES_LOW],
        {"decisions": 1, "with_choice": 1, "passed": 1, "passable": 1, "timing": 1},
    ),
    "what arrives later is not": ([arrival(51, "a", "high", 8), WAITING[1], TAKES_LOW], ALONE),
    "gone at that instant": ([*WAITING, gone(50, "a"), TAKES_LOW], ALONE),
    "gone later": ([*WAITING, gone(51, "a"), TAKES_LOW], PASSES),
    "gone before its endpoint was there": (
        [gone(1, "a") | {"is_outside": True}, arrival(9, "a", "high", 8), WAITING[1], TAKES_LOW],
        ALONE,
    ),
    "gone, and received nevertheless": (
        [*WAITING, gone(5, "a"), high(50, "t", committed=50)],
        {"decisions": 1, "not_ready": 1},
    ),
    "gone after its endpoint ended, and received then": (
        [*ENDED, gone(6, "a"), high(20, "t2", committed=99), TAKES_LOW],
        PASSES | {"decisions": 2, "with_choice": 2, "conforming": 1, "passable": 2, "partial": 1},
    ),
    "received after its endpoint ended": (
        [*ENDED, high(20, "t2", committed=99), TAKES_LOW],
        CHOOSES | {"decisions": 2, "partial": 1, "lock_skipped": 1},
    ),
    "received early, of an endpoint that had ended when it arrived": (
        [*ENDED[1:3], high(1, "t2", committed=99, is_outside=True), LATE, TAKES_LOW],
        CHOOSES | {"decisions": 2, "partial": 1, "lock_skipped": 1},
    ),
    "received again while it is in flight": (
        [*ENDED, high(20, "t2", rolled_back=30), high(25, "t3", rolled_back=99), TAKES_LOW],
        TWICE,
    ),
    "received again as it is rolled back": (
        [*ENDED, high(3, "t2", rolled_back=20), high(20, "t3", rolled_back=99), TAKES_LOW],
        TWICE,
    ),
    "received for good as it is rolled back, and again": (
        [
            *ENDED,
            high(3, "t2", rolled_back=20),
            high(20, "t3", committed=20),
            high(30, "t4", rolled_back=99),
            TAKES_LOW,
        ],
        {"decisions": 4, "with_choice": 4, "conforming": 3, "passable": 4, "partial": 3,
         "passed": 1, "unexplained": 1},
    ),
    "a statement names the group": ([*WAITING, GET_HIGH, TAKES_LOW], LOCKED),
    "every group is held, its own by itself": (
        [
            *WAITING,
            GET_HIGH,
            arrival(0, "c", "other", 9),
            GET_HIGH | {"group_id": "other", "transaction_id": "t3"},
            GET_HIGH | OWN | {"group_id": "low"},
            TAKES_LOW,
        ],
        LOCKED,
    ),
    "a statement of a transaction that is over": ([*WAITING, GET_HIGH | OVER, TAKES_LOW], PASSES),
    "its own transaction named the group": ([*WAITING, GET_HIGH | OWN, TAKES_LOW], PASSES),
    "WHERE without a group is that of the transaction": (
        [*WAITING, row(50, codes.RECEIVE, transaction_id="t", has_where=True), TAKES_LOW],
        {"where_clause": 1},
    ),
    "no WHERE, no group": ([*WAITING, row(50, codes.RECEIVE, transaction_id="t"), TAKES_LOW], PASSES),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_was_there_at_a_decision(case: str) -> None:
    rows, expected = CASES[case]
    counts = play(table(rows)).evaluator.counts
    assert {name: count for name, count in counts.items() if count} == expected


def test_of_what_chance_would_pass() -> None:
    """Of three groups at levels 9, 5 and 5, a random choice passes one in two of three cases."""
    rows = [arrival(0, "a", "g1", 9), arrival(0, "b", "g2", 5), arrival(0, "c", "g3", 5)]
    assert play(table([*rows, taken(50, "a", "g1", None)])).evaluator.blind == pytest.approx(2 / 3)


@pytest.mark.parametrize("by_level", [True, False])
def test_a_reader_that_draws_lots_has_no_skill(by_level: bool) -> None:
    """One that takes the highest level first passes nothing; one that draws passes what chance would."""
    random = Random(2)
    levels = [random.choice((9, 6, 2)) for _ in range(300)]
    order = sorted(range(300), key=lambda each: (-levels[each] if by_level else 0, random.random()))
    rows = [arrival(0, f"m{number}", f"g{number}", level) for number, level in enumerate(levels)]
    rows += [taken(10 + at, f"m{number}", f"g{number}", None) for at, number in enumerate(order)]
    evaluator = play(table(rows)).evaluator
    skill = 1 - evaluator.counts["passed"] / evaluator.blind
    assert skill == 1 if by_level else abs(skill) < 0.1
