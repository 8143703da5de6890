"""How far receives kept to the levels: the state before every decision is found from all facts."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from .catalog import Catalog
from .endpoints import Endpoint, read_endpoints
from .messages import Message, arrival_order, conversation_order, read_messages
from .rules import rule_history
from .vocabulary import CREATIONS, ENDS, Events, QueueKey, Row, Side, by_time, utf8

CLASSES = ("where_clause", "own_group", "logged_level", "timing", "other_lock", "unexplained")
HOURLY = ("decisions", "with_choice", "conforming", "passed", "passable")
COUNTS = (
    "decisions", "with_choice", "conforming", "passed", "passable", "ties", "ties_oldest_first",
    "lock_skipped", "partial", "within_group", "not_ready", *CLASSES,
)  # fmt: skip
Transaction = tuple[str, str]


@dataclass(eq=False)
class Decision:
    """A distinct (transaction, time, group) of RECEIVED events, with the RECEIVE events of it."""

    queue: QueueKey
    transaction: str | None
    at: datetime
    group: str
    received: list[Row] = field(default_factory=list)
    statements: list[Row] = field(default_factory=list)

    @property
    def has_where(self) -> bool:
        """Whether one of its statements had WHERE."""
        return any(statement.get("has_where") for statement in self.statements)

    @property
    def events(self) -> list[Row]:
        """All that has not happened in the state before it."""
        return [*self.received, *self.statements]


class Log:
    """The facts before as_of."""

    def __init__(self, events: Events, catalog: Row, rules: list[Row], as_of: datetime) -> None:
        self.as_of = as_of
        self.messages = read_messages(events.get("message_events") or [])
        self.endpoints = read_endpoints(
            events.get("endpoint_events") or [], self.messages, Catalog(catalog), rule_history(rules)
        )
        self.has_queue_events = bool(events.get("queue_events"))
        self.queue_events = self._before(events.get("queue_events"))
        self.endpoint_events = self._before(events.get("endpoint_events"))
        self.receipts = {
            message.message_id: [
                event
                for event in message.events
                if event["event_type"] == "RECEIVED" and event["event_time"] < as_of
            ]
            for message in self.messages
        }
        self.outcomes: dict[Transaction, dict[str, datetime]] = {}
        for event in self.queue_events:
            transaction = transaction_of(event)
            if event["event_type"] in ("COMMIT", "ROLLBACK") and transaction:
                self.outcomes.setdefault(transaction, {}).setdefault(event["event_type"], event["event_time"])
        self.ended: dict[Side, datetime] = {}
        self.moves: dict[Side, list[Row]] = defaultdict(list)
        for event in self.endpoint_events:
            side = (event["conversation_id"], event["is_initiator"])
            if event["event_type"] in ENDS:
                self.ended.setdefault(side, event["event_time"])
            if event["event_type"] == "MOVE_CONVERSATION":
                self.moves[side].append(event)
        self.logged: dict[Side, int | None] = {}
        for event in sorted(events.get("endpoint_events") or [], key=by_time):
            if event["event_type"] in CREATIONS:
                side = (event["conversation_id"], CREATIONS[event["event_type"]])
                self.logged.setdefault(side, event.get("logged_priority"))

    def _before(self, events: list[Row] | None) -> list[Row]:
        return sorted((event for event in events or [] if event["event_time"] < self.as_of), key=by_time)

    def group_at(self, side: Side, time: datetime) -> str:
        """The group of an endpoint; moves of that instant have happened."""
        endpoint = self.endpoints[side]
        group = endpoint.first_group_id
        for move in self.moves[side]:
            if endpoint.created_at <= move["event_time"] <= time:
                group = move["conversation_group_id"]
        return group

    def is_committed(self, event: Row, time: datetime) -> bool:
        """Whether a RECEIVED counts for good by then."""
        transaction = transaction_of(event)
        if transaction is None or not self.has_queue_events:
            return True
        committed = self.outcomes.get(transaction, {}).get("COMMIT")
        return committed is not None and committed <= time

    def is_open(self, event: Row, time: datetime) -> bool:
        """Whether the transaction of an event has neither COMMIT nor ROLLBACK by then."""
        transaction = transaction_of(event)
        if transaction is None or not self.has_queue_events:
            return False
        return not any(moment <= time for moment in self.outcomes.get(transaction, {}).values())

    def decisions(self) -> list[Decision]:
        """All of them, in no order."""
        found: dict[tuple[Any, ...], Decision] = {}
        for message in self.messages:
            endpoint = self.endpoints.get(message.receiver)
            for event in self.receipts[message.message_id]:
                if endpoint and endpoint.queue:
                    at = event["event_time"]
                    group = self.group_at(message.receiver, at)
                    key = (endpoint.queue, event.get("transaction_id"), at, group)
                    found.setdefault(key, Decision(*key)).received.append(event)
        for event in self.queue_events:
            if event["event_type"] == "RECEIVE":
                for decision in found.values():
                    is_same = (decision.queue, decision.transaction, decision.at) == (
                        queue_of(event),
                        event.get("transaction_id"),
                        event["event_time"],
                    )
                    if is_same and event.get("conversation_group_id") in (None, decision.group):
                        decision.statements.append(event)
        return list(found.values())

    @cached_property
    def statements(self) -> list[tuple[Side, datetime]]:
        """When a statement locked an endpoint's group: the first SENT and END_*, BEGIN_DIALOG, any MOVE."""
        found = list(self.ended.items())
        begun = [
            (message.sender, message.sent_at)
            for message in self.messages
            if message.sent_at is not None and message.sent_at < self.as_of
        ]
        begun += [
            ((event["conversation_id"], event["is_initiator"]), event["event_time"])
            for event in self.endpoint_events
            if event["event_type"] in ("BEGIN_DIALOG", "MOVE_CONVERSATION")
        ]
        for side, time in begun:
            if side in self.endpoints and time >= self.endpoints[side].created_at:
                found.append((side, time))
        return found


