"""Explanations as text on a terminal."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime
from typing import TypeAlias

from pipelines.blocks.tables import Column, Table, column
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal, open_console
from pipelines.console.wording import finding_lines, format_count
from pipelines.explain.endpoint_view import NOT_KNOWN, print_endpoint
from pipelines.explain.explanations import Conversation, Message
from pipelines.explain.message_state import HELD, describe_missing
from pipelines.explain.positions import AheadCount, Group, ReceivePosition, TransmissionPosition

UNKNOWN_SIDE = "a side that is not known"
CONVERSATIONS = Table(
    "conversations",
    "",
    [
        column("Conversation", "id", "conversation_id"),
        column("Endpoint", "text", "side"),
        column("Level", "level", "priority"),
        column("Ready messages", "count", "messages"),
        column("Oldest arrival", "moment", "oldest_arrival"),
        Column(
            "Decides",
            "text",
            lambda row: "gives the group its level" if row["decides"] else None,
            ("decides",),
        ),
    ],
)
"""The conversations of a group."""
Explanation: TypeAlias = Conversation | Message | tuple[Group, ...]


def print_explanation(found: Explanation, as_of: datetime, *, wide: bool = False) -> None:
    """Print an explanation to standard output."""
    console = open_console(wide=wide)
    if isinstance(found, Conversation):
        print_conversation(console, found)
    elif isinstance(found, Message):
        print_message(console, found)
    else:
        print_groups(console, found, as_of)


def print_conversation(console: Terminal, found: Conversation) -> None:
    """Print both endpoints with their steps, and the groups that have ready messages."""
    console.write_line(f"Conversation {found.conversation_id} at {format_instant(found.as_of)}")
    for finding in found.findings:
        for line in finding_lines(finding):
            console.write_line(line)
    for endpoint in found.endpoints:
        print_endpoint(console, endpoint)
    if len(found.endpoints) == 1:
        other = "target" if found.endpoints[0].is_initiator else "initiator"
        if found.endpoints[0].side_known is False:
            other = "other"
        console.print()
        console.write_line(f"The {other} endpoint is not known: no event created it, and none lets infer it.")
    for group in found.groups:
        _print_group(
            console, group, sides_known=all(each.side_known is not False for each in found.endpoints)
        )
    if not found.groups:
        console.print()
        console.write_line("Neither endpoint has ready messages in a queue at as_of.")


def print_message(console: Terminal, found: Message) -> None:
    """Print where a message stands, what is ahead of it, and the endpoint whose level decides."""
    number = (
        "unsequenced" if found.message_sequence_number is None else f"number {found.message_sequence_number}"
    )
    direction = "the initiator to the target" if found.sent_by_initiator else "the target to the initiator"
    is_unknown = "handle_unknown" in found.missing.values()
    if is_unknown or any(endpoint.side_known is False for endpoint in found.endpoints):
        direction = UNKNOWN_SIDE
    console.write_line(f"Message {found.message_id} at {format_instant(found.as_of)}")
    console.write_line(
        f"{found.message_type}, {number} of conversation {found.conversation_id}, from {direction}; "
        f"sent {_format_time(found.sent_at)}, arrived {_format_time(found.arrived_at)}."
    )
    console.write_line(found.state)
    if found.rolled_back is not None:
        back = found.rolled_back
        console.write_line(
            f"It was received and rolled back {format_count(back['rollbacks'], 'time')}, last at "
            f"{_format_time(back['last_received_at'])} in transaction {back['last_transaction_id']}."
        )
    if found.receive is not None:
        _print_receive(console, found.receive)
    for place in found.transmissions:
        _print_transmission(console, place)
    for kind, reason in found.missing.items():
        said = describe_missing(kind, reason)
        if said not in found.state:
            console.print()
            console.write_line(f"It is {said}.")
    if found.group is not None:
        _print_group(console, found.group, sides_known=direction != UNKNOWN_SIDE)
    for endpoint in found.endpoints:
        print_endpoint(console, endpoint)


def print_groups(console: Terminal, found: Iterable[Group], as_of: datetime) -> None:
    """Print a group's level and place in each queue."""
    for group in found:
        console.write_line(f"Group {group.conversation_group_id} at {format_instant(as_of)}")
        _print_group(console, group)


def _print_group(console: Terminal, group: Group, *, sides_known: bool = True) -> None:
    state = f"{group.state}, position {group.position} among the queue's groups"
    if group.position is None:
        state = f"{HELD[group.state]}, so it has no position"
    console.print()
    console.write_line(
        f"Group {group.conversation_group_id} in {_format_queue(group)}: level "
        f"{group.priority}, from conversation {group.deciding_conversation_id}; {state}; "
        f"{format_count(group.messages, 'ready message')} of "
        f"{format_count(group.conversations, 'conversation')}"
    )
    for period in group.was_off:
        sentence = period.sentence()
        console.write_line(f"While its messages waited, {sentence}.")
    _print_ahead(console, "groups", group.ahead)
    rows = [
        {**asdict(one), "side": ("initiator" if one.is_initiator else "target") if sides_known else NOT_KNOWN}
        for one in group.listed
    ]
    print_answer(console, CONVERSATIONS, rows)
    if group.conversations > len(group.listed):
        console.write_line(
            f"... and {format_count(group.conversations - len(group.listed), 'more conversation')}"
        )


def _format_queue(at: Group | ReceivePosition) -> str:
    return queue_text((at.instance, at.database, at.queue))


def _print_receive(console: Terminal, place: ReceivePosition) -> None:
    where = _format_queue(place)
    if place.position is None:
        console.print()
        console.write_line(f"Receive: in {where}, without a position, as {HELD[place.state]}")
        return
    console.print()
    console.write_line(
        f"Receive: position {place.position} of {where}, RECEIVE number {place.receive_number}, of a group "
        f"with level {place.group_priority} then; the receiving endpoint has {place.priority}"
    )
    _print_ahead(console, "messages", place.ahead)


def _print_transmission(console: Terminal, place: TransmissionPosition) -> None:
    target = place.destination_instance or place.destination_of or "unknown"
    shown = "no level is shown" if place.priority is None else f"level {place.priority} is shown"
    if place.waits_for is not None:
        console.print()
        console.write_line(
            f"Transmission: no position, as {place.waits_for} is off; held by {place.database}; {shown}"
        )
        _print_status(console, place)
        return
    console.print()
    console.write_line(
        f"Transmission: position {place.position} of {place.instance}, held by {place.database}, to "
        f"{target}; {shown}, {place.transmit_priority} counts: {place.reason}"
    )
    _print_status(console, place)
    _print_ahead(console, "messages", place.ahead)


def _print_status(console: Terminal, place: TransmissionPosition) -> None:
    if place.why_still_here is not None:
        console.write_line(f"Why it is still here, as the server says: {place.why_still_here}")


def _print_ahead(console: Terminal, what: str, ahead: tuple[AheadCount, ...]) -> None:
    if ahead:
        levels = ", ".join(f"{one.count} at level {one.level}" for one in ahead)
        console.write_line(f"Ahead of it: {sum(one.count for one in ahead)} {what}, {levels}.")
        console.write_line("No server promises an order between different conversations of one level.")


def _format_time(moment: datetime | None) -> str:
    return NOT_KNOWN if moment is None else format_instant(moment)
