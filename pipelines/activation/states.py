"""The states of a queue before, between and after its events, in columns."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipelines.activation import timeline as codes

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LONG_AGO = -(2**62)
"""Stands for the time of an empty result that never was."""

CHANGES = np.zeros(codes.KINDS, np.int64)
"""By code: the change of the number of ready messages."""
CHANGES[[codes.ARRIVAL, codes.REDELIVERED, codes.READY_BEFORE]] = 1
CHANGES[codes.TAKEN] = -1


class QueueEvents(NamedTuple):
    """Events of a queue, in order: times in microseconds, codes, and sessions or counts."""

    times: Numbers
    kinds: Numbers
    numbers: Numbers


class States(NamedTuple):
    """The states of a queue: one before the first event, and one after each event.

    Attributes:
        ready: ready messages.
        tasks: running tasks.
        waiting: sessions that wait in a statement without WHERE.
        last_empty: when a statement last returned no row; LONG_AGO if none has.
        is_on: whether the queue is on.
    """

    ready: Numbers
    tasks: Numbers
    waiting: Numbers
    last_empty: Numbers
    is_on: Flags


@dataclass(slots=True)
class Totals:
    """The totals of a queue in the window.

    Attributes:
        most_ready: the largest number of ready messages that lasted longer than an instant.
        most_ready_at: when it was first reached.
        is_on: whether the queue is on at the end.
        off_since: when it was turned off; null if it is on, or was off before any known QUEUE_ALTERED.
        ready: ready messages at the end.
        rollbacks: ROLLBACK events.
        receives: RECEIVE events.
        takes: ready messages that left: they were received, or their endpoint ended.
        exits: TASK_EXITED events.
        exits_with_ready: exits while messages were ready and the queue was on.
        exits_without_start: exits of a session that was not running.
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
    takes: int = 0
    exits: int = 0
    exits_with_ready: int = 0
    exits_without_start: int = 0
    waits_without_start: int = 0
    waits_without_end: int = 0


@dataclass
class QueueState:
    """The current state of a queue, and the totals so far; it keeps waiting and running sessions, no message.

    Attributes:
        start: start of the window; earlier events do not count in the totals.
        totals: `ready`, `is_on` and `off_since` are current.
    """

    start: int
    totals: Totals
    last_empty: int = LONG_AGO
    tasks: set[int] = field(default_factory=set)
    waiting: dict[int, int] = field(default_factory=dict)

    def play(self, played: QueueEvents) -> States:
        """Play events, and return the states before, between and after them."""
        totals, kinds, count = self.totals, played.kinds, len(played.kinds)
        change = np.cumsum(CHANGES[kinds] * played.numbers)
        ready = totals.ready + np.concatenate(([0], change))
        empty = np.flatnonzero((kinds == codes.EMPTY_RECEIVE) | (kinds == codes.EMPTY_GET_GROUP))
        last_empty = _lasting(self.last_empty, empty, played.times[empty], count)
        of_sessions = np.flatnonzero((kinds >= codes.WAIT_STARTED) & (kinds <= codes.TURNED_OFF))
        before = (len(self.tasks), len(self.waiting), totals.is_on)
        rows = zip(*(column[of_sessions].tolist() for column in played), strict=True)
        after = np.array([self._play_one(*row) for row in rows], np.int64).reshape(-1, len(before))
        tasks, waiting, is_on = (
            _lasting(first, of_sessions, values, count) for first, values in zip(before, after.T, strict=True)
        )
        totals.ready, self.last_empty = int(ready[-1]), int(last_empty[-1])
        states = States(ready, tasks, waiting, last_empty, is_on.astype(np.bool_))
        self._count(played, states)
        return states

    def _play_one(self, time: int, kind: int, session: int) -> tuple[int, int, bool]:
        """Play an event of a session or of the status; return tasks, waiting sessions, and the status."""
        totals, is_within = self.totals, time >= self.start
        if kind == codes.WAIT_STARTED:
            self.waiting[session] = time
        elif kind == codes.WAIT_ENDED:
            totals.waits_without_start += self.waiting.pop(session, None) is None and is_within
        elif kind == codes.TASK_STARTED:
            self.tasks.add(session)
        elif kind == codes.TASK_EXITED:
            totals.exits_without_start += session not in self.tasks and is_within
            self.tasks.discard(session)
        elif kind == codes.TURNED_ON:
            totals.is_on, totals.off_since = True, None
        else:
            totals.off_since = totals.off_since if not totals.is_on and totals.off_since else time
            totals.is_on = False
        return len(self.tasks), len(self.waiting), totals.is_on

    def _count(self, played: QueueEvents, states: States) -> None:
        totals, kinds = self.totals, played.kinds
        is_within = played.times >= self.start
        exits = is_within & (kinds == codes.TASK_EXITED)
        totals.exits += int(exits.sum())
        totals.exits_with_ready += int((exits & (states.ready[:-1] > 0) & states.is_on[:-1]).sum())
        totals.rollbacks += int((is_within & (kinds == codes.ROLLBACK)).sum())
        totals.takes += int(played.numbers[is_within & (kinds == codes.TAKEN)].sum())
        totals.receives += int(
            (is_within & ((kinds == codes.RECEIVE) | (kinds == codes.EMPTY_RECEIVE))).sum()
        )


def _lasting(first: int, positions: Numbers, values: Numbers, count: int) -> Numbers:
    """A column of states: `first`, then from the event at each position its value, until the next one."""
    if not len(positions):
        return np.full(count + 1, first, np.int64)
    begins = np.concatenate(([0], positions + 1, [count + 1]))
    return np.repeat(np.concatenate(([first], values)), np.diff(begins))
