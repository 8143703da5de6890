"""How a queue stands before, between and after what happens on it, in columns."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pipelines.activation import event_codes as codes

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

LONG_AGO = -(2**62)
"""Stands for the time of an empty result that never was."""

CHANGES = np.zeros(codes.KINDS, np.int64)
"""By kind: whether its messages become ready (1), or are ready no more (-1)."""
CHANGES[[codes.ARRIVAL, codes.GIVEN_BACK, codes.READY_BEFORE]] = 1
CHANGES[codes.TAKEN] = -1


class QueueEvents(NamedTuple):
    """Some of what happens on a queue, in order: times in microseconds, kinds, and sessions or counts."""

    times: Numbers
    kinds: Numbers
    numbers: Numbers


class States(NamedTuple):
    """The states of a queue: one before the first happening, and one after each.

    Attributes:
        ready: ready messages.
        tasks: running tasks.
        waiting: sessions that wait in a statement without WHERE.
        last_empty: when a statement last came back empty; LONG_AGO if none has.
        is_on: whether the queue is on.
    """

    ready: Numbers
    tasks: Numbers
    waiting: Numbers
    last_empty: Numbers
    is_on: Flags


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
        takes: ready messages that went: received, or their endpoint ended.
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
    takes: int = 0
    exits: int = 0
    exits_with_ready: int = 0
    exits_without_start: int = 0
    waits_without_start: int = 0
    waits_without_end: int = 0


@dataclass
class Standing:
    """How the queue stands now, and the totals so far; it keeps sessions that wait or run, and no message.

    Attributes:
        start: start of the window; what happens before it counts toward no total.
        totals: `ready`, `is_on` and `off_since` are those of now.
    """

    start: int
    totals: Totals
    last_empty: int = LONG_AGO
    tasks: set[int] = field(default_factory=set)
    waiting: dict[int, int] = field(default_factory=dict)

    def play(self, played: QueueEvents) -> States:
        """Go on to how the queue stands after these happenings, and say how it stood on the way."""
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
        """A wait, a task, or the queue turned on or off; return tasks, waiting sessions, and on or off."""
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


def _lasting(first: int, places: Numbers, values: Numbers, count: int) -> Numbers:
    """A column of states: `first`, and after the happening at each place its value, until the next one."""
    if not len(places):
        return np.full(count + 1, first, np.int64)
    begins = np.concatenate(([0], places + 1, [count + 1]))
    return np.repeat(np.concatenate(([first], values)), np.diff(begins))
