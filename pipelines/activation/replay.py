"""The queue monitor as a state machine: what happened on one queue in, runs of checks out.

It keeps numbers, and the sessions that wait or run, whatever the number of messages. Between two
happenings nothing changes but the clock, so the timer's checks there are counted and not played one by one.
All times are whole microseconds since the epoch.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from pipelines.activation import happenings as h

ON_EMPTY_QUEUE = "arrival_on_empty_queue"
FALLING_BEHIND = "readers_falling_behind"
MAX_QUEUE_READERS = "max_queue_readers"
NOTIFICATION_PENDING = "notification_pending"


@dataclass(frozen=True)
class Monitor:
    """A queue with a monitor.

    Attributes:
        number: the queue's number among the monitored ones.
        max_queue_readers: null for an external monitor.
        timeout: microseconds for which a notification stays pending; null for an internal monitor.
        is_on: the queue's status in the catalog.
    """

    number: int
    max_queue_readers: int | None
    timeout: int | None
    is_on: bool


@dataclass(frozen=True)
class Clock:
    """The window [start, end) with the timer's period and the age at which an empty result counts no more."""

    start: int
    end: int
    check: int
    empty: int

    def at_or_after(self, moment: int) -> int:
        """The first tick of the timer at the moment or after it: ticks are multiples since the epoch."""
        return -(-moment // self.check) * self.check


@dataclass(slots=True)
class Run:
    """Consecutive checks with the same reason, occurs, suppressed_by and running tasks; grain of the table.

    `until` is the next check after them, or the end of the window.
    """

    first_check: int
    last_check: int
    until: int
    checks: int
    trigger: str
    reason: str
    ready_messages: int
    running_tasks: int
    occurs: bool
    suppressed_by: str | None


@dataclass(slots=True)
class Totals:
    """What the whole window says of a queue beside its runs.

    Attributes:
        most_ready: the largest number of ready messages that lasted longer than an instant.
        most_ready_at: when it was reached first.
        is_on: whether the queue is on at the end.
        off_since: since when it is off; null if it is on, or was off before any known QUEUE_ALTERED.
        ready: ready messages at the end.
        rollbacks: ROLLBACK events.
        receives: RECEIVE events.
        exits: TASK_EXITED events.
        exits_with_ready: those at which messages were ready and the queue was on.
        exits_without_start: those whose session was not running.
        waits_without_start: WAIT_ENDED of a session that was not waiting.
        waits_without_end: waits that began before the window and have not ended at its end.
    """

    most_ready: int = 0
    most_ready_at: int | None = None
    is_on: bool = True
    off_since: int | None = None
    ready: int = 0
    rollbacks: int = 0
    receives: int = 0
    exits: int = 0
    exits_with_ready: int = 0
    exits_without_start: int = 0
    waits_without_start: int = 0
    waits_without_end: int = 0


@dataclass
class Replay:
    """One queue's monitor; feed it everything in order, then finish it.

    What lies before the window only sets the state: the monitor checks within the window, and no
    notification is pending at its start. Source: the design, "Activation"; the conditions are those of
    the vendor's "Understanding When Activation Occurs".

    Attributes:
        runs: finished runs in order; whoever feeds takes them away.
    """

    monitor: Monitor
    clock: Clock
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._totals = Totals(is_on=self.monitor.is_on)
        self._now = self.clock.start
        self._next_tick = self.clock.at_or_after(self.clock.start)
        self._ready = 0
        self._tasks: set[int] = set()
        self._waiting: dict[int, int] = {}
        self._last_empty: int | None = None
        self._notified: int | None = None
        self._run: Run | None = None

    def feed(self, times: Iterable[int], kinds: Iterable[int], numbers: Iterable[int]) -> None:
        """Play happenings: a time, a kind, and the session of a wait or a task, or how many messages."""
        for time, kind, number in zip(times, kinds, numbers, strict=True):
            if time > self._now:
                self._pass_time(time)
            if kind == h.ARRIVAL:
                on_empty_queue = not self._ready and not self._tasks
                self._ready += 1
                self._check(time, "arrival", on_empty_queue)
            elif kind == h.TAKEN:
                self._ready -= 1
            elif kind == h.GIVEN_BACK or kind == h.READY_BEFORE:
                self._ready += number
            else:
                self._queue_event(time, kind, number)

    def finish(self) -> Totals:
        """Play the rest of the window.

        Returns:
            The totals; the last run is in `runs`.
        """
        self._pass_time(self.clock.end)
        self._end_run(self.clock.end)
        self._totals.ready = self._ready
        self._totals.waits_without_end = sum(begun < self.clock.start for begun in self._waiting.values())
        return self._totals

    def _queue_event(self, time: int, kind: int, session: int) -> None:
        counted = self._totals if time >= self.clock.start else Totals()
        if kind == h.RECEIVE or kind == h.EMPTY_RECEIVE:
            self._notified = None
            counted.receives += 1
            if kind == h.EMPTY_RECEIVE:
                self._last_empty = time
            self._check(time, "receive")
        elif kind == h.WAIT_STARTED:
            self._waiting[session] = time
        elif kind == h.WAIT_ENDED:
            counted.waits_without_start += self._waiting.pop(session, None) is None
        elif kind == h.ROLLBACK:
            counted.rollbacks += 1
            self._check(time, "rollback")
        elif kind == h.EMPTY_GET_GROUP:
            self._last_empty = time
        elif kind == h.TASK_STARTED:
            self._tasks.add(session)
        elif kind == h.TASK_EXITED:
            counted.exits += 1
            counted.exits_without_start += session not in self._tasks
            counted.exits_with_ready += self._ready > 0 and self._totals.is_on
            self._tasks.discard(session)
            if not self._tasks:
                self._check(time, "task_exit")
        else:
            self._alter(time, kind)

    def _alter(self, time: int, kind: int) -> None:
        totals = self._totals
        if kind == h.TURNED_ON:
            totals.is_on, totals.off_since = True, None
        elif kind == h.TURNED_OFF:
            totals.off_since = totals.off_since if not totals.is_on and totals.off_since else time
            totals.is_on = False
        self._check(time, "queue_altered")

    def _pass_time(self, time: int) -> None:
        """Everything that happened at one instant is known, and the clock goes on to another one."""
        if self._ready > self._totals.most_ready:
            self._totals.most_ready, self._totals.most_ready_at = self._ready, self._now
        if self._next_tick < time:
            self._tick_until(time)
        self._now = time

    def _check(self, time: int, trigger: str, on_empty_queue: bool = False) -> None:
        if time < self.clock.start:
            return
        if on_empty_queue and self._totals.is_on:
            self._necessary(time, trigger, ON_EMPTY_QUEUE)
        elif self._falling_behind_from(time) == time:
            self._necessary(time, trigger, FALLING_BEHIND)
        elif self._run:
            self._end_run(time)

    def _falling_behind_from(self, time: int) -> int | None:
        """From when on, at `time` or after it, the readers are falling behind if nothing happens."""
        if not self._ready or self._waiting or not self._totals.is_on:
            return None
        if self._last_empty is None:
            return time
        return max(time, self._last_empty + self.clock.empty)

    def _necessary(self, time: int, trigger: str, reason: str) -> None:
        """One check at which activation is necessary: decide whether it occurs."""
        monitor = self.monitor
        if monitor.timeout is None:
            assert monitor.max_queue_readers is not None
            occurs = len(self._tasks) < monitor.max_queue_readers
            self._extend(time, trigger, reason, None if occurs else MAX_QUEUE_READERS)
        elif self._notified is not None and time - self._notified < monitor.timeout:
            self._extend(time, trigger, reason, NOTIFICATION_PENDING)
        else:
            self._notified = time
            self._extend(time, trigger, reason, None)

    def _tick_until(self, time: int) -> None:
        """Play the ticks before `time`: first those at which an empty result is recent, then the others."""
        step = self.clock.check
        first, last = self._next_tick, (time - 1) // step * step
        self._next_tick = last + step
        begin = self._falling_behind_from(first)
        needed = last + step if begin is None else self.clock.at_or_after(begin)
        if needed > first and self._run:
            self._end_run(first)
        if needed <= last:
            if self.monitor.timeout is None:
                self._necessary(needed, "timer", FALLING_BEHIND)
                self._repeat(needed, last)
            else:
                self._notify(needed, last, self.monitor.timeout)

    def _repeat(self, tick: int, last: int) -> None:
        """The ticks after `tick` find what it found."""
        assert self._run
        self._run.last_check = last
        self._run.checks += (last - tick) // self.clock.check

    def _notify(self, tick: int, last: int, timeout: int) -> None:
        """Ticks of an external monitor: a notification, and silence until it times out."""
        step = self.clock.check
        while tick <= last:
            self._necessary(tick, "timer", FALLING_BEHIND)
            assert self._run
            assert self._notified is not None
            if self._run.suppressed_by:
                end = min(last, self.clock.at_or_after(self._notified + timeout) - step)
                self._repeat(tick, end)
                tick = end
            elif timeout <= step:
                # Timed out by the next tick: every one of them notifies.
                self._repeat(tick, last)
                tick = self._notified = last
            tick += step

    def _extend(self, time: int, trigger: str, reason: str, suppressed_by: str | None) -> None:
        run, tasks = self._run, len(self._tasks)
        if run and run.reason == reason and run.suppressed_by == suppressed_by and run.running_tasks == tasks:
            run.last_check = time
            run.checks += 1
            return
        if run:
            self._end_run(time)
        self._run = Run(
            first_check=time,
            last_check=time,
            until=self.clock.end,
            checks=1,
            trigger=trigger,
            reason=reason,
            ready_messages=self._ready,
            running_tasks=tasks,
            occurs=suppressed_by is None,
            suppressed_by=suppressed_by,
        )

    def _end_run(self, time: int) -> None:
        if self._run:
            self._run.until = time
            self.runs.append(self._run)
            self._run = None
