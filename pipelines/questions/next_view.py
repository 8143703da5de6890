"""What comes next as text on a terminal."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rich.console import Console

from pipelines.activation.queues_off import off_sentence
from pipelines.config.instants import format_instant
from pipelines.console.terminal import cell, print_rows, table, terminal
from pipelines.console.wording import queue_name

Row = dict[str, Any]
SENT = ("position", "transmit_priority", "what", "to", "sendable_at", "message_id")


def print_next(found: Row) -> None:
    """Print what comes next to standard output: of a queue RECEIVE by RECEIVE."""
    console = terminal()
    at = format_instant(found["as_of"])
    if "queue" not in found:
        title = f"Sent next at {at}: {found['instance']}"
        if found["next"]:
            print_sent(console, title, found["next"])
        else:
            console.print(f"{title}: {_nothing(found, 'sent')}", soft_wrap=True)
        for row in found.get("queues_off", ()):
            console.print(f"{queue_name(row)}: {off_sentence(row)}", soft_wrap=True)
        return
    title = f"Received next at {at}: {queue_name(found)}"
    if found["next"]:
        print_received(console, title, found["next"])
    else:
        console.print(f"{title}: {_nothing(found, 'received')}", soft_wrap=True)
    for state, messages in found["held_back"].items():
        console.print(f"{messages:,} more held back: {state}")
    if found.get("queue_off"):
        console.print(f"{queue_name(found)}: {off_sentence(found['queue_off'])}", soft_wrap=True)


def _nothing(found: Row, done: str) -> str:
    """Say that nothing waits, or that all that waits is held back."""
    is_held = found["held_back"] or found.get("queue_off")
    return f"nothing can be {done}" if is_held else "nothing waits there"


def print_received(console: Console, title: str, rows: Iterable[Row]) -> None:
    """Print what `next_received` found: of each RECEIVE the group, its conversations and their messages."""
    grid = table("position", "what", "level", "arrived_at", "id")
    for number, of_receive in groupby(rows, itemgetter("receive_number")):
        for cells in _receive(number, list(of_receive)):
            grid.add_row(*map(cell, cells))
        grid.add_section()
    console.print(title, style="bold", soft_wrap=True)
    console.print(grid)


def print_sent(console: Console, title: str, rows: Iterable[Row]) -> None:
    """Print what `next_transmitted` found, and below it what the server says of these messages."""
    shown = list(rows)
    print_rows(console, title, map(_sent, shown), SENT)
    for row in shown:
        if row.get("why_still_here"):
            text = f"position {row['position']}, the server says: {row['why_still_here']}"
            console.print(text, soft_wrap=True)


def _receive(number: int, rows: Sequence[Row]) -> Iterator[tuple[object, ...]]:
    yield f"RECEIVE {number}", "group", rows[0]["group_priority"], None, rows[0]["conversation_group_id"]
    for (conversation, level), messages in groupby(rows, itemgetter("conversation_id", "priority")):
        decides = ", decides" if conversation == rows[0]["deciding_conversation_id"] else ""
        yield None, f"conversation{decides}", level, None, conversation
        for row in messages:
            yield row["position"], _what(row), None, row["arrived_at"], row["message_id"]


def _sent(row: Row) -> Row:
    raised = f", raised from {row['priority']}" if row["elevated"] else ""
    forwarded = ", forwarded" if row["forwarded"] else ""
    block = "" if row["block"] is None else f", block {row['block']}"
    to = [row["destination_instance"], row["destination_database"], row["to_service"]]
    return {
        **row,
        "what": f"{_what(row)}{raised}{forwarded}{block}",
        "to": ".".join(name for name in to if name is not None),
    }


def _what(row: Row) -> str:
    number = row["message_sequence_number"]
    return f"{row['message_type']}, " + ("unsequenced" if number is None else f"number {number}")
