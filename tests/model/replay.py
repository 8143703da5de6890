"""A replay, played by looking at all groups at every choice: slow, word for word after its definitions."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from .catalog import Catalog
from .endpoints import Endpoint, group_id, read_endpoints
from .messages import Message, arrival_order, conversation_order, read_messages
from .rules import rule_history
from .state import State
from .vocabulary import ENDS, Events, QueueKey, Row, Side, by_time, utf8

Levels = Callable[[Endpoint], int]
MICROSECOND = timedelta(microseconds=1)
DAY = timedelta(hours=24)
NEVER = datetime.max.replace(tzinfo=UTC)
LOCKING = ("RECEIVE", "GET_CONVERSATION_GROUP")


def nearest_rank(values: list[int], percent: int) -> int:
    """The value at the rank that percent of the values reach."""
    return sorted(values)[-(-percent * len(values) // 100) - 1]


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


class Inputs:
    """What is played, by the log alone; no levels."""

    def __init__(
        self, events: Events, catalog: Row, rules: list[Row], start: datetime, end: datetime, default_ms: int
    ) -> None:
        self.start, self.end = start, end
        self.messages = read_messages(events.get("message_events") or [])
        self.catalog = Catalog(catalog)
        self.endpoint_events = sorted(events.get("endpoint_events") or [], key=by_time)
        self.queue_events = sorted(events.get("queue_events") or [], key=by_time)
        self.endpoints = read_endpoints(
            self.endpoint_events, self.messages, self.catalog, rule_history(rules)
        )
        self.at_start = State(events, self.endpoints, self.messages, self.catalog, start)
        self.default = default_ms * 1000
        self.takes = self._takes()
        self.queues: dict[QueueKey, list[Played]] = {}
        for message in self.messages:
            self._play(message)

    # The log

    def outcome(self, transaction: tuple[str, str | None]) -> Row | None:
        """The first COMMIT, else the first ROLLBACK."""
        for event_type in ("COMMIT", "ROLLBACK"):
            for event in self.queue_events:
                if event["event_type"] == event_type and _transaction(event) == transaction:
                    return event
        return None

    def _takes(self) -> dict[str, dict[tuple[Any, datetime], int]]:
        """The takes of each message, with its share of their time in microseconds."""
        received = {
            (_transaction(event), event["event_time"], message.message_id)
            for message in self.messages
            for event in message.events
            if event["event_type"] == "RECEIVED"
        }
        takes: dict[str, dict[tuple[Any, datetime], int]] = {}
        for transaction, time, message_id in received:
            if transaction[1] is None or not self.queue_events:
                share = 0
            else:
                outcome = self.outcome(transaction)
                if outcome is None:
                    continue
                later = [other for of, other, _ in received if of == transaction and other > time]
                lasts = max(min(later, default=outcome["event_time"]) - time, timedelta(0)) // MICROSECOND
                sharing = sorted(
                    (other for of, when, other in received if (of, when) == (transaction, time)), key=utf8
                )
                share, rest = divmod(lasts, len(sharing))
                share += sharing.index(message_id) < rest
            takes.setdefault(message_id, {})[transaction, time] = share
        return takes

    def _service(self, message: Message, endpoint: Endpoint) -> tuple[int, bool]:
        if message.message_id in self.takes:
            return sum(self.takes[message.message_id].values()), False
        same_kind, same_queue = [], []
        for other in self.messages:
            takes = self.takes.get(other.message_id)
            receiver = self.endpoints.get(other.receiver)
            if not takes or receiver is None or receiver.queue != endpoint.queue:
                continue
            if receiver.created_at >= self.end + DAY:
                continue
            first = min(time for _, time in takes)
            if self.start - DAY <= first < self.end + DAY:
                same_queue.append(sum(takes.values()))
                if (receiver.contract, other.message_type) == (endpoint.contract, message.message_type):
                    same_kind.append(sum(takes.values()))
        for values in (same_kind, same_queue):
            if values:
                return nearest_rank(values, 50), True
        return self.default, True

    def _play(self, message: Message) -> None:
        """Add the message to its queue, if it is played."""
        endpoint = self.endpoints.get(message.receiver)
        if endpoint is None or endpoint.queue is None or message.arrived_at is None:
            return
        state = self.at_start
        if message.arrived_at >= self.start:
            ready_at = max(message.arrived_at, endpoint.created_at)
        elif state.is_to_be_received(message):
            ready_at = max(self.start, endpoint.created_at)
        elif state.is_in_flight(message):
            returned = self._returned_at(message)
            if returned is None:
                return
            ready_at = max(returned, endpoint.created_at)
        else:
            return
        ends = [
            event["event_time"]
            for event in self.endpoint_events
            if event["event_type"] in ENDS
            and (event["conversation_id"], event["is_initiator"]) == message.receiver
        ]
        ended_at = min(ends, default=None)
        is_ready = state.is_to_be_received(message) and endpoint.created_at < self.start
        has_ended = ended_at is not None and ended_at <= ready_at
        if not is_ready and (ready_at >= self.end or has_ended):
            return
        service, estimated = self._service(message, endpoint)
        left_at = self._left_at(message, endpoint)
        played = Played(message, endpoint, ready_at, service, estimated, ended_at, left_at)
        self.queues.setdefault(endpoint.queue, []).append(played)

    def _returned_at(self, message: Message) -> datetime | None:
        """When the last transaction that holds the message rolls it back; never if one doesn't."""
        times = []
        for transaction in self._holders(message):
            outcome = self.outcome(transaction)
            if outcome is None or outcome["event_type"] == "COMMIT":
                return None
            times.append(outcome["event_time"])
        return max(times)

    def is_open(self, transaction: tuple[str, str | None]) -> bool:
        """Of a transaction that has begun: whether it has no outcome as the period begins."""
        if transaction[1] is None or not self.queue_events:
            return False
        outcome = self._first_end(transaction)
        return outcome is None or outcome >= self.start

    def _first_end(self, transaction: tuple[str, str | None]) -> datetime | None:
        return min(
            (
                event["event_time"]
                for event in self.queue_events
                if event["event_type"] in ("COMMIT", "ROLLBACK") and _transaction(event) == transaction
            ),
            default=None,
        )

    def _holders(self, message: Message) -> set[tuple[str, str | None]]:
        return {
            _transaction(event)
            for event in message.events
            if event["event_type"] == "RECEIVED"
            and event["event_time"] < self.start
            and self.is_open(_transaction(event))
        }

    def _left_at(self, message: Message, endpoint: Endpoint) -> datetime | None:
        """The first committed RECEIVE with WHERE that took the message."""
        times = []
        for event in message.events:
            time = event["event_time"]
            if event["event_type"] != "RECEIVED" or not self.start <= time < self.end:
                continue
            transaction = _transaction(event)
            if transaction[1] is not None:
                outcome = self.outcome(transaction)
                if outcome is None or outcome["event_type"] != "COMMIT":
                    continue
            so_far = [other for other in self.endpoint_events if other["event_time"] <= time]
            group = group_id(endpoint, so_far)
            for asked in self.queue_events:
                if (
                    asked["event_type"] == "RECEIVE"
                    and asked.get("has_where")
                    and asked["event_time"] == time
                    and _transaction(asked) == transaction
                    and _queue(asked) == endpoint.queue
                    and asked.get("conversation_group_id") in (None, group)
                ):
                    times.append(time)
        return min(times, default=None)

    def open_transactions(
        self, queue: QueueKey
    ) -> dict[tuple[str, str | None], tuple[set[str], datetime | None]]:
        """What is open on the queue as the period begins: the groups that it locks, and its outcome."""
        groups: dict[tuple[str, str | None], set[str]] = {}
        for event in self.queue_events:
            transaction = _transaction(event)
            is_taking = event["event_type"] in LOCKING and event["event_time"] < self.start
            if is_taking and _queue(event) == queue and self.is_open(transaction):
                locked = groups.setdefault(transaction, set())
                if event.get("conversation_group_id") is not None:
                    locked.add(event["conversation_group_id"])
        for message in self.messages:
            endpoint = self.at_start.endpoint(message.receiver)
            if endpoint is None or endpoint.queue != queue:
                continue
            for transaction in self._holders(message):
                locked = groups.setdefault(transaction, set())
                if self.at_start.is_in_flight(message):
                    of_message = self.at_start.group(endpoint)
                    assert of_message
                    locked.add(of_message[1])
        found = {}
        for transaction, locked in groups.items():
            outcome = self.outcome(transaction)
            found[transaction] = (locked, outcome["event_time"] if outcome else None)
        return found

    def logged_readers(self, queue: QueueKey, time: datetime) -> int:
        """The readers of the queue at a moment of the period."""
        around = [
            event
            for event in self.queue_events
            if _queue(event) == queue
            and event.get("session_id") is not None
            and self.start - DAY <= event["event_time"] < self.end + DAY
        ]
        if not around:
            return self._open_in_hour(queue, time)
        lives: list[list[Row]] = []
        current: dict[int, list[Row]] = {}
        for event in around:
            session = event["session_id"]
            if session not in current:
                current[session] = []
                lives.append(current[session])
            current[session].append(event)
            if event["event_type"] == "TASK_EXITED":
                del current[session]
        return sum(
            life[0]["event_time"] <= time <= life[-1]["event_time"]
            and any(
                event["event_type"] in (*LOCKING, "WAIT_STARTED") and not event.get("has_where")
                for event in life
            )
            for life in lives
        )

    def _open_in_hour(self, queue: QueueKey, time: datetime) -> int:
        hour = time.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        begun: dict[tuple[str, str | None], datetime] = {}
        taking = [
            (_transaction(event), event["event_time"])
            for event in self.queue_events
            if event["event_type"] in LOCKING and _queue(event) == queue
        ]
        for message in self.messages:
            endpoint = self.endpoints.get(message.receiver)
            if endpoint and endpoint.queue == queue and endpoint.created_at < self.end + DAY:
                taking += [
                    (_transaction(event), event["event_time"])
                    for event in message.events
                    if event["event_type"] == "RECEIVED"
                ]
        for transaction, when in taking:
            if transaction[1] is not None:
                begun[transaction] = min(when, begun.get(transaction, when))
        spans = []
        for transaction, begin in begun.items():
            outcome = self.outcome(transaction)
            if outcome is not None:
                spans.append((begin, outcome["event_time"]))
        moments = {hour, *(begin for begin, _ in spans if hour <= begin < hour + timedelta(hours=1))}
        return max(sum(begin <= moment < until for begin, until in spans) for moment in moments)

    def moments(self) -> list[datetime]:
        """Every moment at which anything of the log happens, or its number of readers changes."""
        found = {self.start}
        for event in (*self.endpoint_events, *self.queue_events):
            found |= {event["event_time"], event["event_time"] + MICROSECOND}
        for plays in self.queues.values():
            for play in plays:
                found |= {play.ready_at, *(moment for moment in (play.ended_at, play.left_at) if moment)}
        hour = self.start.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
        while hour < self.end:
            found.add(hour)
            hour += timedelta(hours=1)
        return sorted(moment for moment in found if self.start <= moment < self.end)


