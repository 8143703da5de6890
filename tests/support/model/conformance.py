"""How far receives kept to the levels: the state before every decision is found from all facts."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from .endpoints import group_id
from .groups import conversations_in_order, group_order, group_priority, ready_messages, receiver_of
from .messages import Message, arrival_order
from .receive import in_order
from .state import State, state_of
from .vocabulary import (
    CREATIONS,
    ENDS,
    MICROSECOND,
    Events,
    QueueKey,
    Row,
    Side,
    by_time,
    queue_of,
    queue_row,
    side_of,
    utf8,
)

CLASSES = ("where_clause", "own_group", "logged_level", "timing", "other_lock", "unexplained")
HOURLY = ("decisions", "with_choice", "conforming", "passed", "passable")
COUNTS = (
    "decisions", "with_choice", "conforming", "passed", "passable", "ties", "ties_oldest_first",
    "lock_skipped", "partial", "within_group", "not_ready", *CLASSES,
)  # fmt: skip


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
        self.events = events
        self.end = state_of(events, catalog, rules, as_of)
        self.messages, self.endpoints = self.end.messages, self.end.known_endpoints
        self.logged: dict[Side, int | None] = {}
        for event in sorted(events.get("endpoint_events") or [], key=by_time):
            if event["event_type"] in CREATIONS:
                side = (event["conversation_id"], CREATIONS[event["event_type"]])
                self.logged.setdefault(side, event.get("logged_priority"))
        self.statements = list(self._statements())

    def group_at(self, side: Side, time: datetime) -> str:
        """The group of an endpoint; moves of that instant have happened."""
        events = [event for event in self.end.endpoint_events if event["event_time"] <= time]
        return group_id(self.endpoints[side], events)

    def decisions(self) -> list[Decision]:
        """All of them, in no order."""
        found: dict[tuple[Any, ...], Decision] = {}
        for message in self.messages:
            endpoint = self.endpoints.get(message.receiver)
            for event in self.end.receives(message):
                if endpoint and endpoint.queue:
                    at = event["event_time"]
                    group = self.group_at(message.receiver, at)
                    key = (endpoint.queue, event.get("transaction_id"), at, group)
                    found.setdefault(key, Decision(*key)).received.append(event)
        for event in self.end.queue_events:
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

    def _statements(self) -> list[tuple[Side, datetime]]:
        """When a statement locked an endpoint's group: the first SENT and END_*, BEGIN_DIALOG, any MOVE."""
        ended: dict[Side, datetime] = {}
        begun = [
            (message.sender, message.sent_at)
            for message in self.messages
            if message.sent_at is not None and message.sent_at < self.end.as_of
        ]
        for event in self.end.endpoint_events:
            if event["event_type"] in ENDS:
                ended.setdefault(side_of(event), event["event_time"])
            if event["event_type"] in ("BEGIN_DIALOG", "MOVE_CONVERSATION"):
                begun.append((side_of(event), event["event_time"]))
        return [
            *ended.items(),
            *(
                (side, time)
                for side, time in begun
                if side in self.endpoints and time >= self.endpoints[side].created_at
            ),
        ]


class Moment:
    """The state of a queue once everything of an instant has happened, but for some decisions."""

    def __init__(self, log: Log, queue: QueueKey, time: datetime, pending: list[Decision]) -> None:
        events = [event for decision in pending for event in decision.events]
        just_after, places = time + MICROSECOND, log.end.catalog
        self.state = State(log.events, log.endpoints, log.messages, places, just_after, pending=events)
        self.queue = queue
        self.ready = ready_messages(self.state).get(queue, {})

    def level(self, group: str) -> int:
        """The highest level of its conversations with ready messages; 0 without any."""
        return group_priority(self.state, self.ready[group]) if group in self.ready else 0

    def holders(self, group: str) -> set[str]:
        """The transactions that hold it."""
        return {event["transaction_id"] for event in self.state.locks((self.queue, group))}

    def in_order(self, group: str) -> list[Message]:
        """The group's ready messages as a RECEIVE takes them."""
        messages = self.ready[group]
        return in_order(messages, conversations_in_order(self.state, messages))


