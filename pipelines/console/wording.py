"""Write rules, endpoints, queues, ids and counts as words of a message."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from pipelines.blocks.tables import AtLeast, Id
from pipelines.config.queue_filter import queue_text
from pipelines.rules.history import RuleVersion
from pipelines.rules.statements import DEFAULT_LEVEL
from schemas.keys import QUEUE

MILLISECONDS = 1000
"""A second."""
MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MINUS = "\u2212"
LIST_LENGTH = 3
"""Items of a list that are named before the rest is counted."""


def format_criteria(names: Sequence[str | None]) -> str:
    """Write what a rule asks for."""
    contract, local, remote = ("ANY" if name is None else repr(name) for name in names)
    return f"contract {contract}, local service {local}, remote service {remote}"


def format_endpoint(names: Sequence[str | None]) -> str:
    """Write an endpoint; a name of None is one that no rule mentions, an empty one is not known."""
    contract, local, remote = (
        "any other" if name is None else repr(name) if name else "not known" for name in names
    )
    return f"contract {contract}, local service {local}, remote service {remote}"


def format_level(rule: RuleVersion | None) -> str:
    """Write the level that a rule gives, and its name; None is the default."""
    if rule is None:
        return f"{DEFAULT_LEVEL}, the default"
    return f"{rule.level} from {rule.name!r}"


def format_list(words: Sequence[str], total: int | None = None) -> str:
    """Write the first of some words and count the rest: a, b, c and 4 more."""
    shown, more = list(words[:LIST_LENGTH]), (len(words) if total is None else total) - LIST_LENGTH
    if more > 0:
        return f"{', '.join(shown)} and {more:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def format_count(count: int, thing: str) -> str:
    """Write how many there are: 1 conversation, 2,000 conversations."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def count_unmatched(count: int, thing: str = "message") -> str:
    """Write how many messages are in no schedule: 3 messages are not matched to a queue."""
    return f"{format_count(count, thing)} {'is' if count == 1 else 'are'} not matched to a queue"


def format_age(age: timedelta) -> str:
    """Write an age in its largest unit, rounded down: 75 min, 16 h, 9 days. One of a unit is too coarse."""
    if age < timedelta(hours=2):
        return f"{age // timedelta(minutes=1)} min"
    if age < timedelta(days=2):
        return f"{age // timedelta(hours=1)} h"
    return f"{age.days:,} days"


def format_number(value: float) -> str:
    """Write a number with commas and at most three decimals."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}".rstrip("0").rstrip(".")


def format_code(code: str) -> str:
    """Write a code of the tables, such as group_locked, as words."""
    return code.replace("_", " ")


def format_percent(share: float) -> str:
    """Write a share, cut off after one decimal, so that only a whole one is 100%."""
    written = f"{math.floor(share * 1000) / 10:,.1f}"
    return f"{written.removesuffix('.0')}%"


def format_duration(seconds: float) -> str:
    """Write seconds in the two largest units, without the second one if there are none of it."""
    if seconds < 0:
        return f"{MINUS}{format_duration(-seconds)}"
    whole = math.floor(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return _in_units(whole, MINUTE, "min", 1, "s")
    if whole < 2 * DAY:
        return _in_units(whole, HOUR, "h", MINUTE, "min")
    return _in_units(whole, DAY, "d", HOUR, "h")


def _in_units(seconds: int, large: int, its_name: str, small: int, name: str) -> str:
    rest = seconds % large // small
    return f"{seconds // large} {its_name}" + (f" {rest} {name}" if rest else "")


def format_wait(seconds: float | AtLeast) -> str:
    """Write a duration as `format_duration`, one below a second in whole milliseconds."""
    if isinstance(seconds, AtLeast):
        return f"at least {format_wait(seconds.seconds)}"
    if seconds < 0:
        return f"{MINUS}{format_wait(-seconds)}"
    if 0 < seconds < 1:
        return f"{math.floor(seconds * MILLISECONDS + 0.5)} ms"
    return format_duration(seconds)


def finding_lines(finding: Mapping[str, Any], lead: str = "", *, has_command: bool = False) -> Iterator[str]:
    """Write a finding: what holds, what to do, and with has_command the command that shows more."""
    yield f"- {lead}{finding['sentence']}."
    yield f"  To do: {finding['action']}"
    if has_command:
        yield f"  More: {finding['command']}"


FORMATS: Mapping[str, Callable[[Any], str]] = {
    "word": format_code,
    "level": str,
    "count": format_number,
    "share": format_percent,
    "duration": format_wait,
}
"""How figures and words of a column are written, by the kind of the column."""


def format_queue(row: Mapping[str, Any]) -> str:
    """Write the queue of a row: INSTANCE.DATABASE.QUEUE, as --queue of every job takes it."""
    return queue_text([row[name] for name in QUEUE])


def format_database(place: tuple[str, str]) -> str:
    """Write instance and database; either is empty where a script is read that names none."""
    return queue_text([part for part in place if part]) or "the database"


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