class Moment:
    """The state of a queue once everything of an instant has happened, but for some decisions."""

    def __init__(self, log: Log, queue: QueueKey, time: datetime, pending: Iterable[Decision] = ()) -> None:
        not_yet = {id(event) for decision in pending for event in decision.events}
        self.ready: dict[str, list[Message]] = defaultdict(list)
        self.holders: dict[str, set[str | None]] = defaultdict(set)
        self._log = log
        for message in log.messages:
            endpoint = log.endpoints.get(message.receiver)
            if endpoint is None or endpoint.queue != queue or endpoint.created_at > time:
                continue
            if message.arrived_at is None or message.arrived_at > time:
                continue
            received = [
                event
                for event in log.receipts[message.message_id]
                if event["event_time"] <= time and id(event) not in not_yet
            ]
            if any(log.is_committed(event, time) for event in received):
                continue
            group = log.group_at(message.receiver, time)
            holders = {event["transaction_id"] for event in received if log.is_open(event, time)}
            has_ended = message.receiver in log.ended and log.ended[message.receiver] <= time
            if holders:
                self.holders[group] |= holders
            elif not has_ended:
                self.ready[group].append(message)
        for event in log.queue_events:
            is_lock = (
                event["event_type"] in ("RECEIVE", "GET_CONVERSATION_GROUP") and queue_of(event) == queue
            )
            named = event.get("conversation_group_id")
            is_lock = is_lock and event["event_time"] <= time and id(event) not in not_yet
            if is_lock and named is not None and log.is_open(event, time):
                self.holders[named].add(event["transaction_id"])

    def endpoint(self, message: Message) -> Endpoint:
        """The receiving endpoint."""
        return self._log.endpoints[message.receiver]

    def level(self, group: str) -> int:
        """The highest level of its conversations with ready messages; 0 without any."""
        return max((self.endpoint(message).priority for message in self.ready.get(group, ())), default=0)

    def is_locked(self, group: str, transaction: str | None) -> bool:
        """Whether another transaction holds it."""
        return bool(self.holders[group] - {transaction})

    def turn(self, group: str) -> tuple[Any, ...]:
        """Its place among groups of its level: the oldest ready message at that level."""
        level = self.level(group)
        return min(
            arrival_order(message)
            for message in self.ready[group]
            if self.endpoint(message).priority == level
        )

    def in_order(self, group: str) -> list[Message]:
        """The group's ready messages as a RECEIVE takes them."""
        messages = self.ready[group]

        def place(message: Message) -> tuple[Any, ...]:
            own = [arrival_order(each) for each in messages if each.receiver == message.receiver]
            side = message.receiver
            return (
                -self.endpoint(message).priority,
                min(own),
                utf8(side[0]),
                not side[1],
                conversation_order(message),
            )

        return sorted(messages, key=place)


def transaction_of(event: Row) -> Transaction | None:
    """The transaction of an event, if it has one."""
    return None if event.get("transaction_id") is None else (event["instance"], event["transaction_id"])


def queue_of(event: Row) -> QueueKey:
    """The queue of a queue event."""
    return event["instance"], event["database"], event["queue"]


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
    log = Log(accepted_events, catalog, rules, as_of)
    totals: dict[QueueKey, dict[str, Any]] = {}
    hours: dict[tuple[QueueKey, datetime], dict[str, Any]] = {}
    deviations = []
    instants: dict[tuple[QueueKey, datetime], list[Decision]] = defaultdict(list)
    for decision in log.decisions():
        if decision.at >= since:
            instants[decision.queue, decision.at].append(decision)
    for (queue, at), decisions in instants.items():
        none_yet = Moment(log, queue, at, decisions)

        def place(decision: Decision, before: Moment = none_yet) -> tuple[Any, ...]:
            name = decision.transaction
            level = before.level(decision.group)
            return (-level, utf8(decision.group), name is not None, utf8(name or ""))

        pending = sorted(decisions, key=place)
        total = totals.setdefault(queue, {**dict.fromkeys(COUNTS, 0), "blind": 0.0})
        hour = at.replace(minute=0, second=0, microsecond=0)
        of_hour = hours.setdefault((queue, hour), {**dict.fromkeys(COUNTS, 0), "blind": 0.0})
        while pending:
            found = judged(log, Moment(log, queue, at, pending), pending[0], tolerance)
            for name, count in found.counts.items():
                total[name] += count
                of_hour[name] += count
            if found.deviation:
                deviations.append({"as_of": as_of, **_queue(queue), **found.deviation})
            pending = pending[1:]
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
                **{name: hour[name] for name in HOURLY},
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
    passed, passable, blind = total["passed"], total["passable"], total["blind"]
    return {
        "as_of": as_of,
        **_queue(queue),
        **{name: total[name] for name in COUNTS},
        "fitness": 1 - passed / passable if passable else None,
        "skill": round(1 - passed / blind, 9) if blind else None,
    }


