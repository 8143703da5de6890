"""The table activation: every check of every queue monitor, one by one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from .catalog import Catalog
from .messages import Message
from .state import State, says_off, state_of
from .vocabulary import (
    ENDS,
    Events,
    QueueKey,
    Row,
    Side,
    Transaction,
    is_on,
    queue_of,
    queue_row,
    side_of,
    transaction_of,
    utf8,
)

ARRIVAL, RECEIVED, END, QUEUE_EVENT = range(4)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass
class Monitor:
    """What the catalog says of a queue with a monitor."""

    queue: QueueKey
    on: bool
    max_queue_readers: int | None
    timeout: timedelta | None


@dataclass
class Happening:
    """Something that the replay of a queue plays."""

    kind: int
    event: Row
    message: Message | None = None

    @property
    def time(self) -> datetime:
        moment: datetime = self.event["event_time"]
        return moment

    @property
    def order(self) -> tuple[Any, ...]:
        return (self.time, self.kind, utf8(self.event["event_id"]))


@dataclass
class Queue:
    """The state of a queue."""

    on: bool
    ready: set[str] = field(default_factory=set)
    taken: dict[Transaction | None, set[str]] = field(default_factory=dict)
    ended: set[Side] = field(default_factory=set)
    waiting: dict[int | None, bool] = field(default_factory=dict)
    running: dict[int | None, bool] = field(default_factory=dict)
    last_empty_result: datetime | None = None
    notified: datetime | None = None

    @property
    def running_tasks(self) -> int:
        return sum(self.running.values())

    @property
    def sessions_waiting(self) -> int:
        return sum(self.waiting.values())


def activation(
    accepted_events: Events,
    *,
    catalog: Row,
    as_of: datetime,
    check_seconds: float = 5,
    empty_seconds: float = 5,
    window_hours: float = 24,
    **_: Any,
) -> list[Row]:
    """The rows of the table, without as_of."""
    state = state_of(accepted_events, catalog, [], as_of)
    window = timedelta(hours=window_hours)
    check, empty = timedelta(seconds=check_seconds), timedelta(seconds=empty_seconds)
    monitors = _monitors(state.catalog)
    return [row for each in monitors for row in _Replay(each, state, window, check, empty).rows()]


def _monitors(catalog: Catalog) -> list[Monitor]:
    found = []
    for key in catalog.queues():
        on, queue = catalog.queue_is_on(key), catalog.queue(key)
        internal, external = queue.get("activation"), queue.get("event_notification")
        if internal and is_on(internal.get("status", True)):
            found.append(Monitor(key, on, internal.get("max_queue_readers", 1), None))
        elif external:
            found.append(Monitor(key, on, None, timedelta(seconds=external["timeout_seconds"])))
    return found


def _happenings(queue: QueueKey, state: State) -> list[Happening]:
    found = []
    for message in state.messages:
        receiver = state.endpoint(message.receiver)
        if receiver and receiver.queue == queue:
            if message.arrival and state.has_arrived(message):
                found.append(Happening(ARRIVAL, message.arrival, message))
            found += [Happening(RECEIVED, event, message) for event in state.receives(message)]
    for event in state.endpoint_events:
        endpoint = state.endpoint(side_of(event))
        if event["event_type"] in ENDS and endpoint and endpoint.queue == queue:
            found.append(Happening(END, event))
    found += [Happening(QUEUE_EVENT, event) for event in state.queue_events if queue_of(event) == queue]
    return sorted(found, key=lambda happening: happening.order)


class _Replay:
    def __init__(
        self, monitor: Monitor, state: State, window: timedelta, check: timedelta, empty: timedelta
    ) -> None:
        self.monitor, self.state, self.happenings = monitor, state, _happenings(monitor.queue, state)
        self.receivers = {message.message_id: message.receiver for message in state.messages}
        self.start, self.end, self.period, self.empty = state.as_of - window, state.as_of, check, empty
        self.queue = Queue(monitor.on)
        self.checks: list[Row] = []

    def rows(self) -> list[Row]:
        if not self.happenings:
            return []
        ticks = self._ticks()
        for happening in self.happenings:
            # A tick is after the events of its instant.
            while ticks and ticks[0] < happening.time:
                self._check(ticks.pop(0), "timer")
            self._play(happening)
        for tick in ticks:
            self._check(tick, "timer")
        return self._runs()

    def _ticks(self) -> list[datetime]:
        """The timer's checks; those before the window change nothing, so they are left out."""
        begin = max(self.happenings[0].time, self.start)
        number = (begin - EPOCH) // self.period
        ticks = []
        while EPOCH + number * self.period < self.end:
            if EPOCH + number * self.period >= begin:
                ticks.append(EPOCH + number * self.period)
            number += 1
        return ticks

    # The state

    def _play(self, happening: Happening) -> None:
        if happening.kind == ARRIVAL:
            self._arrive(happening)
        elif happening.kind == RECEIVED:
            self._receive(happening)
        elif happening.kind == END:
            side = side_of(happening.event)
            self.queue.ended.add(side)
            self.queue.ready -= {id for id in self.queue.ready if self.receivers[id] == side}
        else:
            self._queue_event(happening)

    def _arrive(self, happening: Happening) -> None:
        message = happening.message
        assert message
        if message.receiver in self.queue.ended:
            return
        on_empty_queue = not self.queue.ready
        self.queue.ready.add(message.message_id)
        self._check(happening.time, "arrival", on_empty_queue)

    def _receive(self, happening: Happening) -> None:
        message, transaction = happening.message, transaction_of(happening.event)
        assert message
        if message.message_id in self.queue.ready:
            self.queue.ready.remove(message.message_id)
            self.queue.taken.setdefault(transaction, set()).add(message.message_id)

    def _queue_event(self, happening: Happening) -> None:
        event, queue = happening.event, self.queue
        event_type, session = event["event_type"], event.get("session_id")
        where = bool(event.get("has_where"))
        if event_type in ("RECEIVE", "GET_CONVERSATION_GROUP") and event.get("row_count") == 0 and not where:
            queue.last_empty_result = happening.time
        if event_type == "RECEIVE":
            queue.notified = None
            self._check(happening.time, "receive")
        elif event_type == "ROLLBACK":
            self._roll_back(event)
            self._check(happening.time, "rollback")
        elif event_type in ("WAIT_STARTED", "WAIT_ENDED"):
            queue.waiting[session] = event_type == "WAIT_STARTED" and not where
        elif event_type == "TASK_STARTED":
            queue.running[session] = True
        elif event_type == "TASK_EXITED":
            queue.running[session] = False
            if queue.running_tasks == 0:
                self._check(happening.time, "task_exit")
        elif event_type == "QUEUE_ALTERED":
            if event.get("queue_status") is not None:
                queue.on = not says_off(event)
            self._check(happening.time, "queue_altered")

    def _roll_back(self, event: Row) -> None:
        """If a transaction has both a COMMIT and a ROLLBACK, COMMIT counts."""
        if self.state.is_rolled_back(event):
            for message_id in self.queue.taken.pop(transaction_of(event), ()):
                if self.receivers[message_id] not in self.queue.ended:
                    self.queue.ready.add(message_id)

    # The checks

    def _check(self, time: datetime, trigger: str, on_empty_queue: bool = False) -> None:
        if time < self.start:
            return
        queue = self.queue
        reason = None
        if queue.on:
            if trigger == "arrival" and on_empty_queue and queue.running_tasks == 0:
                reason = "arrival_on_empty_queue"
            elif queue.ready and queue.sessions_waiting == 0 and self._no_recent_empty_result(time):
                reason = "readers_falling_behind"
        suppressed_by = self._suppressed_by(time) if reason else None
        if reason and suppressed_by is None:
            queue.notified = time
        self.checks.append(
            {
                "time": time,
                "trigger": trigger,
                "reason": reason,
                "ready_messages": len(queue.ready),
                "running_tasks": queue.running_tasks,
                "suppressed_by": suppressed_by,
            }
        )

    def _no_recent_empty_result(self, time: datetime) -> bool:
        last = self.queue.last_empty_result
        return last is None or time - last >= self.empty

    def _suppressed_by(self, time: datetime) -> str | None:
        if self.monitor.max_queue_readers is not None:
            few = self.queue.running_tasks < self.monitor.max_queue_readers
            return None if few else "max_queue_readers"
        assert self.monitor.timeout
        notified = self.queue.notified
        pending = notified is not None and time - notified < self.monitor.timeout
        return "notification_pending" if pending else None

    def _runs(self) -> list[Row]:
        rows: list[Row] = []
        before = None
        for check in self.checks:
            same = (check["reason"], check["suppressed_by"], check["running_tasks"])
            if check["reason"] is None:
                before = None
                continue
            if same == before:
                rows[-1] |= {"last_check": check["time"], "checks": rows[-1]["checks"] + 1}
            else:
                rows.append(self._first_of_run(check, len(rows) + 1))
            before = same
        return rows

    def _first_of_run(self, check: Row, ordinal: int) -> Row:
        return {
            **queue_row(self.monitor.queue),
            "ordinal": ordinal,
            "first_check": check["time"],
            "last_check": check["time"],
            "checks": 1,
            "trigger": check["trigger"],
            "reason": check["reason"],
            "ready_messages": check["ready_messages"],
            "running_tasks": check["running_tasks"],
            "mode": "internal" if self.monitor.timeout is None else "external",
            "occurs": check["suppressed_by"] is None,
            "suppressed_by": check["suppressed_by"],
        }
