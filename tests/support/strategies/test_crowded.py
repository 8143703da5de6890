"""Logs of few moments have what they are for, each of it often."""

from collections import Counter
from typing import Any

from tests.support.strategies import Log
from tests.support.strategies.crowded import BEGIN, END, crowded_log

LOGS = 30
"""As many as the tests against the models take."""
Row = dict[str, Any]


def test_what_is_settled_for_one_instant_happens_often() -> None:
    counts: Counter[str] = Counter()
    for number in range(LOGS):
        counts.update(traits(crowded_log(number)))
    least = {
        "arrives as its endpoint ends": 20,
        "is received as its endpoint ends": 10,
        "is received after its endpoint ended": 20,
        "endpoint ends before the outcome": 20,
        "endpoint ends as the period begins": 5,
        "known by a RECEIVED alone": 20,
        "taken several times": 50,
        "moves": 100,
        "WHERE with a session": 30,
        "WHERE without a session": 30,
        "open as the period begins, rolled back in it": 20,
        "open as the period begins, only WHERE": 10,
        "receives without WHERE after one with it": 5,
        "has no outcome": 20,
        "switched": 10,
    }
    rare = {trait: counts[trait] for trait, number in least.items() if counts[trait] < number}
    assert rare == {}


def traits(log: Log) -> Counter[str]:
    found: Counter[str] = Counter()
    ends: dict[str, Any] = {}
    for row in log.endpoint_events:
        if row["event_type"].startswith("END_"):
            ends[row["conversation_id"]] = row["event_time"]
            found["endpoint ends as the period begins"] += row["event_time"] == BEGIN
        found["moves"] += row["event_type"] == "MOVE_CONVERSATION"
    outcomes: dict[str, Row] = {}
    statements: dict[str, list[Row]] = {}
    for row in sorted(log.queue_events or (), key=lambda row: (row["event_time"], row["event_id"])):
        if row["event_type"] in ("COMMIT", "ROLLBACK"):
            outcomes.setdefault(row["transaction_id"], row)
        elif row["transaction_id"]:
            statements.setdefault(row["transaction_id"], []).append(row)
        if row["has_where"]:
            found[f"WHERE {'with' if row['session_id'] else 'without'} a session"] += 1
        found["switched"] += row["event_type"] == "QUEUE_ALTERED"
    takes: Counter[str] = Counter()
    delivered = {row["message_id"] for row in log.message_events if row["event_type"] == "DELIVERED"}
    for row in log.message_events:
        ended_at, time = ends.get(row["conversation_id"]), row["event_time"]
        if row["event_type"] == "DELIVERED":
            found["arrives as its endpoint ends"] += time == ended_at
        if row["event_type"] == "RECEIVED":
            takes[row["message_id"]] += 1
            found["is received as its endpoint ends"] += time == ended_at
            found["is received after its endpoint ended"] += ended_at is not None and ended_at < time
            found["known by a RECEIVED alone"] += row["message_id"] not in delivered
            outcome = outcomes.get(row["transaction_id"])
            ends_first = ended_at is not None and outcome and time < ended_at < outcome["event_time"]
            found["endpoint ends before the outcome"] += bool(ends_first)
            if (
                outcome
                and time < BEGIN <= outcome["event_time"] < END
                and outcome["event_type"] == "ROLLBACK"
            ):
                found["open as the period begins, rolled back in it"] += 1
    found["taken several times"] += sum(count > 1 for count in takes.values())
    for name, rows in statements.items():
        wheres = [bool(row["has_where"]) for row in rows]
        found["has no outcome"] += name not in outcomes
        if name in outcomes and rows[0]["event_time"] < BEGIN <= outcomes[name]["event_time"]:
            found["open as the period begins, only WHERE"] += all(wheres)
        found["receives without WHERE after one with it"] += wheres[0] and not all(wheres)
    return found
