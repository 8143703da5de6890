"""The checks of a queue monitor, in columns: their times, and whether they find that a reader is needed.

The conditions are those of the vendor's page "Understanding When Activation Occurs"; see
docs/semantics.md#activation.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pipelines.activation import timeline as codes
from pipelines.activation.states import Numbers, QueueEvents, States

ON_EMPTY_QUEUE, FALLING_BEHIND, NOT_NECESSARY = 0, 1, 2
REASONS = ("arrival_on_empty_queue", "readers_falling_behind")
OCCURS, MAX_QUEUE_READERS, NOTIFICATION_PENDING = 0, 1, 2
SUPPRESSED_BY = (None, "max_queue_readers", "notification_pending")
TRIGGERS = ("arrival", "receive", "rollback", "task_exit", "queue_altered", "timer")
NONE, TIMER = -1, TRIGGERS.index("timer")

TRIGGERED = np.full(codes.KINDS, NONE)
"""The trigger by event code."""
TRIGGERED[codes.ARRIVAL] = TRIGGERS.index("arrival")
TRIGGERED[[codes.RECEIVE, codes.EMPTY_RECEIVE]] = TRIGGERS.index("receive")
TRIGGERED[codes.ROLLBACK] = TRIGGERS.index("rollback")
TRIGGERED[codes.TASK_EXITED] = TRIGGERS.index("task_exit")
TRIGGERED[[codes.TURNED_ON, codes.TURNED_OFF, codes.ALTERED]] = TRIGGERS.index("queue_altered")

NEVER = 2**62

CHECKS = np.dtype(
    [
        ("first_check", np.int64),
        ("last_check", np.int64),
        ("checks", np.int64),
        ("trigger", np.int8),
        ("reason", np.int8),
        ("suppressed_by", np.int8),
        ("ready_messages", np.int64),
        ("running_tasks", np.int64),
        ("is_receive", np.bool_),
        ("until", np.int64),
    ]
)
"""A row is a run of consecutive checks with the same result; of a run without need only the first check.

`is_receive`: a RECEIVE triggered it. `until`: the next check after the run; set once the run has ended.
"""
Checks = npt.NDArray[Any]

Moments = TypeVar("Moments", int, Numbers)


@dataclass(frozen=True)
class Clock:
    """The window [start, end), the timer's period, and the age at which an empty result stops counting."""

    start: int
    end: int
    check: int
    empty: int

    def at_or_after(self, moments: Moments) -> Moments:
        """The first tick of the timer at or after each moment; ticks are multiples of the period."""
        return -(-moments // self.check) * self.check


def find_checks(played: QueueEvents, states: States, before: Numbers, now: Numbers, clock: Clock) -> Checks:
    """Find the checks at events and those of the timer before each event; none is suppressed yet.

    Between two events only the clock changes, so the timer's checks there are counted, not listed: first
    those at which an empty result is recent, then the others.

    Args:
        played: the events.
        states: the states of the queue.
        before: the time before each event, at least the start of the window.
        now: the time of the event.
        clock: the window.

    Returns:
        In order.
    """
    could_read = (states.ready > 0) & (states.waiting == 0) & states.is_on
    behind_from = np.where(could_read, states.last_empty + clock.empty, NEVER)

    first, end = clock.at_or_after(before), clock.at_or_after(now)
    needed = np.clip(clock.at_or_after(behind_from[:-1]), first, end)

    trigger = TRIGGERED[played.kinds]
    # An exit triggers a check if it was that of the last task.
    triggers = (trigger != NONE) & (played.times >= clock.start)
    triggers &= (played.kinds != codes.TASK_EXITED) | (states.tasks[1:] == 0)
    on_empty_queue = (played.kinds == codes.ARRIVAL) & (states.ready[:-1] == 0) & (states.tasks[1:] == 0)
    on_empty_queue &= states.is_on[1:]
    reason = np.where(behind_from[1:] <= played.times, FALLING_BEHIND, NOT_NECESSARY)
    reason[on_empty_queue] = ON_EMPTY_QUEUE

    # For each event: timer checks without need, timer checks with need, and the check that it triggers.
    exists = np.flatnonzero(np.stack([needed > first, needed < end, triggers], axis=1))
    event, which = np.divmod(exists, 3)
    is_own = which == 2
    checks = np.zeros(len(exists), CHECKS)
    checks["first_check"] = np.choose(which, (first[event], needed[event], played.times[event]))
    checks["last_check"] = np.where(which == 1, end[event] - clock.check, checks["first_check"])
    checks["checks"] = (checks["last_check"] - checks["first_check"]) // clock.check + 1
    checks["trigger"] = np.where(is_own, trigger[event], TIMER)
    checks["reason"] = np.where(is_own, reason[event], np.where(which == 1, FALLING_BEHIND, NOT_NECESSARY))
    checks["ready_messages"] = states.ready[event + is_own]
    checks["running_tasks"] = states.tasks[event + is_own]
    checks["is_receive"] = is_own & (trigger[event] == TRIGGERED[codes.RECEIVE])
    return checks
