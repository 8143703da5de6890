"""Near names: the one definition of two names of which one is probably a misspelling of the other.

Two different names are near if they are equal without blanks (U+0020) and in lower case. They are also
near if at most MOST_EDITS edits lead from one to the other, and fewer than half of the longer name's length.
The second way is closed if the suspect name is in use: Order1 and Order2 are two names, not a misspelling.
A rule's name is in use if an endpoint of its database has it in the same column, or if it is a service of the
catalog.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from itertools import pairwise

MOST_EDITS = 2
"""Inserted, deleted and substituted characters (code points) between near names; a swap counts as two."""
MOST_PAIRS = 8
"""Pairs of neighbouring characters by which names are looked up."""
ONE_EDIT = ((1, 1), (1, 0), (0, 1))
"""How many characters of the one and of the other name one edit takes away."""


class NearNames:
    """Names by their spelling, to find those near another name without a look at each."""

    def __init__(self, names: Iterable[str], in_use: Container[str] = ()) -> None:
        """Take the names, and those of them that are in use: only case and blanks make these near."""
        self._alike: dict[str, list[str]] = {}
        self._having: dict[str, list[str]] = {}
        for name in set(names):
            self._alike.setdefault(_bare(name), []).append(name)
            for pair in () if name in in_use else _pairs(name):
                self._having.setdefault(pair, []).append(name)
        self._found: dict[str, Mapping[str, int]] = {}

    def find(self, name: str) -> Mapping[str, int]:
        """Return the near names with their edits, 0 where only case and blanks differ.

        The nearest come first, equally near ones by code points. The name itself is not among them.
        """
        if name not in self._found:
            near = {other: edits for other in self._sharing(name) if (edits := _near_edits(name, other))}
            near |= dict.fromkeys(self._alike.get(_bare(name), ()), 0)
            near.pop(name, None)
            self._found[name] = dict(sorted(near.items(), key=lambda each: (each[1], each[0])))
        return self._found[name]

    def _sharing(self, name: str) -> Iterator[str]:
        """Yield all names within MOST_EDITS, and others.

        An edit changes two pairs of neighbours at most, so all but four pairs are left. Of a short name with
        few pairs one is left, as less than half of the longer name is edited. The rarest pairs lead to the
        fewest names.
        """
        rarest = sorted(_pairs(name), key=lambda pair: len(self._having.get(pair, ())))[:MOST_PAIRS]
        shared = Counter(other for pair in rarest for other in self._having.get(pair, ()))
        fewest = max(1, len(rarest) - 2 * MOST_EDITS)
        for other, pairs in shared.items():
            if pairs >= fewest and abs(len(other) - len(name)) <= MOST_EDITS:
                yield other


def count_edits(name: str, other: str) -> int | None:
    """Return the Levenshtein distance of two names; None if it is above MOST_EDITS.

    Without their common ends, the first and the last characters of what is left differ: each end needs an
    edit, and two edits are enough if they make the rest equal.
    """
    start = _count_equal(name, other)
    one, two = name[start:], other[start:]
    end = _count_equal(one[::-1], two[::-1])
    one, two = one[: len(one) - end], two[: len(two) - end]
    longer = max(len(one), len(two))
    if longer <= MOST_EDITS:
        return longer
    for a, b in ONE_EDIT:
        for c, d in ONE_EDIT:
            if one[a : len(one) - c] == two[b : len(two) - d]:
                return MOST_EDITS
    return None


def _count_equal(name: str, other: str) -> int:
    """Count the first characters that are equal."""
    for count, (one, two) in enumerate(zip(name, other, strict=False)):
        if one != two:
            return count
    return min(len(name), len(other))


def _near_edits(name: str, other: str) -> int | None:
    """The edits between two names that are near by them, else None."""
    edits = count_edits(name, other)
    return edits if edits is not None and 2 * edits < max(len(name), len(other)) else None


def _bare(name: str) -> str:
    return name.replace(" ", "").lower()


def _pairs(name: str) -> set[str]:
    return {one + two for one, two in pairwise(f"\0{name}\0")}