@dataclass
class Machine:
    """One queue that is played."""

    inputs: Inputs
    queue: QueueKey
    levels: Levels
    readers: int | None
    top: int | None
    drain: bool
    plays: list[Played] = field(default_factory=list)

    def run(self) -> Row:
        """Play, and return the row of replay_queues; `plays` say what became of the messages."""
        inputs, start, end = self.inputs, self.inputs.start, self.inputs.end
        for play in self.plays:
            play.level = self.levels(play.endpoint)
        self.ready: list[Played] = []
        self.since: dict[Side, Any] = {}
        self.groups = {play.message.receiver: self._group(play.endpoint, start) for play in self.plays}
        self.working: list[tuple[datetime, set[str], bool]] = []
        for locked, outcome in inputs.open_transactions(self.queue).values():
            holds = self.readers is None and outcome is not None
            self.working.append((outcome or NEVER, locked, holds))
        self.on = not inputs.at_start.is_off(self.queue)
        self.receives = 0
        most_ready = largest = 0
        spans: list[tuple[datetime, datetime, int, int, bool]] = []
        times = {*inputs.moments(), end}
        now = start
        while True:
            if now < end:
                self._happen(now)
                most_ready = max(most_ready, len(self.ready))
                self.there = self._readers(now)
                largest = max(largest, self.there)
            else:
                self.there = self.readers or max(largest, 1)
            if now >= end and not self.drain:
                break
            if now >= end:
                largest = max(largest, self.there)
            self._rounds(now)
            times |= {until for until, _, _ in self.working if until is not NEVER}
            following = min((time for time in times if time > now), default=None)
            if following is None:
                break
            working = sum(holds for *_, holds in self.working)
            only_locked = self.on and bool(self.ready) and not self._free()
            spans.append((now, following, working, self.there, only_locked))
            now = following
        finished = [play.finished_at for play in self.plays if play.receive_number and play.finished_at]
        over = max([end, *finished]) if self.drain else end
        lengths = [
            (min(until, over) - begin, working, there, only_locked)
            for begin, until, working, there, only_locked in spans
            if begin < over
        ]
        nothing = timedelta(0)
        return {
            "readers": largest,
            "busy": sum((span * working for span, working, *_ in lengths), nothing),
            "available": sum((span * there for span, _, there, _ in lengths), nothing),
            "idle_locked": sum(
                (
                    span * max(there - working, 0)
                    for span, working, there, only_locked in lengths
                    if only_locked
                ),
                nothing,
            ),
            "most_ready": most_ready,
            "empty_at": max([start, *finished]) if self.drain and not self.ready else None,
        }

    def _group(self, endpoint: Endpoint, before: datetime) -> str:
        events = [event for event in self.inputs.endpoint_events if event["event_time"] < before]
        return group_id(endpoint, events)

    def _readers(self, now: datetime) -> int:
        return self.inputs.logged_readers(self.queue, now) if self.readers is None else self.readers

    def _happen(self, now: datetime) -> None:
        """Arrivals, then END_* and leaves by WHERE, then moves, then on and off."""
        for play in self.plays:
            if play.ready_at == now:
                self.ready.append(play)
        for side in {play.message.receiver for play in self.ready}:
            mine = [arrival_order(play.message) for play in self.ready if play.message.receiver == side]
            self.since[side] = min([*mine, *([self.since[side]] if side in self.since else [])])
        for play in list(self.ready):
            if play.ended_at == now:
                self._gone(play)
        for play in list(self.ready):
            if play.left_at == now:
                play.started_at = play.finished_at = now
                self._gone(play)
        for event in self.inputs.endpoint_events:
            side = (event["conversation_id"], event["is_initiator"])
            moves = event["event_type"] == "MOVE_CONVERSATION" and event["event_time"] == now
            if moves and side in self.groups and now >= self.inputs.endpoints[side].created_at:
                self.groups[side] = event["conversation_group_id"]
        for event in self.inputs.queue_events:
            alters = event["event_type"] == "QUEUE_ALTERED" and event.get("queue_status") is not None
            if alters and event["event_time"] == now and _queue(event) == self.queue:
                self.on = event["queue_status"].upper() != "OFF"

    def _gone(self, play: Played) -> None:
        self.ready.remove(play)
        side = play.message.receiver
        if all(other.message.receiver != side for other in self.ready):
            del self.since[side]

    def _rounds(self, now: datetime) -> None:
        """Due completions, then choices, until neither happens."""
        while True:
            due = [work for work in self.working if work[0] <= now]
            self.working = [work for work in self.working if work[0] > now]
            chosen = False
            while self.on and sum(holds for *_, holds in self.working) < self.there:
                free = self._free()
                if not free:
                    break
                self._receive(min(free, key=lambda group: self._order(free[group])), free, now)
                chosen = True
            if not due and not chosen:
                return

    def _free(self) -> dict[str, list[Played]]:
        locked = {group for _, groups, _ in self.working for group in groups}
        free: dict[str, list[Played]] = {}
        for play in self.ready:
            group = self.groups[play.message.receiver]
            if group not in locked:
                free.setdefault(group, []).append(play)
        return free

    @staticmethod
    def _order(plays: list[Played]) -> tuple[Any, ...]:
        level = max(play.level for play in plays)
        return (-level, min(arrival_order(play.message) for play in plays if play.level == level))

    def _receive(self, group: str, free: dict[str, list[Played]], now: datetime) -> None:
        def order(play: Played) -> tuple[Any, ...]:
            side = play.message.receiver
            since = self.since[side]
            return (-play.level, since, utf8(side[0]), not side[1], conversation_order(play.message))

        taken = sorted(free[group], key=order)[: self.top]
        self.receives += 1
        finish = now + sum(play.service for play in taken) * MICROSECOND
        for play in taken:
            play.started_at, play.finished_at, play.receive_number = now, finish, self.receives
            self._gone(play)
        self.working.append((finish, {group}, True))


