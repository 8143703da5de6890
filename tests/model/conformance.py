"""How far receives kept to the levels: every decision is compared with the state just before it."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .catalog import Catalog
from .endpoints import Endpoint, group_id, read_endpoints
from .groups import conversations_in_order, group_order, group_priority, ready_messages, receiver_of
from .messages import Message, arrival_order, conversation_order, read_messages, sending_order
from .rules import rule_history
from .state import State, Transaction
from .vocabulary import CREATIONS, ENDS, Events, QueueKey, Row, Side, by_time, utf8

TICK = timedelta(microseconds=1)
CLASSES = ("where_clause", "own_group", "logged_level", "timing", "other_lock", "unexplained")
HOURLY = ("decisions", "with_choice", "conforming", "passed", "passable")
COUNTS = (
    "decisions", "with_choice", "conforming", "passed", "passable", "ties", "ties_oldest_first",
    "lock_skipped", "partial", "within_group", "not_ready", *CLASSES,
)  # fmt: skip


class StateWithout(State):
    """The state at a moment, as if some events had not happened yet."""

    def __init__(self, log: "_Log", as_of: datetime, without: set[str]) -> None:
        events = {
            source: [event for event in rows if event["event_id"] not in without]
            for source, rows in log.events.items()
            if source != "message_events"
        }
        super().__init__(events, log.endpoints, log.messages, log.catalog, as_of)
        self.without_queue_events = not log.events.get("queue_events")
        self._without = without

    def _transactions(self, message: Message) -> list[Transaction]:
        return [
            (event["instance"], event.get("transaction_id"))
            for event in message.events
            if event["event_type"] == "RECEIVED"
            and event["event_time"] < self.as_of
            and event["event_id"] not in self._without
        ]

    def holders(self, queue: QueueKey, group: str) -> set[str | None]:
        """The open transactions that hold the group."""
        found: set[str | None] = set()
        for event in self._queue_events:
            if event["event_type"] in ("RECEIVE", "GET_CONVERSATION_GROUP"):
                of = (event["instance"], event["database"], event["queue"])
                transaction = (event["instance"], event.get("transaction_id"))
                if of == queue and event.get("conversation_group_id") == group and self._is_open(transaction):
                    found.add(transaction[1])
        for message in self.messages:
            receiver = self.endpoint(message.receiver)
            if not receiver or self.group(receiver) != (queue, group):
                continue
            if not self.is_received(message):
                found |= {each[1] for each in self._transactions(message) if self._is_open(each)}
        return found


@dataclass
class _Log:
    events: Events
    messages: list[Message]
    endpoints: dict[Side, Endpoint]
    catalog: Catalog
    as_of: datetime


@dataclass
class _Decision:
    queue: QueueKey
    transaction: str | None
    at: datetime
    group: str
    events: list[Row] = field(default_factory=list)
    receives: list[Row] = field(default_factory=list)


def conformance(
    accepted_events: Events,
    *,
    catalog: Row,
    rules: list[Row],
    as_of: datetime,
    since: datetime,
    tolerance: timedelta,
) -> dict[str, list[Row]]:
    """The tables conformance and conformance_deviations, of decisions in [since, as_of)."""
    before = {
        source: [event for event in rows if event["event_time"] < as_of]
        for source, rows in accepted_events.items()
    }
    places = Catalog(catalog)
    messages = read_messages(accepted_events.get("message_events") or [])
    endpoints = read_endpoints(
        accepted_events.get("endpoint_events") or [], messages, places, rule_history(rules)
    )
    log = _Log(before, messages, endpoints, places, as_of)
    log.events = {**before, "queue_events": before.get("queue_events") or []}
    if not accepted_events.get("queue_events"):
        log.events.pop("queue_events")
    totals: dict[QueueKey, dict[str, Any]] = defaultdict(lambda: {**dict.fromkeys(COUNTS, 0), "blind": 0.0})
    hours: dict[tuple[QueueKey, datetime], dict[str, int]] = {}
    deviations = []
    by_instant: dict[tuple[QueueKey, datetime], list[_Decision]] = defaultdict(list)
    for decision in _decisions(log):
        by_instant[decision.queue, decision.at].append(decision)
    for (queue, at), decisions in by_instant.items():
        if at >= since:
            so_far = dict(totals[queue])
            for row in _play(log, queue, at, decisions, totals[queue], tolerance):
                deviations.append({"as_of": as_of, **_queue(queue), **row})
            hour = hours.setdefault(
                (queue, at.replace(minute=0, second=0, microsecond=0)), dict.fromkeys(HOURLY, 0)
            )
            for name in HOURLY:
                hour[name] += totals[queue][name] - so_far[name]
    return {
        "conformance": [
            _total(as_of, queue, total)
            for queue, total in totals.items()
            if total["decisions"] or total["where_clause"]
        ],
        "conformance_hours": [
            {
                "as_of": as_of,
                **_queue(queue),
                "hour": start,
                **hour,
                "fitness": 1 - hour["passed"] / hour["passable"] if hour["passable"] else None,
            }
            for (queue, start), hour in hours.items()
            if hour["decisions"]
        ],
        "conformance_deviations": deviations,
    }


def _queue(queue: QueueKey) -> Row:
    return dict(zip(("instance", "database", "queue"), queue, strict=True))


def _total(as_of: datetime, queue: QueueKey, total: dict[str, Any]) -> Row:
    passed, passable, blind = total["passed"], total["passable"], total.pop("blind")
    return {
        "as_of": as_of,
        **_queue(queue),
        **total,
        "fitness": 1 - passed / passable if passable else None,
        "skill": round(1 - passed / blind, 9) if blind else None,
    }


def _decisions(log: _Log) -> list[_Decision]:
    """Distinct (transaction, time, group) of RECEIVED events, with the RECEIVE events that are part."""
    found: dict[tuple[Any, ...], _Decision] = {}
    for message in log.messages:
        endpoint = log.endpoints.get(message.receiver)
        for event in message.events:
            if event["event_type"] != "RECEIVED" or event not in log.events["message_events"]:
                continue
            if endpoint is None or endpoint.queue is None:
                continue
            group = _group_at(log, endpoint, event["event_time"])
            key = (endpoint.queue, event.get("transaction_id"), event["event_time"], group)
            found.setdefault(key, _Decision(*key)).events.append(event)
    for event in log.events.get("queue_events") or []:
        if event["event_type"] == "RECEIVE":
            queue = (event["instance"], event["database"], event["queue"])
            for decision in found.values():
                named = event.get("conversation_group_id")
                if (decision.queue, decision.transaction, decision.at) == (
                    queue,
                    event.get("transaction_id"),
                    event["event_time"],
                ) and named in (None, decision.group):
                    decision.receives.append(event)
    return list(found.values())


def _group_at(log: _Log, endpoint: Endpoint, at: datetime) -> str:
    moves = [event for event in log.events.get("endpoint_events") or [] if event["event_time"] <= at]
    return group_id(endpoint, moves)


def _play(
    log: _Log,
    queue: QueueKey,
    at: datetime,
    decisions: list[_Decision],
    total: dict[str, Any],
    tolerance: timedelta,
) -> list[Row]:
    """The decisions of one instant, one after the other."""
    still: set[str] = {event["event_id"] for each in decisions for event in (*each.events, *each.receives)}
    first = StateWithout(log, at + TICK, still)
    groups = ready_messages(first).get(queue, {})
    levels = {name: group_priority(first, messages) for name, messages in groups.items()}
    rows = []
    for decision in sorted(
        decisions,
        key=lambda each: (
            -levels.get(each.group, 0),
            utf8(each.group),
            each.transaction is not None,
            utf8(each.transaction or ""),
        ),
    ):
        state = StateWithout(log, at + TICK, still)
        row = _judge(log, state, decision, total, tolerance)
        if row:
            rows.append(row)
        still -= {event["event_id"] for event in (*decision.events, *decision.receives)}
    return rows


def _judge(
    log: _Log, state: StateWithout, decision: _Decision, total: dict[str, Any], tolerance: timedelta
) -> Row | None:
    queue, transaction = decision.queue, decision.transaction
    groups = ready_messages(state).get(queue, {})
    has_where = any(event.get("has_where") for event in decision.receives)
    if decision.group not in groups:
        total["decisions"] += 1
        total["not_ready"] += 1
        return None
    holders = {name: state.holders(queue, name) for name in groups}
    there = {
        name: messages
        for name, messages in groups.items()
        if name == decision.group or not holders[name] - {transaction}
    }
    level_of = {name: group_priority(state, messages) for name, messages in groups.items()}
    level = level_of[decision.group]
    passed = [name for name in there if level_of[name] > level]
    if not has_where:
        levels = [level_of[name] for name in there]
        passable = sum(each > min(levels) for each in levels)
        ties = sum(each == level for each in levels) > 1
        mine = group_order(state, there[decision.group])
        chosen = {event["message_id"] for event in decision.events}
        order = conversations_in_order(state, groups[decision.group])
        in_order = sorted(
            groups[decision.group],
            key=lambda message: (order.index(message.receiver), conversation_order(message)),
        )
        taken = [message.message_id in chosen for message in in_order]
        total["decisions"] += 1
        total["passed"] += len(passed)
        total["passable"] += passable
        total["blind"] += sum(sum(other > each for other in levels) for each in levels) / len(levels)
        total["with_choice"] += passable > 0
        total["conforming"] += passable > 0 and not passed
        total["ties"] += ties
        total["ties_oldest_first"] += ties and all(
            mine <= group_order(state, there[name]) for name in there if level_of[name] == level
        )
        total["lock_skipped"] += any(
            level_of[name] > level and holders[name] - {transaction}
            for name in groups
            if name != decision.group
        )
        total["partial"] += not all(taken)
        total["within_group"] += False in taken and any(taken[taken.index(False) :])
    if not passed:
        return None
    best = max(level_of[name] for name in passed)
    witness = min(
        (
            message
            for name in passed
            for message in there[name]
            if receiver_of(state, message).priority == best
        ),
        key=arrival_order,
    )
    kind = _kind(log, state, decision, there, passed, holders, has_where, tolerance)
    total[kind] += 1
    return {
        "at": decision.at,
        "transaction_id": transaction,
        "conversation_group_id": decision.group,
        "level": level,
        "best_level": best,
        "passed_groups": len(passed),
        "class": kind,
        "witness_message_id": witness.message_id,
    }


def _kind(
    log: _Log,
    state: StateWithout,
    decision: _Decision,
    there: dict[str, list[Message]],
    passed: list[str],
    holders: dict[str, set[str | None]],
    has_where: bool,
    tolerance: timedelta,
) -> str:
    if has_where:
        return "where_clause"
    if decision.transaction is not None and decision.transaction in holders[decision.group]:
        return "own_group"
    logged = {
        name: [_logged(log, message.receiver) for message in messages] for name, messages in there.items()
    }
    if all(level is not None for levels in logged.values() for level in levels):
        mine = max(level for level in logged[decision.group] if level is not None)
        if not any(max(level for level in levels if level is not None) > mine for levels in logged.values()):
            return "logged_level"
    if all(decision.at - _since(log, state, decision, name, there) < tolerance for name in passed):
        return "timing"
    if all(_locks_near(log, decision, name, tolerance) for name in passed):
        return "other_lock"
    return "unexplained"


def _logged(log: _Log, side: Side) -> int | None:
    creations = [
        event
        for event in sorted(log.events.get("endpoint_events") or [], key=by_time)
        if event["event_type"] in CREATIONS
        and (event["conversation_id"], CREATIONS[event["event_type"]]) == side
    ]
    return creations[0].get("logged_priority") if creations else None


def _since(
    log: _Log, state: StateWithout, decision: _Decision, name: str, there: dict[str, list[Message]]
) -> datetime:
    """Since when the group has been there for the transaction, above the level that was chosen."""
    level = group_priority(state, there[decision.group])
    instants = sorted(
        {
            moment
            for rows in log.events.values()
            for event in rows
            if (moment := event["event_time"]) < decision.at
        },
        reverse=True,
    )
    since = decision.at
    # What is there now may have come with the facts of this very instant.
    for instant in instants:
        then = StateWithout(log, instant + TICK, set())
        messages = ready_messages(then).get(decision.queue, {}).get(name)
        if (
            not messages
            or group_priority(then, messages) <= level
            or then.holders(decision.queue, name) - {decision.transaction}
        ):
            break
        since = instant
    return since


def _locks_near(log: _Log, decision: _Decision, name: str, tolerance: timedelta) -> bool:
    """Whether a statement of an endpoint in the group locks it near the decision."""
    statements: list[tuple[Side, datetime]] = [
        (message.sender, message.sent_at)
        for message in log.messages
        if message.sent_at is not None and message.sent_at < log.as_of
    ]
    ends: dict[Side, datetime] = {}
    for event in log.events.get("endpoint_events") or []:
        side = (event["conversation_id"], event["is_initiator"])
        if event["event_type"] in ("BEGIN_DIALOG", "MOVE_CONVERSATION"):
            statements.append((side, event["event_time"]))
        elif event["event_type"] in ENDS:
            ends[side] = min(event["event_time"], ends.get(side, event["event_time"]))
    for side, moment in statements:
        endpoint = log.endpoints.get(side)
        if (
            endpoint
            and moment >= endpoint.created_at
            and _is_near(log, decision, name, endpoint, moment, tolerance)
        ):
            return True
    return any(
        side in log.endpoints and _is_near(log, decision, name, log.endpoints[side], moment, tolerance)
        for side, moment in ends.items()
    )


def _is_near(
    log: _Log, decision: _Decision, name: str, endpoint: Endpoint, moment: datetime, tolerance: timedelta
) -> bool:
    is_there = endpoint.queue == decision.queue and _group_at(log, endpoint, moment) == name
    return is_there and abs(moment - decision.at) < tolerance


def conformance_links(
    accepted_events: Events,
    *,
    catalog: Row,
    rules: list[Row],
    as_of: datetime,
    since: datetime,
    fragment_bytes: int | None,
) -> list[Row]:
    """The table conformance_links, pair by pair."""
    places = Catalog(catalog)
    messages = read_messages(accepted_events.get("message_events") or [])
    endpoints = read_endpoints(
        accepted_events.get("endpoint_events") or [],
        messages,
        places,
        rule_history(rules),
    )
    endpoints = {side: each for side, each in endpoints.items() if each.created_at < as_of}
    links: dict[tuple[str, str], list[tuple[Message, int, datetime]]] = defaultdict(list)
    there = [
        message
        for message in messages
        if message.sent_at and message.arrived_at and max(message.sent_at, message.arrived_at) < as_of
    ]
    for message in there:
        sender, receiver = endpoints.get(message.sender), endpoints.get(message.receiver)
        if sender is None or receiver is None or sender.instance == receiver.instance:
            continue
        if any(
            event["event_type"] == "FORWARD_ACCEPTED"
            and event["event_time"] < as_of
            and event["instance"] != sender.instance
            for event in message.events
        ):
            continue
        assert message.arrived_at
        if message.arrived_at < since:
            continue
        level = sender.priority if places.honors_priority(sender.instance, sender.database) else 5
        sendable = max(
            other.sent_at
            for other in there
            if other.sender == message.sender
            and sending_order(other) <= sending_order(message)
            and other.sent_at
        )
        links[sender.instance, receiver.instance].append((message, level, sendable))
    rows = []
    for (sending, receiving), own in links.items():
        pairs = [
            (a, b)
            for a, level_a, sendable_a in own
            for b, level_b, sendable_b in own
            if level_a > level_b and sendable_a <= sendable_b and _arrived(a) > _arrived(b)
        ]
        fragmented = [
            a for a, _ in pairs if fragment_bytes is not None and (a.size_bytes or 0) > fragment_bytes
        ]
        rows.append(
            {
                "as_of": as_of,
                "sending_instance": sending,
                "receiving_instance": receiving,
                "messages": len(own),
                "with_inversion": len({b.message_id for _, b in pairs}),
                "inversions": len(pairs),
                "inversions_fragmented": None if fragment_bytes is None else len(fragmented),
            }
        )
    return rows


def _arrived(message: Message) -> datetime:
    assert message.arrived_at
    return message.arrived_at
