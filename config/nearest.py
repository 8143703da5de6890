"""What to write instead of a word that is not known."""

from collections.abc import Iterable
from difflib import get_close_matches

_SHOWN = 12


def instead(word: str, known: Iterable[str]) -> str:
    """Return "did you mean 'x'?", or the first choices if none of them is close to the word."""
    choices = list(dict.fromkeys(known))
    close = get_close_matches(word, choices, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    if not choices:
        return "there is none to choose from"
    more = f" ({len(choices)} in all)" if len(choices) > _SHOWN else ""
    return f"write one of {', '.join(choices[:_SHOWN])}{more}"
