"""The queue monitor as a state machine: events of one queue in, runs of checks out.

It plays a batch of events at once, in columns of numbers, and keeps the state of the queue at its end,
whatever the number of messages. All times are whole microseconds since the epoch.
"""

from dataclasses import dataclass

import numpy as np

from pipelines.activation import timeline as codes
from pipelines.activation.checks import (
    CHECKS,
    MAX_QUEUE_READERS,
    NOT_NECESSARY,
    NOTIFICATION_PENDING,
    OCCURS,
    REASONS,
    SUPPRESSED_BY,
    Checks,
    Clock,
    find_checks,
)
from pipelines.activation.states import Numbers, QueueEvents, QueueState, Totals


class Notifications:
    """The notifications of one external monitor; none is pending at the start of the window.

    A RECEIVE answers a notification; else it is pending until it times out. Each notification depends on the
    one before it, so Python decides one check after the other.
    """

    def __init__(self, timeout: int, clock: Clock) -> None:
        self._timeout, self._clock = timeout, clock
        self._notified: int | None = None

    def decide(self, checks: Checks) -> Checks:
        """Split the timer's checks of which some notify, and set `suppressed_by`.

        Args:
            checks: the checks in order.
        """
        rows, firsts, lasts, suppressed = [], [], [], []
        columns = (checks[name].tolist() for name in ("first_check", "last_check", "reason", "is_receive"))
        for row, (first, last, reason, is_receive) in enumerate(zip(*columns, strict=True)):
            if is_receive:
                self._notified = None
            if reason == NOT_NECESSARY:
                rows.append(row)
                firsts.append(first)
                lasts.append(last)
                suppressed.append(OCCURS)
                continue
            while first <= last:
                until, suppressed_by = self._decide_run(first, last)
                rows.append(row)
                firsts.append(first)
                lasts.append(until)
                suppressed.append(suppressed_by)
                first = until + self._clock.check
        decided = checks[rows]
        decided["first_check"], decided["last_check"], decided["suppressed_by"] = firsts, lasts, suppressed
        decided["checks"] = (decided["last_check"] - decided["first_check"]) // self._clock.check + 1
        return decided

    def _decide_run(self, first: int, last: int) -> tuple[int, int]:
        """Return the last check with the outcome of the first, and the `suppressed_by` of all of them."""
        if self._notified is not None and first - self._notified < self._timeout:
            over = self._clock.at_or_after(self._notified + self._timeout) - self._clock.check
            return max(first, min(last, over)), NOTIFICATION_PENDING
        # If notifications time out by the next tick, every check notifies.
        self._notified = last if self._timeout <= self._clock.check else first
        return self._notified, OCCURS


@dataclass(frozen=True)
class Monitor:
    """A queue with a monitor.

    Attributes:
        number: the number of the queue among the monitored queues.
        max_queue_readers: null for an external monitor.
        timeout: microseconds until a pending notification times out; null for an internal monitor.
        is_on: the queue's status in the catalog.
    """

    number: int
    max_queue_readers: int | None
    timeout: int | None
    is_on: bool


class MonitorReplay:
    """The monitor of a queue: play its events in order, batch by batch, then finish.

    Events before the window only set the state: the monitor checks within the window.
    """

    def __init__(self, monitor: Monitor, clock: Clock) -> None:
        self._clock = clock
        self._most_tasks = monitor.max_queue_readers
        self._notifications = None if monitor.timeout is None else Notifications(monitor.timeout, clock)
        self._totals = Totals(is_on=monitor.is_on)
        self._state = QueueState(clock.start, self._totals)
        self._now = clock.start
        self._open: Checks = np.empty(0, CHECKS)

    def play(self, played: QueueEvents) -> Checks:
        """Play the next events.

        Returns:
            The runs of checks that have ended, in order.
        """
        now = np.maximum(played.times, self._now)
        before = np.concatenate(([self._now], now[:-1]))
        states = self._state.play(played)
        self._find_most_ready(states.ready[:-1], before, now)
        self._now = int(now[-1])
        return self._runs(self._decide(find_checks(played, states, before, now, self._clock)))

    def finish(self) -> tuple[Checks, Totals]:
        """Play the rest of the window after the last event.

        Returns:
            The last runs, and the totals.
        """
        over = (self._clock.end, codes.OVER, 0)
        runs = self.play(QueueEvents(*(np.array([value], np.int64) for value in over)))
        self._totals.waits_without_end = sum(
            begun < self._clock.start for begun in self._state.waiting.values()
        )
        return np.concatenate((runs, self._open)) if len(self._open) else runs, self._totals

    def _find_most_ready(self, ready: Numbers, before: Numbers, now: Numbers) -> None:
        """Find the most ready messages at instants that are complete: the clock moves on after them."""
        over = np.flatnonzero(now > before)
        if over.size:
            most = over[np.argmax(ready[over])]
            if ready[most] > self._totals.most_ready:
                self._totals.most_ready, self._totals.most_ready_at = int(ready[most]), int(before[most])

    def _decide(self, checks: Checks) -> Checks:
        """Set `suppressed_by` of checks that find a need."""
        if self._notifications:
            return self._notifications.decide(checks)
        is_full = checks["running_tasks"] >= self._most_tasks
        checks["suppressed_by"] = np.where(is_full, MAX_QUEUE_READERS, OCCURS)
        return checks

    def _runs(self, checks: Checks) -> Checks:
        """Combine consecutive checks that find the same need; the last run stays open, as it can go on."""
        if len(self._open):
            checks = np.concatenate((self._open, checks))
        if not len(checks):
            return checks
        is_needed = checks["reason"] != NOT_NECESSARY
        # The values that the checks of a run share, as one number.
        decided = checks["reason"] * len(SUPPRESSED_BY) + checks["suppressed_by"]
        alike = checks["running_tasks"] * ((len(REASONS) + 1) * len(SUPPRESSED_BY)) + decided
        goes_on = is_needed[1:] & (alike[1:] == alike[:-1])
        begins = np.flatnonzero(is_needed & ~np.concatenate(([False], goes_on)))
        ends = np.flatnonzero(is_needed & ~np.concatenate((goes_on, [False])))
        so_far = np.concatenate(([0], np.cumsum(checks["checks"])))
        runs = checks[begins]
        runs["last_check"] = checks["last_check"][ends]
        runs["checks"] = so_far[ends + 1] - so_far[begins]
        runs["until"] = np.concatenate((checks["first_check"], [self._clock.end]))[ends + 1]
        ended = len(runs) - int(is_needed[-1])
        self._open = runs[ended:]
        return runs[:ended]
