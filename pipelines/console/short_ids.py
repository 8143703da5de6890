"""Ids that are shown, and the short forms of those that stay unique."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from pipelines.blocks.tables import Id

SHORT = 8
"""Characters of a short id: what stands before the first dash of a GUID."""
MADE_UP = re.compile(rf"([0-9A-Fa-f]{{{SHORT}}})-(?:[0-9A-Fa-f]{{4}}-){{3}}[0-9A-Fa-f]{{12}}(/.*)", re.DOTALL)
"""An id that this project makes of a GUID: `GUID/target/3`."""


def shorten_each(ids: Iterable[Id]) -> dict[Id, str]:
    """Shorten the ids that stay unique among those of their kind; the others are left out."""
    of_kind: dict[str, set[str]] = defaultdict(set)
    for each in ids:
        of_kind[each.kind].add(each.text)
    return {
        Id(kind, text): short for kind, texts in of_kind.items() for text, short in shorten_ids(texts).items()
    }


def shorten_ids(ids: Iterable[str]) -> dict[str, str]:
    """Shorten ids of one kind to their first characters where these are unique; the others are left out.

    Several made-up ids of one GUID keep what follows it: `6C7CC50F/target/3`.
    """
    whole = set(ids)
    beginnings = Counter(text[:SHORT] for text in whole)
    tails = {text: f"{found[1]}{found[2]}" for text in whole if (found := MADE_UP.fullmatch(text))}
    with_tail = Counter(tails.values())
    short = {text: text[:SHORT] for text in whole if len(text) > SHORT and beginnings[text[:SHORT]] == 1}
    for text, tail in tails.items():
        if text not in short and with_tail[tail] == 1 and tail not in whole:
            short[text] = tail
    return short