def conformance(
    accepted_events: Events,
    *,
    catalog: Row,
    rules: list[Row],
    as_of: datetime,
    since: datetime,
    tolerance: timedelta,
) -> dict[str, list[Row]]:
    """The three tables of decisions in [since, as_of)."""
    log = Log(accepted_events, catalog, rules, as_of)
    totals: dict[QueueKey, dict[str, Any]] = defaultdict(_no_counts)
    hours: dict[tuple[QueueKey, datetime], dict[str, Any]] = defaultdict(_no_counts)
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
        hour = at.replace(minute=0, second=0, microsecond=0)
        while pending:
            found = judged(log, Moment(log, queue, at, pending), pending[0], tolerance)
            for name, count in found.counts.items():
                totals[queue][name] += count
                hours[queue, hour][name] += count
            if found.deviation:
                deviations.append({"as_of": as_of, **queue_row(queue), **found.deviation})
            pending = pending[1:]
    return {
        "conformance": [
            {
                "as_of": as_of,
                **queue_row(queue),
                **{name: total[name] for name in COUNTS},
                "fitness": _fitness(total),
                "skill": round(1 - total["passed"] / total["blind"], 9) if total["blind"] else None,
            }
            for queue, total in totals.items()
            if total["decisions"] or total["where_clause"]
        ],
        "conformance_hours": [
            {
                "as_of": as_of,
                **queue_row(queue),
                "hour": start,
                **{name: hour[name] for name in HOURLY},
                "fitness": _fitness(hour),
            }
            for (queue, start), hour in hours.items()
            if hour["decisions"]
        ],
        "conformance_deviations": deviations,
    }


def _no_counts() -> dict[str, Any]:
    return {**dict.fromkeys(COUNTS, 0), "blind": 0.0}


def _fitness(counts: dict[str, Any]) -> float | None:
    return 1 - counts["passed"] / counts["passable"] if counts["passable"] else None


@dataclass
class Judgement:
    """What one decision adds to the counts, and its deviation."""

    counts: dict[str, Any]
    deviation: Row | None = None


def judged(log: Log, before: Moment, decision: Decision, tolerance: timedelta) -> Judgement:
    """Compare a decision with the state before it."""
    transaction, chosen = decision.transaction, decision.group
    if chosen not in before.ready:
        return Judgement({"decisions": 1, "not_ready": 1})
    level = before.level(chosen)
    locked = {group for group in before.ready if before.holders(group) - {transaction}}
    available = [group for group in before.ready if group == chosen or group not in locked]
    levels = [before.level(group) for group in available]
    passed = [group for group in available if before.level(group) > level]
    found = Judgement({})
    if not decision.has_where:
        passable = sum(each > min(levels) for each in levels)
        ties = levels.count(level) >= 2
        at_level = [group for group in available if before.level(group) == level]
        oldest = min(at_level, key=lambda group: group_order(before.state, before.ready[group]))
        order = [message.message_id for message in before.in_order(chosen)]
        taken = {event["message_id"] for event in decision.received} & set(order)
        left = [name for name in order if name not in taken]
        found.counts = {
            "decisions": 1,
            "with_choice": int(passable > 0),
            "conforming": int(passable > 0 and not passed),
            "passed": len(passed),
            "passable": passable,
            "blind": sum(sum(other > each for other in levels) for each in levels) / len(levels),
            "ties": int(ties),
            "ties_oldest_first": int(ties and oldest == chosen),
            "lock_skipped": int(any(before.level(group) > level for group in locked)),
            "partial": int(bool(left)),
            "within_group": int(
                bool(left) and any(order.index(name) > order.index(left[0]) for name in taken)
            ),
        }
    if passed:
        best = max(before.level(group) for group in passed)
        at_best = [
            message
            for group in passed
            for message in before.ready[group]
            if receiver_of(before.state, message).priority == best
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
    if decision.transaction is not None and decision.transaction in before.holders(decision.group):
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
        for events in (log.end.queue_events, log.end.endpoint_events, *[each.events for each in log.messages])
        for event in events
        if border < event["event_time"] < decision.at
    }
    for instant in instants:
        then = Moment(log, decision.queue, instant, [])
        if then.level(group) <= level or then.holders(group) - {decision.transaction}:
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
