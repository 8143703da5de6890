"""Columns of many rows as numpy arrays, and what stands for null in them."""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]

NEVER = 2**62
"""A moment that never comes, and any other number that is null: later than all others, also after some
adding and taking away, so that most comparisons with it need no case of their own."""


def comes(moment: Array) -> Array:
    """Whether a moment exists, or a number is not null."""
    return moment < NEVER // 2


class Frame:
    """Columns of the same length by name; those that it has not itself are looked up in a parent's rows.

    The parent of a message's frame is its conversation's, and the parent of that is its kind's: a column
    that is never read is never copied. A column of ids is a pair of numbers per row, see `ids.py`.
    """

    def __init__(
        self, columns: Mapping[str, Array], *, parent: "Frame | None" = None, of: Array | None = None
    ) -> None:
        """Hold columns; row i of the frame belongs to row of[i] of its parent."""
        self._own = dict(columns)
        self._seen: dict[str, Array] = {}
        self._parent, self._of = parent, of

    def __len__(self) -> int:
        return len(self._of if self._of is not None else next(iter(self._own.values())))

    def __getitem__(self, name: str) -> Array:
        if name in self._own:
            return self._own[name]
        if name not in self._seen:
            if self._parent is None or self._of is None:
                raise KeyError(name)
            self._seen[name] = self._parent[name][self._of]
        return self._seen[name]

    def __setitem__(self, name: str, column: Array) -> None:
        self._own[name] = column

    def children(self, of: Array, **columns: Array) -> "Frame":
        """Rows that belong to rows of this frame, with columns of their own."""
        return Frame(columns, parent=self, of=of)

    def take(self, rows: Array) -> "Frame":
        """Some of the rows, in that order."""
        own = {name: column[rows] for name, column in self._own.items()}
        return Frame(own, parent=self._parent, of=None if self._of is None else self._of[rows])