def replay(
    inputs: Inputs, levels: Levels, *, readers: int | None, top: int | None, drain: bool = False
) -> tuple[list[Row], list[Row]]:
    """Play all queues: the rows of replay_messages, with those never served, and of replay_queues."""
    messages, queues = [], []
    for queue, plays in inputs.queues.items():
        machine = Machine(inputs, queue, levels, readers, top, drain, plays)
        told = machine.run()
        queues.append({"instance": queue[0], "database": queue[1], "queue": queue[2], **told})
        messages += [_row(queue, play) for play in plays]
        for play in plays:
            play.started_at = play.finished_at = play.receive_number = None
    return messages, queues


def _row(queue: QueueKey, play: Played) -> Row:
    return {
        "instance": queue[0],
        "database": queue[1],
        "queue": queue[2],
        "message_id": play.message.message_id,
        "arrived_at": play.message.arrived_at,
        "started_at": play.started_at,
        "finished_at": play.finished_at,
        "receive_number": play.receive_number,
        "level": play.level,
        "estimated": play.estimated,
        "ended_at": play.ended_at,
        "received": [
            event["event_time"] for event in play.message.events if event["event_type"] == "RECEIVED"
        ],
    }


def _transaction(event: Row) -> tuple[str, str | None]:
    return (event["instance"], event.get("transaction_id"))