@dataclass
class Judgement:
    """What one decision adds to the counts, and its deviation."""

    counts: dict[str, Any]
    deviation: Row | None = None


def judged(log: Log, before: Moment, decision: Decision, tolerance: timedelta) -> Judgement:
    """Compare a decision with the state before it."""
    transaction, chosen = decision.transaction, decision.group
    if not before.ready.get(chosen):
        return Judgement({"decisions": 1, "not_ready": 1})
    level = before.level(chosen)
    available = [
        group
        for group, messages in before.ready.items()
        if messages and (group == chosen or not before.is_locked(group, transaction))
    ]
    levels = [before.level(group) for group in available]
    passed = [group for group in available if before.level(group) > level]
    found = Judgement({})
    if not decision.has_where:
        passable = sum(each > min(levels) for each in levels)
        ties = levels.count(level) >= 2
        at_level = [group for group in available if before.level(group) == level]
        in_order = [message.message_id for message in before.in_order(chosen)]
        taken = {event["message_id"] for event in decision.received} & set(in_order)
        left = [name for name in in_order if name not in taken]
        found.counts = {
            "decisions": 1,
            "with_choice": int(passable > 0),
            "conforming": int(passable > 0 and not passed),
            "passed": len(passed),
            "passable": passable,
            "blind": sum(sum(other > each for other in levels) for each in levels) / len(levels),
            "ties": int(ties),
            "ties_oldest_first": int(ties and min(at_level, key=before.turn) == chosen),
            "lock_skipped": int(
                any(
                    messages and before.level(group) > level and before.is_locked(group, transaction)
                    for group, messages in before.ready.items()
                )
            ),
            "partial": int(bool(left)),
            "within_group": int(
                any(in_order.index(name) > in_order.index(left[0]) for name in taken) if left else False
            ),
        }
    if passed:
        best = max(before.level(group) for group in passed)
        at_best = [
            message
            for group in passed
            for message in before.ready[group]
            if before.endpoint(message).priority == best
        ]
        kind = _class(log, before, decision, available, passed, tolerance)
        found.counts[kind] = 1
        found.deviation = {
            "at": decision.at,
            "transaction_id": transaction,
            "conversation_group_id": chosen,
            "level": level,
            "best_level": best,
            "passed_groups": len(passed),
            "class": kind,
            "witness_message_id": min(at_best, key=arrival_order).message_id,
        }
    return found


def _class(
    log: Log,
    before: Moment,
    decision: Decision,
    available: list[str],
    passed: list[str],
    tolerance: timedelta,
) -> str:
    """The first class that holds."""
    if decision.has_where:
        return "where_clause"
    if decision.transaction is not None and decision.transaction in before.holders[decision.group]:
        return "own_group"
    by_log = {group: [log.logged.get(each.receiver) for each in before.ready[group]] for group in available}
    known = {group: [each for each in levels if each is not None] for group, levels in by_log.items()}
    are_known = all(len(known[group]) == len(by_log[group]) for group in available)
    if are_known and not any(max(known[group]) > max(known[decision.group]) for group in available):
        return "logged_level"
    level = before.level(decision.group)
    if all(_has_just_come(log, decision, group, level, tolerance) for group in passed):
        return "timing"
    if all(_was_named(log, decision, group, tolerance) for group in passed):
        return "other_lock"
    return "unexplained"


def _has_just_come(log: Log, decision: Decision, group: str, level: int, tolerance: timedelta) -> bool:
    """Whether the group has been available above the level for less than the tolerance.

    It is there at the decision. It has been so for as long when it was at the end of every instant from then
    on.
    """
    if not tolerance:
        return False
    border = decision.at - tolerance
    instants = {border} | {
        event["event_time"]
        for events in (log.queue_events, log.endpoint_events, *[each.events for each in log.messages])
        for event in events
        if border < event["event_time"] < decision.at
    }
    for instant in instants:
        then = Moment(log, decision.queue, instant)
        if then.level(group) <= level or then.is_locked(group, decision.transaction):
            return True
    return False


def _was_named(log: Log, decision: Decision, group: str, tolerance: timedelta) -> bool:
    """Whether a statement of an endpoint that was in the group then is near the decision."""
    return any(
        abs(time - decision.at) < tolerance
        and side in log.endpoints
        and log.endpoints[side].queue == decision.queue
        and log.group_at(side, time) == group
        for side, time in log.statements
    )
