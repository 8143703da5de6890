"""The machine of conformance alone, without an engine, and beside the running sums."""

from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import pyarrow as pa
import pytest

from pipelines.conformance import event_codes as codes
from pipelines.conformance.queue import Queue
from pipelines.conformance.timeline import PAYLOAD
from pipelines.queue_machine.timeline import BITS
from tests.support.running_sums import FIGURES, facts, figures_of

TYPES = {"string": pa.string(), "bigint": pa.int64(), "int": pa.int32(), "boolean": pa.bool_()}
GROUPS = ("g1", "g2", "g3", "g4")
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


def play(rows: pa.Table, tolerance: int = 10, *, has_queue_events: bool = True) -> Queue:
    queue = Queue(start=0, tolerance=tolerance, has_queue_events=has_queue_events)
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


def test_an_order_that_the_engine_did_not_keep_is_seen() -> None:
    rows = table([arrival(4, "a", "g", 5), arrival(5, "b", "g", 5)])
    with pytest.raises(RuntimeError, match="did not keep the order"):
        play(rows.take([1, 0]))


def busy(random: Random) -> list[Row]:
    """A queue where all that may happen does."""
    rows, messages = [], []
    homes = {f"c{each}": (random.choice(GROUPS), random.choice((2, 5, 5, 9))) for each in range(8)}
    last = {endpoint: random.choice((20, 60, 60, 60)) for endpoint in homes}
    for endpoint, (group, _) in homes.items():
        if last[endpoint] < 60:
            rows.append(row(last[endpoint], codes.END, endpoint=endpoint, group_id=group))
        moments = random.sample(range(60), random.choice((0, 0, 1, 2)))
        rows += [
            row(each, codes.MOVE, endpoint=endpoint, group_id=random.choice((*GROUPS, "g5")))
            for each in moments
        ]
    for number in range(50):
        endpoint, time = random.choice(list(homes)), random.randrange(60)
        messages.append((f"m{number}", endpoint, time))
        rows.append(
            arrival(time, f"m{number}", *homes[endpoint], endpoint) | {"is_outside": time > last[endpoint]}
        )
    for number in range(40):
        time, by = random.randrange(60), random.choice((f"t{number}", f"t{number}", f"t{number}", None))
        committed = random.choice((None, time, time + random.randrange(12)))
        rolled_back = random.choice((None, None, time + random.randrange(12)))
        ends = {"committed": committed, "rolled_back": rolled_back} if by else {}
        for moment in {time, time + random.randrange(6)}:
            for kind in random.sample((codes.RECEIVE, codes.RECEIVE, codes.GET_GROUP), random.randrange(3)):
                named = random.choice((*GROUPS, None)) if kind == codes.RECEIVE else random.choice(GROUPS)
                where = {"has_where": random.choice((None, False, True))} if kind == codes.RECEIVE else {}
                rows.append(row(moment, kind, transaction_id=by, group_id=named, **where, **ends))
            there = [each for each in messages if each[2] <= moment + random.choice((0, 0, 0, 3))]
            for name, endpoint, came in random.sample(there, min(len(there), random.randrange(4))):
                what = {"endpoint": endpoint, "is_outside": moment < came, **ends}
                rows.append(taken(moment, name, homes[endpoint][0], by, **what))
    for name, endpoint, came in random.sample(messages, min(len(messages), random.randrange(6))):
        moment = came + random.randrange(-2, 12)
        ids = {"message_id": name, "endpoint": endpoint, "group_id": homes[endpoint][0]}
        rows.append(row(max(moment, 0), codes.GONE, is_outside=moment < came, **ids))
    return rows


def test_the_machine_and_the_running_sums_agree() -> None:
    seen: Counter[str] = Counter()
    for number in range(150):
        rows, counts = table(busy(Random(number))), number % 10 == 0
        evaluator = play(rows, has_queue_events=not counts).evaluator
        found = figures_of(facts(rows), 0, has_queue_events=not counts)
        assert {name: evaluator.counts[name] for name in FIGURES} == {name: found[name] for name in FIGURES}
        assert found["blind"] == pytest.approx(evaluator.blind, abs=1e-9)
        seen.update(found)
    assert all(seen[name] > 100 for name in FIGURES)
