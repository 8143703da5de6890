"""The queue monitor as a state machine: events of one queue in, runs of checks out.

It plays a batch of events at once, in columns of numbers, and keeps the state of the queue at its end,
whatever the number of messages. All times are whole microseconds since the epoch.
"""

from dataclasses import dataclass

import numpy as np

from pipelines.activation import event_codes as codes
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
    checks_of,
)
from pipelines.activation.states import Numbers, QueueEvents, Standing, Totals


class Notifications:
    """The notifications of one external monitor; none is pending at the start of the window.

    A RECEIVE answers a notification, and else it is pending until it times out. Each depends on the one
    before it, so Python looks at one check after the other.
    """

    def __init__(self, timeout: int, clock: Clock) -> None:
        self._timeout, self._clock = timeout, clock
        self._notified: int | None = None

    def decide(self, checks: Checks) -> Checks:
        """Take apart the timer's checks of which some notify, and say which are suppressed.

        Args:
            checks: in order, as they were found.
        """
        places, firsts, lasts, suppressed = [], [], [], []
        columns = (checks[name].tolist() for name in ("first_check", "last_check", "reason", "is_receive"))
        for place, (first, last, reason, is_receive) in enumerate(zip(*columns, strict=True)):
            if is_receive:
                self._notified = None
            if reason == NOT_NECESSARY:
                places.append(place)
                firsts.append(first)
                lasts.append(last)
                suppressed.append(OCCURS)
                continue
            while first <= last:
                until, suppressed_by = self._look(first, last)
                places.append(place)
                firsts.append(first)
                lasts.append(until)
                suppressed.append(suppressed_by)
                first = until + self._clock.check
        found = checks[places]
        found["first_check"], found["last_check"], found["suppressed_by"] = firsts, lasts, suppressed
        found["checks"] = (found["last_check"] - found["first_check"]) // self._clock.check + 1
        return found

    def _look(self, first: int, last: int) -> tuple[int, int]:
        """The last of the checks that find the same as the first one, and what they find."""
        if self._notified is not None and first - self._notified < self._timeout:
            over = self._clock.at_or_after(self._notified + self._timeout) - self._clock.check
            return max(first, min(last, over)), NOTIFICATION_PENDING
        # Timed out by the next tick: every one of them notifies.
        self._notified = last if self._timeout <= self._clock.check else first
        return self._notified, OCCURS


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


class Replay:
    """One queue's monitor; feed it what happened in order, piece by piece, and finish it with the last one.

    What lies before the window only sets the state: the monitor checks within the window.
    """

    def __init__(self, monitor: Monitor, clock: Clock) -> None:
        self._clock = clock
        self._most_tasks = monitor.max_queue_readers
        self._notifications = None if monitor.timeout is None else Notifications(monitor.timeout, clock)
        self._totals = Totals(is_on=monitor.is_on)
        self._standing = Standing(clock.start, self._totals)
        self._now = clock.start
        self._open: Checks = np.empty(0, CHECKS)

    def feed(self, played: QueueEvents) -> Checks:
        """Play what happened next.

        Returns:
            The runs of checks that have ended, in order.
        """
        now = np.maximum(played.times, self._now)
        before = np.concatenate(([self._now], now[:-1]))
        states = self._standing.play(played)
        self._look_for_most(states.ready[:-1], before, now)
        self._now = int(now[-1])
        return self._runs(self._decide(checks_of(played, states, before, now, self._clock)))

    def finish(self, played: QueueEvents) -> tuple[Checks, Totals]:
        """Play what happened last, and the rest of the window.

        Returns:
            The last runs, and the totals.
        """
        over = (self._clock.end, codes.OVER, 0)
        columns = zip(played, over, strict=True)
        runs = self.feed(QueueEvents(*(np.concatenate((column, [last])) for column, last in columns)))
        self._totals.waits_without_end = sum(
            begun < self._clock.start for begun in self._standing.waiting.values()
        )
        return np.concatenate((runs, self._open)) if len(self._open) else runs, self._totals

    def _look_for_most(self, ready: Numbers, before: Numbers, now: Numbers) -> None:
        """Look at each instant of which everything is known: the clock goes on to another one."""
        over = np.flatnonzero(now > before)
        if over.size:
            most = over[np.argmax(ready[over])]
            if ready[most] > self._totals.most_ready:
                self._totals.most_ready, self._totals.most_ready_at = int(ready[most]), int(before[most])

    def _decide(self, checks: Checks) -> Checks:
        """Say at which of the checks that find a need activation does not occur."""
        if self._notifications:
            return self._notifications.decide(checks)
        is_full = checks["running_tasks"] >= self._most_tasks
        checks["suppressed_by"] = np.where(is_full, MAX_QUEUE_READERS, OCCURS)
        return checks

    def _runs(self, checks: Checks) -> Checks:
        """Sum up consecutive checks that find the same need; the last run may go on, and is kept."""
        if len(self._open):
            checks = np.concatenate((self._open, checks))
        if not len(checks):
            return checks
        is_needed = checks["reason"] != NOT_NECESSARY
        # What the checks of a run have in common, as one number.
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
