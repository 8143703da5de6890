"""The random logs reach what they are for."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from tests.support.model import accept, simulate
from tests.support.random_logs import drawn, random_logs
from tests.support.strategies import Log, dirty_batches

LOGS = 30
TRAITS = """
    receive, transmission, ready, group_locked, queue_off, forwarded, rule applied, inferred endpoint, moved,
    ended, elevated, no queue events, several groups in a queue, several conversations in a group,
    several receives, several in a transmission line, several versions of a rule, tie of arrivals,
    priorities in a group, priorities in a transmission line, destinations of a transmission line,
    unresolved receive, unresolved transmission, service_not_in_catalog, endpoint_unknown
"""
Row = dict[str, Any]


def test_random_logs_have_everything() -> None:
    found = {trait for log in random_logs(LOGS, 2) for trait in _traits(log)}
    # What Hypothesis draws depends on the modules that are loaded.
    rare = {trait.strip() for trait in TRAITS.split(",")} - found
    assert len(rare) <= 3, rare


def test_dirty_batches_have_every_kind_of_dirt() -> None:
    found = set()
    for batches in drawn(dirty_batches(), 30, 1):
        result = accept(batches)
        came_in = sum(len(rows) for batch in batches for rows in batch.values())
        rejected = len({id(row) for _, _, _, row in result.rejected})
        assert sum(map(len, result.events.values())) + sum(result.duplicates.values()) + rejected == came_in
        found |= {reason.split("_")[0] for _, _, reason, _ in result.rejected}
        found |= {source for source, number in result.duplicates.items() if number}
    expected = {"missing", "unknown", "initiator", "conflicting", "endpoint_events", "message_events"}
    assert len(expected - found) <= 1, expected - found


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
