"""The queue monitor as a state machine: events of one queue in, runs of checks out.

It plays a batch of events at once, in columns of numbers, and keeps the state of the queue at its end,
whatever the number of messages. All times are whole microseconds since the epoch.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from types import NoneType
from typing import get_args, get_type_hints

import numpy as np
from pyspark.sql import DataFrame

from pipelines.activation import timeline as codes
from pipelines.activation.checks import (
    CHECKS,
    MAX_QUEUE_READERS,
    NOT_NECESSARY,
    NOTIFICATION_PENDING,
    OCCURS,
    REASONS,
    SUPPRESSED_BY,
    TRIGGERS,
    Checks,
    Clock,
    find_checks,
)
from pipelines.activation.states import Numbers, QueueEvents, QueueState, Totals
from pipelines.queue_machine.workers import BITS, Columns, run_queues

TYPES = {int: "bigint", bool: "boolean"}
NAMES = {"trigger": TRIGGERS, "reason": REASONS, "suppressed_by": SUPPRESSED_BY}
"""The texts of columns that are numbers in a worker."""
RUN = {
    **dict.fromkeys(("first_check", "last_check", "until", "checks"), "bigint"),
    **dict.fromkeys(("trigger", "reason"), "string"),
    **dict.fromkeys(("ready_messages", "running_tasks"), "bigint"),
    "occurs": "boolean",
    "suppressed_by": "string",
}
TOTALS = {
    name: TYPES[next(kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType)]
    for name, hint in get_type_hints(Totals).items()
}
RESULTS = {"ordinal": "bigint", **RUN, **TOTALS}
"""The results of a queue: a row per run of checks, with `ordinal` from 1; and one with ordinal 0 and its
totals. Times are microseconds."""


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
    """The monitor of a queue: play its events in order, batch by batch.

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
        self._runs = 0

    def play_batch(self, columns: Sequence[Numbers], *, is_last: bool) -> Iterator[Columns]:
        """Play the next events; give the runs of checks that have ended, and at the end the totals.

        Args:
            columns: the columns of `timeline.PLAYED` from position on.
            is_last: whether the window is over after them.
        """
        positions, kinds, numbers = columns
        events = QueueEvents(positions >> BITS, kinds, numbers)
        if is_last:
            over = zip(events, (self._clock.end, codes.OVER, 0), strict=True)
            events = QueueEvents(*(np.concatenate((column, [last])) for column, last in over))
        runs = self._play(events)
        if is_last:
            runs = np.concatenate((runs, self._open))
        if len(runs):
            yield self._columns_of(runs)
        if is_last:
            begins = self._state.waiting.values()
            self._totals.waits_without_end = sum(begun < self._clock.start for begun in begins)
            yield {"ordinal": [0], **{name: [value] for name, value in asdict(self._totals).items()}}

    def _play(self, played: QueueEvents) -> Checks:
        """Play events, and return the runs of checks that have ended, in order."""
        now = np.maximum(played.times, self._now)
        before = np.concatenate(([self._now], now[:-1]))
        states = self._state.play(played)
        self._find_most_ready(states.ready[:-1], before, now)
        self._now = int(now[-1])
        return self._combine(self._decide(find_checks(played, states, before, now, self._clock)))

    def _columns_of(self, runs: Checks) -> Columns:
        """The columns of `RUN`, with the ordinals of the runs."""
        columns = {name: runs[name].tolist() for name in CHECKS.names or () if name in RUN}
        columns["occurs"] = (runs["suppressed_by"] == OCCURS).tolist()
        for name, texts in NAMES.items():
            columns[name] = [texts[number] for number in columns[name]]
        before, self._runs = self._runs, self._runs + len(runs)
        return {"ordinal": range(before + 1, self._runs + 1), **columns}

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

    def _combine(self, checks: Checks) -> Checks:
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


def replay_monitors(timeline: DataFrame, monitors: Sequence[Monitor], clock: Clock) -> DataFrame:
    """Replay the queues, each in one task, with memory for a batch and not for a queue.

    Args:
        timeline: see `pipelines.activation.timeline`.
        monitors: the monitors by number: `monitors[n].number` is n.
        clock: the window.

    Returns:
        queue_number and `RESULTS`, of queues with any event. No order.
    """
    by_number = list(monitors)

    def begin(number: int) -> MonitorReplay:
        return MonitorReplay(by_number[number], clock)

    return run_queues(timeline, codes.PLAYED, codes.ORDER, begin, RESULTS, in_numpy=True)
