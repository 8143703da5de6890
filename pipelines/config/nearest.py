"""Find the known name that an unknown one was probably meant to be."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher, get_close_matches
from itertools import pairwise

CLOSE_ENOUGH = 0.8
"""The least likeness (0 to 1) at which `NearestNames` offers a name: one slip in a name of six
characters passes, another word does not."""
LIKE_ENOUGH = 0.6
"""The same for a word of the settings or the command line, where a wrong offer does no harm."""

_SHOWN = 12
"""Choices that a message lists."""
_RAREST = 8
_TRIED = 20


def suggest_nearest(word: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'?", whatever its case, or the first choices if none is close to the word."""
    choices = list(dict.fromkeys(known))
    if close := nearest(word, choices):
        return f"did you mean {close!r}?"
    if not choices:
        return "there is none to choose from"
    more = f" ({len(choices)} in all)" if len(choices) > _SHOWN else ""
    return f"write one of {', '.join(choices[:_SHOWN])}{more}"


def nearest(word: str, known: Iterable[str], *, cutoff: float = LIKE_ENOUGH) -> str | None:
    """Return the choice that is closest to a word, whatever its case; None if none is close."""
    choices = list(dict.fromkeys(known))
    by_letters = {choice.casefold(): choice for choice in reversed(choices)}
    alike = get_close_matches(word.casefold(), by_letters, n=1, cutoff=cutoff)
    close = get_close_matches(word, choices, n=1, cutoff=cutoff) or [by_letters[each] for each in alike]
    return close[0] if close else None


class NearestNames:
    """The names that are known, and the one of them that looks most like another name.

    difflib compares two names slowly, so it sees only those that share some rare pair of
    neighbouring characters with the name in question. A slip of the hand changes three pairs at most.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Take the known names."""
        self._names = sorted(set(names))
        self._having: dict[str, list[str]] = {}
        self._alike: dict[str, list[str]] = {}
        for name in self._names:
            for pair in _pairs(name):
                self._having.setdefault(pair, []).append(name)
            self._alike.setdefault(loosely(name), []).append(name)
        self._found: dict[str, str | None] = {}

    def same_but_spelling(self, name: str) -> str | None:
        """Return a known name that differs by case, blanks or Unicode form only, the first by code points."""
        return next((other for other in self._alike.get(loosely(name), ()) if other != name), None)

    def nearest(self, name: str) -> str | None:
        """Return the most similar known name, of equals the first by code points; None if none is close."""
        if name not in self._found:
            self._found[name] = self._nearest(name)
        return self._found[name]

    def _nearest(self, name: str) -> str | None:
        rare = sorted((pair for pair in _pairs(name) if pair in self._having), key=self._commonness)
        shared = Counter(other for pair in rare[:_RAREST] for other in self._having[pair])
        tried = sorted(shared, key=lambda other: (-shared[other], abs(len(other) - len(name)), other))[
            :_TRIED
        ]
        matcher = SequenceMatcher(autojunk=False)
        matcher.set_seq2(name)
        best: tuple[float, str] | None = None
        for other in sorted(tried):
            matcher.set_seq1(other)
            ratio = matcher.ratio()
            if other != name and ratio >= CLOSE_ENOUGH and (best is None or ratio > best[0]):
                best = ratio, other
        return best and best[1]

    def _commonness(self, pair: str) -> tuple[int, str]:
        return len(self._having[pair]), pair


def loosely(name: str) -> str:
    """Return what is left of a name without its case, its blanks and its Unicode form."""
    without_blanks = "".join(unicodedata.normalize("NFKC", name).split())
    return unicodedata.normalize("NFKC", without_blanks.casefold())


def differences(name: str, other: str) -> list[str]:
    """Say in what two names differ that are loosely the same: case, blanks, Unicode form."""
    views: dict[str, Callable[[str], str]] = {
        "case": str.casefold,
        "blanks": lambda text: "".join(text.split()),
        "Unicode form": lambda text: unicodedata.normalize("NFKC", text),
    }
    needed = []
    for label in views:
        one, two = name, other
        for view in [view for other_label, view in views.items() if other_label != label]:
            one, two = view(one), view(two)
        if one != two:
            needed.append(label)
    return needed or list(views)


def _pairs(name: str) -> set[str]:
    return {one + two for one, two in pairwise(f"\0{name}\0")}
