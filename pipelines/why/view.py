"""Print why messages wait."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.console.terminal import open_console
from pipelines.console.wording import finding_lines, format_count, format_duration, format_list
from pipelines.why.causes.cause import ORDER, STOPPED, format_names

KINDS_NAMED = 3
Row = Mapping[str, Any]


def print_why(answer: Row) -> None:
    """Print the answer place by place: the situation, then each cause with what to do and where to look."""
    console = open_console()

    def tell(cause: Row) -> None:
        for line in finding_lines(cause, has_command=True):
            console.write_line(line)

    if not answer["places"]:
        console.write_line(f"No open message fits at {format_instant(answer['as_of'])}.")
    for caveat in answer["caveats"]:
        console.write_line(f"{caveat[0].upper()}{caveat[1:]}.")
    for finding in answer["findings"]:
        if finding["kind"] == "receive" and (finding["queue"] is None or not finding["messages"]):
            console.write_line(format_place(finding), "bold")
            tell(finding)
            console.print()
    for place in answer["places"]:
        console.write_line(format_place(place), "bold")
        console.write_line(situation_sentence(place, answer["as_of"]))
        for cause in _shown_causes(place):
            tell(cause)
        console.print()


def _shown_causes(place: Row) -> list[Row]:
    """The causes, without those of the order where something stops all messages."""
    causes, messages = list(place["causes"]), place["situation"]["messages"]
    if any(cause["severity"] == STOPPED and cause["messages"] == messages for cause in causes):
        return [cause for cause in causes if cause["severity"] != ORDER]
    return causes


def format_place(place: Row) -> str:
    """A place as people call it."""
    if place["kind"] == "receive" and place["queue"] is None:
        return f"Database {queue_text([place['instance'], place['database']])}"
    if place["kind"] == "receive":
        return f"Queue {queue_text([place['instance'], place['database'], place['queue']])}"
    if place["kind"] == "transmission":
        return f"To be sent by {place['instance']}"
    return "Messages without a queue"


def situation_sentence(place: Row, as_of: datetime) -> str:
    """How many messages wait, of what, how long, at which levels, and what is ahead of them."""
    found = place["situation"]
    kinds = format_list([_kind(row, place) for row in found["kinds"][:KINDS_NAMED]], len(found["kinds"]))
    verb = "waits" if found["messages"] == 1 else "wait"
    levels = ", ".join(f"{row['messages']:,} at level {row['level']}" for row in found["levels"])
    parts = [
        f"{format_count(found['messages'], 'message')} of "
        f"{format_count(found['conversations'], 'conversation')} {verb} at {format_instant(as_of)}: {kinds}.",
        f"The oldest has waited {format_duration(found['oldest_seconds'])}, and 95 of 100 at most "
        f"{format_duration(found['p95_seconds'])}.",
    ]
    if levels:
        parts.append(f"Levels: {levels}.")
    parts += _ahead(found["ahead"], place)
    return " ".join(parts)


def _kind(row: Row, place: Row) -> str:
    return f"{row['messages']:,} of contract {format_names(row, place['kind'])}"


def _ahead(ahead: Row | None, place: Row) -> Iterable[str]:
    if ahead is None:
        return
    for which, name in (("first", "the first"), ("median", "the median one")):
        found = ahead[which]
        if found["messages"]:
            receives = {None: "", 0: " in the same RECEIVE"}.get(
                found["receives"], f" in {format_count(found['receives'] or 0, 'RECEIVE')}"
            )
            kinds = [_kind(row, place) for row in found["kinds"][:KINDS_NAMED]]
            of = format_list(kinds, len(found["kinds"]))
            yield (
                f"Ahead of {name} {'is' if found['messages'] == 1 else 'are'} "
                f"{format_count(found['messages'], 'message')}{receives}: {of}."
            )
