"""Groups as they change: their level and how many hold them, from running sums over intervals."""

import numpy as np

from pipelines.queue_machine.groups import LEVELS

from .facts import Array, last_of
from .spans import Spans

HIGHEST = np.array([bits.bit_length() - 1 if bits else 0 for bits in range(1 << LEVELS)])
"""The highest level of a number that has a bit for each level."""


class States:
    """A row for each position at which a group changes, by group and position.

    Attributes:
        group, position: which group, and where it changes.
        level: of its ready messages from there on; 0 without any.
        holds: how many intervals hold it from there on.
    """

    def __init__(self, ready: Spans, held: Spans) -> None:
        """Sum up where intervals begin and end; in the end all have ended."""
        group, position, bits = _levels_that_come_and_go(ready)
        size, steps = len(group), np.repeat((1, -1), len(held.group))
        group = np.concatenate((group, held.group, held.group))
        position = np.concatenate((position, held.begins, held.ends))
        order = np.lexsort((position, group))
        bits = np.cumsum(np.concatenate((bits, np.zeros_like(steps)))[order])
        holds = np.cumsum(np.concatenate((np.zeros(size, dtype=np.int64), steps))[order])
        self.group, self.position = group[order], position[order]
        last = last_of((self.group, self.position))
        self.group, self.position = self.group[last], self.position[last]
        self.level, self.holds = HIGHEST[bits[last]], holds[last]
        self._positions = np.unique(self.position)
        self._width = len(self._positions) + 1
        self._keys = self.group * self._width + np.searchsorted(self._positions, self.position)

    def before(self, group: Array, position: Array) -> tuple[Array, Array]:
        """The level of groups, and how many hold them, before anything changes at the position."""
        if not len(self._keys):
            return np.zeros_like(group), np.zeros_like(group)
        keys = group * self._width + np.searchsorted(self._positions, position)
        row = np.searchsorted(self._keys, keys) - 1
        is_known = (row >= 0) & (self.group[row] == group)
        return np.where(is_known, self.level[row], 0), np.where(is_known, self.holds[row], 0)

    def counts(self, position: Array, *, is_held: bool) -> Array:
        """How many groups that are held, or free, there are at each level before a position: a row each."""
        level = np.where((self.holds > 0) == is_held, self.level, 0)
        # The rows of a group end with level 0, so what is before the first one is as if it was nothing.
        before = np.concatenate((np.zeros(1, dtype=np.int64), level))[:-1]
        moved = np.flatnonzero(level != before)
        moved = moved[np.argsort(self.position[moved], kind="stable")]
        level, before = level[moved], before[moved]
        row = np.searchsorted(self.position[moved], position)
        counts = np.zeros((len(position), LEVELS), dtype=np.int64)
        for each in range(1, LEVELS):
            steps = (level == each).astype(np.int64) - (before == each)
            counts[:, each] = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(steps)))[row]
        return counts


def _levels_that_come_and_go(ready: Spans) -> tuple[Array, Array, Array]:
    """Where groups get a first ready message of a level, plus its bit, and lose the last one, minus it."""
    group, level = np.tile(ready.group, 2), np.tile(ready.what, 2)
    position = np.concatenate((ready.begins, ready.ends))
    steps = np.repeat((1, -1), len(ready.group))
    order = np.lexsort((position, level, group))
    group, level, position = group[order], level[order], position[order]
    last = last_of((group, level, position))
    has = np.cumsum(steps[order])[last] > 0
    turn = np.diff(has.astype(np.int64), prepend=0)
    changes = turn != 0
    group, level, position = (each[last][changes] for each in (group, level, position))
    return group, position, turn[changes] << level
