"""Print why messages wait."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.console.tables import print_rows
from pipelines.console.terminal import open_console
from pipelines.console.wording import format_count, format_list
from pipelines.why.codes import DETAILS

MINUTE, HOUR, DAY = 60, 3600, 86400
KINDS_NAMED = 3
Row = Mapping[str, Any]


def print_why(answer: Row, *, wide: bool = False) -> None:
    """Print the answer place by place: the situation, then each cause with what to do and its details."""
    console = open_console(wide=wide)
    for line in tell_why(answer):
        console.print(line.text, style=line.style, soft_wrap=True)
        if line.details:
            print_rows(console, "", line.details, [*DETAILS[line.code], "messages"])


class Line:
    """A line of the answer, with the details of the cause that it tells."""

    def __init__(self, text: str, style: str = "", code: str = "", details: Sequence[Row] = ()) -> None:
        self.text, self.style, self.code, self.details = text, style, code, details


def tell_why(answer: Row) -> Iterator[Line]:
    """The lines of the answer."""
    at = format_instant(answer["as_of"])
    if not answer["places"]:
        yield Line(f"No open message fits at {at}.")
        return
    for place in answer["places"]:
        yield Line(format_place(place), "bold")
        yield Line(situation_sentence(place, answer["as_of"]))
        for cause in place["causes"]:
            yield Line(f"- {cause['sentence']}.")
            yield Line(f"  To do: {cause['action']}")
            yield Line(f"  More: {cause['command']}")
        yield Line("")


def format_place(place: Row) -> str:
    """A place as people call it."""
    if place["kind"] == "receive":
        return f"Queue {queue_text([place['instance'], place['database'], place['queue']])}"
    if place["kind"] == "transmission":
        return f"To be sent by {place['instance']}"
    return "Messages that can't be placed"


def situation_sentence(place: Row, as_of: datetime) -> str:
    """How many messages wait, of what, how long, at which levels, and what is ahead of them."""
    found = place["situation"]
    kinds = format_list([_kind(row) for row in found["kinds"][:KINDS_NAMED]], len(found["kinds"]))
    verb = "waits" if found["messages"] == 1 else "wait"
    levels = ", ".join(f"{row['messages']:,} at level {row['level']}" for row in found["levels"])
    parts = [
        f"{format_count(found['messages'], 'message')} of "
        f"{format_count(found['conversations'], 'conversation')} {verb} at {format_instant(as_of)}: {kinds}.",
        f"The oldest has waited {format_seconds(found['oldest_seconds'])}, and 95 of 100 at most "
        f"{format_seconds(found['p95_seconds'])}.",
    ]
    if levels:
        parts.append(f"Levels: {levels}.")
    parts += _ahead(found["ahead"])
    return " ".join(parts)


def format_seconds(seconds: float | None) -> str:
    """A duration in its two largest units."""
    if seconds is None:
        return "an unknown time"
    whole = int(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{format_count(whole // DAY, 'day')} {whole % DAY // HOUR} h"


def _kind(row: Row) -> str:
    names = [row[name] or "unknown" for name in ("contract", "local_service", "remote_service")]
    return f"{row['messages']:,} of contract {names[0]} from {names[2]} to {names[1]}"


def _ahead(ahead: Row | None) -> Iterable[str]:
    if ahead is None:
        return
    for which, name in (("first", "the first"), ("median", "the median one")):
        found = ahead[which]
        if found["messages"]:
            receives = (
                "" if found["receives"] is None else f" in {format_count(found['receives'], 'RECEIVE')}"
            )
            of = format_list([_kind(row) for row in found["kinds"][:KINDS_NAMED]], len(found["kinds"]))
            yield (
                f"Ahead of {name} {'is' if found['messages'] == 1 else 'are'} "
                f"{format_count(found['messages'], 'message')}{receives}: {of}."
            )
