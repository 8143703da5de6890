"""Names as numbers: a column of names is one of codes until it is written."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from dev.generator.frame import Array

NO_NAME = -1
"""The code of null."""


class Names:
    """Names and their codes; a name gets its code at the first use."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, name: str | None) -> int:
        """The code of a name."""
        return NO_NAME if name is None else self._codes.setdefault(name, len(self._codes))

    def codes(self, names: Iterable[str | None]) -> Array:
        """The codes of names."""
        return np.array([self.code(name) for name in names], dtype=np.int32)

    def column(self, codes: Array) -> pa.DictionaryArray:
        """The names of codes, with no other in the dictionary."""
        known = codes != NO_NAME
        used = np.flatnonzero(np.bincount(codes[known], minlength=len(self._codes)))
        short = np.zeros(len(self._codes) + 1, dtype=np.int32)
        short[used] = np.arange(len(used))
        names = list(self._codes)
        return pa.DictionaryArray.from_arrays(
            pa.array(short[codes], mask=None if known.all() else ~known),
            pa.array([names[code] for code in used], pa.string()),
        )