def _queue(event: Row) -> QueueKey:
    return (event["instance"], event["database"], event["queue"])


PERCENTILES = {"wait_p50": 50, "wait_p90": 90, "wait_p95": 95, "wait_p99": 99, "wait_max": 100}


def waits(messages: list[Row], end: datetime) -> Row:
    """The figures of replay_waits for these messages."""
    waited = sorted(
        row["started_at"] - row["arrived_at"] for row in messages if row["started_at"] is not None
    )
    so_far = sorted(
        min(row["ended_at"] or end, end) - row["arrived_at"] for row in messages if row["started_at"] is None
    )
    ranked = [*[_ms(wait) for wait in waited], *[None for _ in so_far]]
    found: Row = {name: ranked[-(-percent * len(ranked) // 100) - 1] for name, percent in PERCENTILES.items()}
    ranks = [-(-percent * len(ranked) // 100) for percent in PERCENTILES.values()]
    lowest = min((rank for rank in ranks if rank > len(waited)), default=None)
    return {
        **found,
        "messages": len(messages),
        "served": len(waited),
        "unserved": len(so_far),
        "estimated": sum(row["estimated"] for row in messages),
        "wait_mean": None if so_far else sum(map(_ms, waited)) / len(waited),
        "at_least": None if lowest is None else _ms(so_far[lowest - len(waited) - 1]),
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


def _ms(length: timedelta) -> float:
    return length / timedelta(milliseconds=1)
