"""The random logs reach what they are for."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import Phase, given, seed, settings

from tests.support.model import accept, simulate
from tests.support.random_logs import random_logs
from tests.support.strategies import Log, dirty_batches
from tests.support.strategies.crowded import BEGIN, END, crowded_log

LOGS = 100
Row = dict[str, Any]


def rare(found: dict[str, float], least: dict[str, float]) -> dict[str, float]:
    return {trait: found.get(trait, 0) for trait, share in least.items() if found.get(trait, 0) < share}


def test_most_logs_have_something_to_schedule() -> None:
    expected = {
        "receive": 0.6,
        "several groups in a queue": 0.2,
        "several conversations in a group": 0.2,
        "several receives": 0.3,
        "transmission": 0.5,
        "several in a transmission line": 0.2,
        "group_locked": 0.06,
        "queue_off": 0.06,
        "forwarded": 0.15,
        "unresolved receive": 0.1,
        "unresolved transmission": 0.05,
        "service_not_in_catalog": 0.05,
        "rule applied": 0.5,
        "several versions of a rule": 0.2,
        "inferred endpoint": 0.2,
        "moved": 0.2,
        "ended": 0.2,
        "tie of arrivals": 0.2,
        "no queue events": 0.08,
        "elevated": 0.02,
        "priorities in a group": 0.06,
        "priorities in a transmission line": 0.03,
        "destinations of a transmission line": 0.06,
    }
    counts = Counter(trait for log in random_logs(LOGS, 2) for trait in _traits(log))
    assert rare({trait: count / LOGS for trait, count in counts.items()}, expected) == {}


def test_dirty_batches_have_every_kind_of_dirt() -> None:
    counts: Counter[str] = Counter()
    examples = 60

    @settings(max_examples=examples, phases=[Phase.generate], database=None, deadline=None)
    @seed(1)
    @given(dirty_batches())
    def count(batches: list[dict[str, list[Row]]]) -> None:
        result = accept(batches)
        came_in = sum(len(rows) for batch in batches for rows in batch.values())
        rejected = len({id(row) for _, _, _, row in result.rejected})
        assert sum(map(len, result.events.values())) + sum(result.duplicates.values()) + rejected == came_in
        counts.update({reason.split("_")[0] for _, _, reason, _ in result.rejected})
        counts.update(source for source, number in result.duplicates.items() if number)

    count()
    expected = ("missing", "unknown", "initiator", "conflicting", "endpoint_events", "message_events")
    assert (
        rare({kind: count / examples for kind, count in counts.items()}, dict.fromkeys(expected, 0.1)) == {}
    )


def test_what_is_settled_for_one_instant_happens_often() -> None:
    counts: Counter[str] = Counter()
    for number in range(30):
        counts.update(_of_instants(crowded_log(number)))
    expected = {
        "arrives as its endpoint ends": 20,
        "is received as its endpoint ends": 10,
        "is received after its endpoint ended": 20,
        "endpoint ends before the outcome": 20,
        "known by a RECEIVED alone": 20,
        "WHERE with a session": 30,
        "WHERE without a session": 30,
        "open as the period begins, rolled back in it": 20,
        "open as the period begins, only WHERE": 10,
        "receives without WHERE after one with it": 5,
    }
    assert rare(dict(counts), expected) == {}


def _traits(log: Log) -> set[str]:
    """What the example has that a test may want."""
    tables = simulate(log.events, **log.settings)
    groups, received = tables["group_priorities"], tables["receive_schedule"]
    sent, versions = tables["transmission_schedule"], tables["priority_rules"]
    endpoints = tables["endpoints"]
    logged = {row["conversation_id"] for row in log.endpoint_events if row["event_type"] == "DIALOG_CREATED"}
    priorities = {(_queue(row), row["conversation_group_id"], row["priority"]) for row in received}
    levels = {(row["instance"], row["transmit_priority"]) for row in sent}
    destinations = {(row["instance"], row["destination_instance"]) for row in sent}
    traits = {
        "receive": any(row["position"] for row in received),
        "several groups in a queue": _repeats(map(_queue, groups)),
        "several conversations in a group": any(row["conversations"] > 1 for row in groups),
        "several receives": any((row["receive_number"] or 0) > 1 for row in received),
        "transmission": bool(sent),
        "several in a transmission line": _repeats(row["instance"] for row in sent),
        "forwarded": any(row["forwarded"] for row in sent),
        "rule applied": any(row["rule_name"] for row in endpoints),
        "several versions of a rule": _repeats(
            (row["instance"], row["database"], row["name"]) for row in versions
        ),
        "inferred endpoint": any(
            not row["is_initiator"] and row["conversation_id"] not in logged for row in endpoints
        ),
        "moved": any(row["event_type"] == "MOVE_CONVERSATION" for row in log.endpoint_events),
        "ended": any(row["ended_at"] for row in endpoints),
        "tie of arrivals": _repeats((_queue(row), row["arrived_at"]) for row in received),
        "no queue events": not log.queue_events,
        "elevated": any(row["elevated"] for row in sent),
        "priorities in a group": _repeats(key[:2] for key in priorities),
        "priorities in a transmission line": _repeats(key[0] for key in levels),
        "destinations of a transmission line": _repeats(key[0] for key in destinations),
    }
    found = {trait for trait, present in traits.items() if present}
    found |= {row["state"] for row in groups}
    found |= {row["reason"] for row in tables["unresolved"]}
    return found | {f"unresolved {row['kind']}" for row in tables["unresolved"]}


def _queue(row: Row) -> tuple[str, ...]:
    return (row["instance"], row["database"], row["queue"])


def _repeats(keys: Iterable[object]) -> bool:
    """Whether any key is there twice."""
    return max(Counter(keys).values(), default=0) > 1


def _of_instants(log: Log) -> Counter[str]:
    """What happens at one instant, or beside the borders of the period."""
    found: Counter[str] = Counter()
    ends = {
        row["conversation_id"]: row["event_time"]
        for row in log.endpoint_events
        if row["event_type"].startswith("END_")
    }
    outcomes: dict[str, Row] = {}
    wheres: dict[str, list[bool]] = {}
    begun: dict[str, Any] = {}
    for row in sorted(log.queue_events or (), key=lambda row: (row["event_time"], row["event_id"])):
        if row["event_type"] in ("COMMIT", "ROLLBACK"):
            outcomes.setdefault(row["transaction_id"], row)
        elif row["transaction_id"]:
            wheres.setdefault(row["transaction_id"], []).append(bool(row["has_where"]))
            begun.setdefault(row["transaction_id"], row["event_time"])
        if row["has_where"]:
            found[f"WHERE {'with' if row['session_id'] else 'without'} a session"] += 1
    delivered = {row["message_id"] for row in log.message_events if row["event_type"] == "DELIVERED"}
    for row in log.message_events:
        ended_at, time = ends.get(row["conversation_id"]), row["event_time"]
        if row["event_type"] == "DELIVERED":
            found["arrives as its endpoint ends"] += time == ended_at
        if row["event_type"] == "RECEIVED":
            found["is received as its endpoint ends"] += time == ended_at
            found["is received after its endpoint ended"] += ended_at is not None and ended_at < time
            found["known by a RECEIVED alone"] += row["message_id"] not in delivered
            if outcome := outcomes.get(row["transaction_id"]):
                done = outcome["event_time"]
                found["endpoint ends before the outcome"] += ended_at is not None and time < ended_at < done
                found["open as the period begins, rolled back in it"] += (
                    time < BEGIN <= done < END and outcome["event_type"] == "ROLLBACK"
                )
    for name, each in wheres.items():
        if name in outcomes and begun[name] < BEGIN <= outcomes[name]["event_time"]:
            found["open as the period begins, only WHERE"] += all(each)
        found["receives without WHERE after one with it"] += each[0] and not all(each)
    return found
