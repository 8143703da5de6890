"""A replay word for word after its definitions, message by message: slow, and nothing of it is clever."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from .endpoints import Endpoint, group_id
from .messages import Message, arrival_order, conversation_order
from .state import LOCKS, OUTCOMES, says_off, state_of
from .vocabulary import (
    ENDS,
    MICROSECOND,
    Events,
    QueueKey,
    Row,
    Side,
    Transaction,
    by_time,
    queue_of,
    queue_row,
    side_of,
    transaction_of,
    utf8,
)

Levels = Callable[[Endpoint], int]
HOUR, DAY = timedelta(hours=1), timedelta(hours=24)
NOTHING = timedelta(0)


@dataclass(frozen=True)
class Receipt:
    """A RECEIVED event: who received it and when, and whether its statement had WHERE."""

    event: Row
    transaction: Transaction | None
    at: datetime
    by_where: bool


@dataclass
class Played:
    """A message that is played, with what becomes of it."""

    message: Message
    endpoint: Endpoint
    ready_at: datetime
    service: int
    estimated: bool
    ended_at: datetime | None
    left_at: datetime | None
    level: int = 0
    started_at: datetime | None = None
    finished_at: datetime | None = None
    receive_number: int | None = None

    @property
    def side(self) -> Side:
        """The receiving endpoint."""
        return self.message.receiver


@dataclass
class Work:
    """Groups that are locked until a moment, by a reader or by a transaction of the log."""

    groups: set[str]
    until: datetime | None
    busy: bool


class Inputs:
    """What is played, by the log alone; no levels. `before` is the state as the period begins."""

    def __init__(
        self, events: Events, catalog: Row, rules: list[Row], start: datetime, end: datetime, default_ms: int
    ) -> None:
        self.start, self.end = start, end
        self.before = state_of(events, catalog, rules, start)
        self.messages, self.endpoints = self.before.messages, self.before.known_endpoints
        self.endpoint_events = sorted(events.get("endpoint_events") or [], key=by_time)
        self.queue_events = sorted(events.get("queue_events") or [], key=by_time)
        self.default = default_ms * 1000
        self.receipts = {message.message_id: list(self._receipts(message)) for message in self.messages}
        self.service_of = {message.message_id: self._logged_service(message) for message in self.messages}
        self.queues: dict[QueueKey, list[Played]] = {}
        for message in self.messages:
            played = self._played(message)
            if played and played.endpoint.queue:
                self.queues.setdefault(played.endpoint.queue, []).append(played)

    # What the log says

    def outcome(self, transaction: Transaction) -> tuple[datetime, bool] | None:
        """When it ended, and whether by COMMIT: its first COMMIT, else its first ROLLBACK."""
        for event_type in OUTCOMES:
            for event in self.queue_events:
                if event["event_type"] == event_type and transaction_of(event) == transaction:
                    return event["event_time"], event_type == "COMMIT"
        return None

    def ended_at(self, side: Side) -> datetime | None:
        """The first END_* of an endpoint."""
        ends = [
            event["event_time"]
            for event in self.endpoint_events
            if event["event_type"] in ENDS and side_of(event) == side
        ]
        return min(ends, default=None)

    def _receipts(self, message: Message) -> Iterator[Receipt]:
        endpoint = self.endpoints.get(message.receiver)
        for event in message.events:
            if event["event_type"] != "RECEIVED":
                continue
            at, by_where = event["event_time"], False
            if endpoint:
                group = group_id(
                    endpoint, [each for each in self.endpoint_events if each["event_time"] <= at]
                )
                by_where = any(
                    asked["event_type"] == "RECEIVE"
                    and asked.get("has_where")
                    and asked["event_time"] == at
                    and transaction_of(asked) == transaction_of(event)
                    and asked["instance"] == event["instance"]
                    and queue_of(asked) == endpoint.queue
                    and asked.get("conversation_group_id") in (None, group)
                    for asked in self.queue_events
                )
            yield Receipt(event, transaction_of(event), at, by_where)

    # The work on a message

    def _logged_service(self, message: Message) -> tuple[datetime, int] | None:
        """When it was first taken, and the sum of its shares in microseconds; None if it never was."""
        first, total = None, 0
        for transaction, at in {(each.transaction, each.at) for each in self.receipts[message.message_id]}:
            share = self._share(message.message_id, transaction, at)
            if share is not None:
                first, total = min(first or at, at), total + share
        return None if first is None else (first, total)

    def _share(self, message_id: str, transaction: Transaction | None, at: datetime) -> int | None:
        if transaction is None or not self.queue_events:
            return 0
        outcome = self.outcome(transaction)
        if outcome is None:
            return None
        taken = [
            (each.at, other)
            for other, receipts in self.receipts.items()
            for each in receipts
            if each.transaction == transaction
        ]
        until = min((time for time, _ in taken if time > at), default=outcome[0])
        whole = max(until - at, NOTHING) // MICROSECOND
        sharing = sorted({other for time, other in taken if time == at}, key=utf8)
        return whole // len(sharing) + (sharing.index(message_id) < whole % len(sharing))

    def _service(self, message: Message, endpoint: Endpoint) -> tuple[int, bool]:
        known = self.service_of[message.message_id]
        if known:
            return known[1], False
        of_queue, of_kind = [], []
        for other in self.messages:
            receiver, taken = self.endpoints.get(other.receiver), self.service_of[other.message_id]
            if not receiver or not taken or receiver.queue != endpoint.queue:
                continue
            if self.start - DAY <= taken[0] < self.end + DAY and receiver.created_at < self.end + DAY:
                of_queue.append(taken[1])
                if (receiver.contract, other.message_type) == (endpoint.contract, message.message_type):
                    of_kind.append(taken[1])
        for values in (of_kind, of_queue):
            if values:
                return sorted(values)[(len(values) + 1) // 2 - 1], True
        return self.default, True

    # The messages that are played

    def holders(self, message: Message) -> set[Transaction | None]:
        """The transactions that hold a message in flight as the period begins; none if it is not."""
        if not self.before.is_in_flight(message):
            return set()
        return {transaction_of(each) for each in self.before.receives(message) if self.before.is_open(each)}

    def _played(self, message: Message) -> Played | None:
        endpoint, arrived_at = self.endpoints.get(message.receiver), message.arrived_at
        if endpoint is None or arrived_at is None or endpoint.queue is None:
            return None
        ended_at = self.ended_at(message.receiver)
        if self.before.is_received(message):
            return None
        holders = self.holders(message)
        if arrived_at >= self.start:
            ready_at = arrived_at
        elif holders:
            outcomes = [self.outcome(holder) for holder in holders if holder]
            if any(outcome is None or outcome[1] for outcome in outcomes):
                return None
            ready_at = max(outcome[0] for outcome in outcomes if outcome)
        else:
            ready_at = self.start
        ready_at = max(ready_at, endpoint.created_at)
        stood_there = arrived_at < self.start and not holders and endpoint.created_at < self.start
        if stood_there:
            # Ready as the period begins; what happens at that very instant has not happened yet.
            if ended_at is not None and ended_at < self.start:
                return None
        elif ready_at >= self.end or (ended_at is not None and ended_at <= ready_at):
            return None
        service, estimated = self._service(message, endpoint)
        left_at = self._left_at(message)
        return Played(message, endpoint, ready_at, service, estimated, ended_at, left_at)

    def _left_at(self, message: Message) -> datetime | None:
        """The first committed RECEIVE with WHERE of the period that took the message."""
        times = []
        for each in self.receipts[message.message_id]:
            outcome = self.outcome(each.transaction) if each.transaction else (each.at, True)
            if each.by_where and outcome and outcome[1] and self.start <= each.at < self.end:
                times.append(each.at)
        return min(times, default=None)

    # Transactions and readers

    def held(self, queue: QueueKey, *, holds_readers: bool) -> list[Work]:
        """What the transactions have that are open on a queue as the period begins."""
        groups: dict[Transaction | None, set[str]] = {}
        reading = set()
        for event in self.before.queue_events:
            if event["event_type"] in LOCKS and queue_of(event) == queue and self.before.is_open(event):
                own = groups.setdefault(transaction_of(event), set())
                if event.get("conversation_group_id") is not None:
                    own.add(event["conversation_group_id"])
                if not event.get("has_where"):
                    reading.add(transaction_of(event))
        for message in self.messages:
            endpoint = self.before.endpoint(message.receiver)
            group = self.before.group(endpoint) if endpoint else None
            if group is None or group[0] != queue:
                continue
            for holder in self.holders(message):
                groups.setdefault(holder, set()).add(group[1])
            for receipt in self.receipts[message.message_id]:
                if receipt.at < self.start and self.before.is_open(receipt.event):
                    groups.setdefault(receipt.transaction, set())
                    if not receipt.by_where:
                        reading.add(receipt.transaction)
        works = []
        for transaction, own in groups.items():
            outcome = self.outcome(transaction) if transaction else None
            busy = holds_readers and transaction in reading and outcome is not None
            works.append(Work(own, outcome[0] if outcome else None, busy))
        return works

    def readers_at(self, queue: QueueKey, time: datetime) -> int:
        """The readers of the log at a moment of the period."""
        of_sessions = [
            event
            for event in self.queue_events
            if queue_of(event) == queue
            and event.get("session_id") is not None
            and self.start - DAY <= event["event_time"] < self.end + DAY
        ]
        if not of_sessions:
            return self._most_open(queue, time)
        count = 0
        for session in {event["session_id"] for event in of_sessions}:
            life: list[Row] = []
            for event in [*(each for each in of_sessions if each["session_id"] == session), None]:
                if event is not None:
                    life.append(event)
                if event is None or event["event_type"] == "TASK_EXITED":
                    is_there = bool(life) and life[0]["event_time"] <= time <= life[-1]["event_time"]
                    count += is_there and any(_reads(each) for each in life)
                    life = []
        return count

    def _most_open(self, queue: QueueKey, time: datetime) -> int:
        """The largest number of transactions open at once in the UTC hour."""
        begun: dict[Transaction, datetime] = {}
        reads = [
            (transaction_of(event), event["event_time"])
            for event in self.queue_events
            if event["event_type"] in LOCKS and queue_of(event) == queue and not event.get("has_where")
        ]
        for message in self.messages:
            endpoint = self.endpoints.get(message.receiver)
            if endpoint and endpoint.queue == queue and endpoint.created_at < self.end + DAY:
                receipts = self.receipts[message.message_id]
                reads += [(each.transaction, each.at) for each in receipts if not each.by_where]
        for transaction, at in reads:
            if transaction:
                begun[transaction] = min(at, begun.get(transaction, at))
        spans = []
        for transaction, first in begun.items():
            outcome = self.outcome(transaction)
            if outcome and outcome[0] > first:
                spans.append((first, outcome[0]))
        hour = time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        moments = [hour, *(first for first, _ in spans if hour <= first < hour + HOUR)]
        return max(sum(first <= moment < last for first, last in spans) for moment in moments)


def _reads(event: Row) -> bool:
    return event["event_type"] in (*LOCKS, "WAIT_STARTED") and not event.get("has_where")


@dataclass
class Machine:
    """One queue that is played; its clock goes from one moment at which anything may happen to the next."""

    inputs: Inputs
    queue: QueueKey
    readers: int | None
    top: int | None
    drain: bool
    plays: list[Played]
    ready: list[Played] = field(default_factory=list)
    since: dict[Side, Any] = field(default_factory=dict)
    work: list[Work] = field(default_factory=list)
    receives: int = 0

    def run(self) -> Row:
        """Play, and return the row of replay_queues; `plays` say what became of the messages."""
        inputs, start, end = self.inputs, self.inputs.start, self.inputs.end
        self.work = inputs.held(self.queue, holds_readers=self.readers is None)
        moved = inputs.before.endpoint_events
        self.group = {play.side: group_id(play.endpoint, moved) for play in self.plays}
        self.on = not inputs.before.is_off(self.queue)
        most_ready, most_there = 0, 0
        spans: list[tuple[datetime, datetime, tuple[int, int]]] = []
        now: datetime | None = start
        while now is not None:
            if now < end:
                self._happen(now)
                most_ready = max(most_ready, len(self.ready))
                there = inputs.readers_at(self.queue, now) if self.readers is None else self.readers
                most_there = max(most_there, there)
            elif self.drain:
                if now == start == end:
                    # An empty period has what is ready as it begins, and nothing happens in it.
                    for play in self.plays:
                        self._arrive(play)
                    most_ready = len(self.ready)
                there = self.readers or max(most_there, 1)
                most_there = max(most_there, there)
            else:
                break
            self._rounds(now, there)
            following = self._next(now)
            if following is not None:
                at_work = sum(each.busy for each in self.work)
                waits = self.on and self.ready and not self._available()
                idle = max(there - at_work, 0) if waits else 0
                spans.append((now, following, (at_work, idle)))
            now = following
        served = [play.finished_at for play in self.plays if play.receive_number and play.finished_at]
        until = max([end, *served]) if self.drain else end
        taken_away = [
            play.left_at if play.started_at else play.ended_at
            for play in self.plays
            if not play.receive_number and play not in self.ready
        ]
        lengths = [(min(last, until) - first, figures) for first, last, figures in spans if first < until]
        busy_time, idle_locked = (
            sum((length * figures[place] for length, figures in lengths), NOTHING) for place in range(2)
        )
        is_empty = self.drain and not self.ready
        return {
            "readers": most_there,
            "busy": busy_time,
            "idle_locked": idle_locked,
            "most_ready": most_ready,
            "empty_at": max([start, *served, *(each for each in taken_away if each)]) if is_empty else None,
        }

    def _next(self, now: datetime) -> datetime | None:
        """The next moment at which anything may happen."""
        inputs = self.inputs
        moments = {inputs.end, *(each.until for each in self.work if each.until is not None)}
        for event in (*inputs.endpoint_events, *inputs.queue_events):
            moments |= {event["event_time"], event["event_time"] + MICROSECOND}
        for play in self.plays:
            moments |= {play.ready_at, *(each for each in (play.ended_at, play.left_at) if each)}
        hour = inputs.start.replace(minute=0, second=0, microsecond=0)
        while hour < inputs.end:
            moments.add(hour)
            hour += HOUR
        due = {each.until for each in self.work}
        return min(
            (each for each in moments if each > now and (each <= inputs.end or each in due)), default=None
        )

    def _happen(self, now: datetime) -> None:
        """Arrivals; END_* and leaves by WHERE; moves; on and off."""
        inputs = self.inputs
        for play in self.plays:
            if play.ready_at == now:
                self._arrive(play)
        for play in [each for each in self.ready if each.ended_at == now]:
            self._remove(play)
        for play in [each for each in self.ready if each.left_at == now]:
            play.started_at = play.finished_at = now
            self._remove(play)
        for event in inputs.endpoint_events:
            side = side_of(event)
            moves = event["event_type"] == "MOVE_CONVERSATION" and event["event_time"] == now
            if moves and side in self.group and now >= inputs.endpoints[side].created_at:
                self.group[side] = event["conversation_group_id"]
        for event in inputs.queue_events:
            is_switch = event["event_type"] == "QUEUE_ALTERED" and event.get("queue_status") is not None
            if is_switch and event["event_time"] == now and queue_of(event) == self.queue:
                self.on = not says_off(event)

    def _arrive(self, play: Played) -> None:
        self.ready.append(play)
        arrival = arrival_order(play.message)
        self.since[play.side] = min(self.since.get(play.side, arrival), arrival)

    def _remove(self, play: Played) -> None:
        self.ready.remove(play)
        if not any(other.side == play.side for other in self.ready):
            del self.since[play.side]

    def _rounds(self, now: datetime, there: int) -> None:
        """Due completions, then choices, until neither happens."""
        happens = True
        while happens:
            left = [each for each in self.work if each.until is None or each.until > now]
            happens, self.work = len(left) < len(self.work), left
            while self.on and sum(each.busy for each in self.work) < there and self._available():
                self._receive(now)
                happens = True

    def _available(self) -> dict[str, list[Played]]:
        """The ready messages of each group that is not locked."""
        locked = {group for each in self.work for group in each.groups}
        found: dict[str, list[Played]] = {}
        for play in self.ready:
            if self.group[play.side] not in locked:
                found.setdefault(self.group[play.side], []).append(play)
        return found

    def _receive(self, now: datetime) -> None:
        def turn(plays: list[Played]) -> tuple[Any, ...]:
            level = max(play.level for play in plays)
            return -level, min(arrival_order(play.message) for play in plays if play.level == level)

        def place(play: Played) -> tuple[Any, ...]:
            return -play.level, self.since[play.side], conversation_order(play.message)

        group, plays = min(self._available().items(), key=lambda each: turn(each[1]))
        taken = sorted(plays, key=place)[: self.top]
        self.receives += 1
        until = now + sum(play.service for play in taken) * MICROSECOND
        for play in taken:
            play.started_at, play.finished_at, play.receive_number = now, until, self.receives
            self._remove(play)
        self.work.append(Work({group}, until, busy=True))


def replay(
    inputs: Inputs, levels: Levels, *, readers: int | None, top: int | None, drain: bool = False
) -> tuple[list[Row], list[Row]]:
    """Play all queues: the rows of replay_messages, with those never served, and of replay_queues."""
    messages, queues = [], []
    for queue, plays in inputs.queues.items():
        for play in plays:
            play.level = levels(play.endpoint)
        told = Machine(inputs, queue, readers, top, drain, plays).run()
        queues.append({**queue_row(queue), **told})
        messages += [_row(inputs, queue, play) for play in plays]
        for play in plays:
            play.started_at = play.finished_at = play.receive_number = None
    return messages, queues


def _row(inputs: Inputs, queue: QueueKey, play: Played) -> Row:
    return {
        **queue_row(queue),
        "message_id": play.message.message_id,
        "arrived_at": play.message.arrived_at,
        "started_at": play.started_at,
        "finished_at": play.finished_at,
        "receive_number": play.receive_number,
        "level": play.level,
        "estimated": play.estimated,
        "ended_at": play.ended_at,
        "received": [each.at for each in inputs.receipts[play.message.message_id]],
    }


PERCENTILES = {"wait_p50": 50, "wait_p90": 90, "wait_p95": 95, "wait_p99": 99, "wait_max": 100}


def waits(messages: list[Row], end: datetime) -> Row:
    """The figures of replay_waits for these messages."""
    served = sorted(
        ms(row["started_at"] - row["arrived_at"]) for row in messages if row["started_at"] is not None
    )
    unserved = sorted(
        ms(min(row["ended_at"] or end, end) - row["arrived_at"])
        for row in messages
        if row["started_at"] is None
    )
    figures: Row = {"at_least": None}
    for name, percent in PERCENTILES.items():
        rank = (percent * len(messages) + 99) // 100
        figures[name] = served[rank - 1] if rank <= len(served) else None
        if rank > len(served) and figures["at_least"] is None:
            figures["at_least"] = unserved[rank - len(served) - 1]
    return figures | {
        "messages": len(messages),
        "served": len(served),
        "unserved": len(unserved),
        "estimated": sum(row["estimated"] for row in messages),
        "wait_mean": None if unserved else sum(served) / len(served),
    }


def as_logged(messages: list[Row], start: datetime, end: datetime) -> list[Row]:
    """The messages as the log took them first in the period."""
    return [
        {**row, "started_at": min((time for time in row["received"] if start <= time < end), default=None)}
        for row in messages
    ]


def is_off(logged: float | None, replayed: float | None) -> bool:
    """More than a tenth and more than 50 ms apart, or known on one side only."""
    if logged is None or replayed is None:
        return logged is not replayed
    return abs(replayed - logged) > 50 and abs(replayed - logged) > logged / 10


def ms(length: timedelta) -> float:
    """Milliseconds."""
    return length / timedelta(milliseconds=1)
