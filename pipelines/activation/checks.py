"""The checks of a queue monitor, in columns: when it looks, and whether it finds that a reader is needed.

Source: the design, "Activation"; the conditions are those of the vendor's "Understanding When Activation
Occurs".
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from pipelines.activation import event_codes as codes
from pipelines.activation.states import Numbers, QueueEvents, States

ON_EMPTY_QUEUE, FALLING_BEHIND, NOT_NECESSARY = 0, 1, 2
REASONS = ("arrival_on_empty_queue", "readers_falling_behind")
OCCURS, MAX_QUEUE_READERS, NOTIFICATION_PENDING = 0, 1, 2
SUPPRESSED_BY = (None, "max_queue_readers", "notification_pending")
TRIGGERS = ("arrival", "receive", "rollback", "task_exit", "queue_altered", "timer")
NONE, TIMER = -1, TRIGGERS.index("timer")

TRIGGERED = np.full(codes.KINDS, NONE)
"""By kind: what it triggers."""
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
"""A row: checks that follow each other and find the same; of those that find no need the first is there.

`is_receive`: a RECEIVE triggered it. `until`: the next check after them; set where a run has ended.
"""
Checks = npt.NDArray[Any]

Moments = TypeVar("Moments", int, Numbers)


@dataclass(frozen=True)
class Clock:
    """The window [start, end) with the timer's period and the age at which an empty result counts no more."""

    start: int
    end: int
    check: int
    empty: int

    def at_or_after(self, moments: Moments) -> Moments:
        """The first tick of the timer at each moment or after it: ticks are multiples since the epoch."""
        return -(-moments // self.check) * self.check


def checks_of(played: QueueEvents, states: States, before: Numbers, now: Numbers, clock: Clock) -> Checks:
    """The checks at happenings and those of the timer before each of them; none is suppressed yet.

    Between two happenings nothing changes but the clock, so the timer's checks there are counted and not
    looked at one by one: first those at which an empty result is recent, then the others.

    Args:
        played: what happens.
        states: how the queue stands on the way.
        before: what the clock showed before each happening; the start of the window before that.
        now: what it shows at the happening.
        clock: the window.

    Returns:
        In order.
    """
    could_read = (states.ready > 0) & (states.waiting == 0) & states.is_on
    behind_from = np.where(could_read, states.last_empty + clock.empty, NEVER)

    first, end = clock.at_or_after(before), clock.at_or_after(now)
    needed = np.clip(clock.at_or_after(behind_from[:-1]), first, end)

    trigger = TRIGGERED[played.kinds]
    # An exit is a reason to look when it was the last task's.
    looks = (trigger != NONE) & (played.times >= clock.start)
    looks &= (played.kinds != codes.TASK_EXITED) | (states.tasks[1:] == 0)
    on_empty_queue = (played.kinds == codes.ARRIVAL) & (states.ready[:-1] == 0) & (states.tasks[1:] == 0)
    on_empty_queue &= states.is_on[1:]
    reason = np.where(behind_from[1:] <= played.times, FALLING_BEHIND, NOT_NECESSARY)
    reason[on_empty_queue] = ON_EMPTY_QUEUE

    # Of each happening: the timer in vain, the timer with need, and the check that the happening triggers.
    there = np.flatnonzero(np.stack([needed > first, needed < end, looks], axis=1))
    place, which = np.divmod(there, 3)
    is_own = which == 2
    found = np.zeros(len(there), CHECKS)
    found["first_check"] = np.choose(which, (first[place], needed[place], played.times[place]))
    found["last_check"] = np.where(which == 1, end[place] - clock.check, found["first_check"])
    found["checks"] = (found["last_check"] - found["first_check"]) // clock.check + 1
    found["trigger"] = np.where(is_own, trigger[place], TIMER)
    found["reason"] = np.where(is_own, reason[place], np.where(which == 1, FALLING_BEHIND, NOT_NECESSARY))
    found["ready_messages"] = states.ready[place + is_own]
    found["running_tasks"] = states.tasks[place + is_own]
    found["is_receive"] = is_own & (trigger[place] == TRIGGERED[codes.RECEIVE])
    return found
