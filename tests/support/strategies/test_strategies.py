"""The random logs reach what they are for, and the model keeps its promises on them."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from tests.support.model import accept, simulate
from tests.support.strategies import Log, dirty_batches, logs, splits

EXAMPLES = 150

sampling = settings(
    max_examples=EXAMPLES,
    phases=[Phase.generate],
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_most_logs_have_something_to_schedule() -> None:
    counts: Counter[str] = Counter()

    @sampling
    @given(logs())
    def count(log: Log) -> None:
        counts.update(_traits(log, simulate(log.events, **log.settings)))

    count()
    share = {trait: number / EXAMPLES for trait, number in counts.items()}
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
    rare = {trait: share.get(trait, 0) for trait, least in expected.items() if share.get(trait, 0) < least}
    assert rare == {}


def test_dirty_batches_have_every_kind_of_dirt() -> None:
    counts: Counter[str] = Counter()
    examples = EXAMPLES // 2

    @settings(sampling, max_examples=examples)
    @given(dirty_batches())
    def count(batches: list[dict[str, list[dict[str, Any]]]]) -> None:
        result = accept(batches)
        reasons = {reason.split("_")[0] for _, _, reason, _ in result.rejected}
        counts.update(reasons)
        counts.update(source for source, number in result.duplicates.items() if number)
        rejected_rows = {id(row) for _, _, _, row in result.rejected}
        accepted = sum(map(len, result.events.values()))
        came_in = sum(len(rows) for batch in batches for rows in batch.values())
        assert accepted + sum(result.duplicates.values()) + len(rejected_rows) == came_in

    count()
    kinds = ("missing", "unknown", "initiator", "conflicting", "endpoint_events", "message_events")
    assert {kind: counts[kind] for kind in kinds if counts[kind] < 0.1 * examples} == {}


@settings(max_examples=25, deadline=None)
@given(logs().flatmap(lambda log: st.tuples(st.just(log), splits(log))))
def test_pieces_of_a_log_are_accepted_as_the_whole(pieces: tuple[Log, list[dict[str, Any]]]) -> None:
    log, batches = pieces
    result = accept(batches)
    assert result.rejected == []
    for source, rows in log.events.items():
        assert _as_set(result.events[source]) == _as_set(rows)
        assert len(result.events[source]) == len(rows)
    shuffled = simulate(result.events, **log.settings)
    for table, table_rows in simulate(log.events, **log.settings).items():
        assert _as_set(shuffled[table]) == _as_set(table_rows)


@settings(max_examples=25, deadline=None)
@given(logs())
def test_every_message_is_in_one_place_of_each_schedule(log: Log) -> None:
    tables = simulate(log.events, **log.settings)
    placed = [("receive", row["message_id"]) for row in tables["receive_schedule"]]
    placed += [
        ("transmission", row["message_id"]) for row in tables["transmission_schedule"] if not row["forwarded"]
    ]
    placed += [(row["kind"], row["id"]) for row in tables["unresolved"]]
    assert len(placed) == len(set(placed))
    assert len({message for _, message in placed}) == len(placed), "to be received and sent at once"


@settings(max_examples=25, deadline=None)
@given(logs(), st.integers(1, 4))
def test_closed_form_of_the_receive_schedule(log: Log, top: int) -> None:
    """Chunks of n, each with the priority of its first message, give the order of the RECEIVEs."""
    whole = _by_queue(simulate(log.events, **{**log.settings, "top": None}))
    played = _by_queue(simulate(log.events, **{**log.settings, "top": top}))
    queuing_order = _queuing_orders(log)

    def arrival(row: dict[str, Any]) -> tuple[Any, ...]:
        order = queuing_order.get(row["message_id"])
        return (row["arrived_at"], order is None, order or 0, row["message_id"].encode())

    for queue, rows in whole.items():
        groups: dict[str, list[dict[str, Any]]] = {}
        for row in rows:
            groups.setdefault(row["conversation_group_id"], []).append(row)
        chunks = []
        for group in groups.values():
            for first in range(0, len(group), top):
                priority = group[first]["priority"]
                left = [arrival(row) for row in group[first:] if row["priority"] == priority]
                chunks.append(((-priority, min(left)), first, group[first : first + top]))
        # Of one group, chunks with the same key keep the group's own order.
        chunks.sort(key=lambda chunk: chunk[:2])
        closed = [row["message_id"] for _, _, chunk in chunks for row in chunk]
        assert [row["message_id"] for row in played[queue]] == closed


def _traits(log: Log, tables: dict[str, list[dict[str, Any]]]) -> set[str]:
    """What the example has that a test may want."""
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
        "held by the queue's database": any(_held_elsewhere(row, endpoints) for row in sent),
        "elevated": any(row["elevated"] for row in sent),
        "priorities in a group": _repeats(key[:2] for key in priorities),
        "priorities in a transmission line": _repeats(key[0] for key in levels),
        "destinations of a transmission line": _repeats(key[0] for key in destinations),
    }
    found = {trait for trait, present in traits.items() if present}
    found |= {row["state"] for row in groups}
    found |= {row["reason"] for row in tables["unresolved"]}
    found |= {f"unresolved {row['kind']}" for row in tables["unresolved"]}
    return found


def _queue(row: dict[str, Any]) -> tuple[str, ...]:
    return (row["instance"], row["database"], row["queue"])


def _repeats(keys: Iterable[object]) -> bool:
    """Whether any key is there twice."""
    return max(Counter(keys).values(), default=0) > 1


def _held_elsewhere(row: dict[str, Any], endpoints: list[dict[str, Any]]) -> bool:
    """Whether the message waits in another database than its sender's."""
    side = (row["conversation_id"], row["sent_by_initiator"])
    return not row["forwarded"] and any(
        (endpoint["conversation_id"], endpoint["is_initiator"]) == side
        and endpoint["database"] != row["database"]
        for endpoint in endpoints
    )


def _by_queue(tables: dict[str, list[dict[str, Any]]]) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """The rows of each queue that have a position, in order."""
    queues: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    rows = [row for row in tables["receive_schedule"] if row["position"]]
    for row in sorted(rows, key=lambda row: row["position"]):
        queues.setdefault(_queue(row), []).append(row)
    return queues


def _queuing_orders(log: Log) -> dict[str, int]:
    """The queuing_order of each message from its earliest event that has one."""
    kinds = ("SENT", "DELIVERED", "RECEIVED", "FORWARD_ACCEPTED", "FORWARDED")
    orders: dict[str, int] = {}
    for event in sorted(
        log.message_events,
        key=lambda event: (event["event_time"], kinds.index(event["event_type"]), event["event_id"]),
    ):
        if event["queuing_order"] is not None:
            orders.setdefault(event["message_id"], event["queuing_order"])
    return orders


def _as_set(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {tuple(sorted(row.items())) for row in rows}
