"""What a message offers in place of an unknown word."""

import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches

LIKE_ENOUGH = 0.6
"""The least likeness (0 to 1) of a word of the settings or the command line to one that is offered."""

_SHOWN = 12
"""Choices that a message lists."""


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


def loosely(name: str) -> str:
    """Return what is left of a name without its case, its blanks and its Unicode form."""
    without_blanks = "".join(unicodedata.normalize("NFKC", name).split())
    return unicodedata.normalize("NFKC", without_blanks.casefold())
