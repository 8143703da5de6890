"""The transmission schedule: one order per sending instance, message by message and block by block."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from typing import Any

from .endpoints import Endpoint, names_held
from .messages import Message, sending_order
from .rules import DEFAULT_LEVEL
from .state import State
from .vocabulary import QueueKey, Row, nulls_last, printed_name, utf8

HIGHEST_LEVEL = 10


@dataclass(frozen=True)
class Queued:
    """A message in the transmission queue of an instance: sent there, or accepted there to be forwarded."""

    message: Message
    instance: str
    queued_at: datetime
    acceptance: Row | None = None
    """The FORWARD_ACCEPTED of a message that is being forwarded."""


def transmission_schedule(state: State, *, starvation: Row | None, blocks: Row | None) -> list[Row]:
    """The table transmission_schedule."""
    queued = _sent(state) + _being_forwarded(state)
    rows = []
    for instance in sorted({item.instance for item in queued}, key=utf8):
        here = [item for item in queued if item.instance == instance]
        line = [(_row(state, item, _sendable_at(item, here), starvation), item.message) for item in here]
        line.sort(key=lambda pair: _order(pair[0]))
        if blocks is not None:
            line = _send_in_blocks(line, **blocks)
        rows += [{**row, "position": position} for position, (row, _) in enumerate(line, start=1)]
    return rows


def _sent(state: State) -> list[Queued]:
    queued = []
    for message in state.messages:
        sender = state.endpoint(message.sender)
        if sender and message.sent_at and state.waits_for_transmission(message):
            queued.append(
                Queued(message, sender.instance, message.sent_again_at(state.as_of) or message.sent_at)
            )
    return queued


def _being_forwarded(state: State) -> list[Queued]:
    return [
        Queued(message, acceptance["instance"], acceptance["event_time"], acceptance)
        for message in state.messages
        for acceptance in state.forward_acceptances(message)
    ]


def _sendable_at(item: Queued, here: list[Queued]) -> datetime:
    """The latest time of the message and those of its conversation and direction that go before it."""
    return max(
        other.queued_at
        for other in here
        if other.message.sender == item.message.sender
        and (other.acceptance is None) == (item.acceptance is None)
        and sending_order(other.message) <= sending_order(item.message)
    )


def _row(state: State, item: Queued, sendable_at: datetime, starvation: Row | None) -> Row:
    message = item.message
    sender, receiver = state.endpoint(message.sender), state.endpoint(message.receiver)
    destination = _destination(state, sender, receiver)
    off: QueueKey | None = None
    if item.acceptance:
        database = item.acceptance["database"]
        honored: bool | None = False
        transmit_priority = raised = DEFAULT_LEVEL
    else:
        assert sender is not None
        off = queue_off(state, message)
        shown = message.last_sight("SENT", state.as_of)
        database = shown["database"] if shown else off[1] if off else sender.database
        honored = state.catalog.honors_priority(item.instance, database)
        transmit_priority = DEFAULT_LEVEL if honored is False else sender.priority
        raised = _raised(transmit_priority, state.as_of - sendable_at, starvation)
    contract, from_service, to_service = names_held(sender, receiver)
    waits_since, waits_source = state.off_since(off) if off else (None, None)
    return {
        "as_of": state.as_of,
        "instance": item.instance,
        "message_id": message.message_id,
        "position": None,
        "database": database,
        "destination_instance": destination[0] if destination else None,
        "destination_database": destination[1] if destination else None,
        "conversation_id": message.conversation_id,
        "sent_by_initiator": message.sent_by_initiator,
        "from_service": from_service,
        "to_service": to_service,
        "contract": contract,
        "message_sequence_number": message.sequence_number,
        "message_type": message.message_type,
        "size_bytes": message.size_bytes,
        "priority": sender.priority if sender else None,
        "transmit_priority": raised,
        "honored": honored,
        "elevated": raised > transmit_priority,
        "forwarded": item.acceptance is not None,
        "block": None,
        "sendable_at": sendable_at,
        "waits_for": printed_name(off) if off else None,
        "waits_since": waits_since,
        "waits_source": waits_source,
    }


def _destination(
    state: State,
    sender: Endpoint | None,
    receiver: Endpoint | None,
) -> tuple[str, str] | None:
    """Where the receiving endpoint is, else where the catalog has its service, seen from the sender."""
    if receiver:
        return receiver.instance, receiver.database
    if sender:
        return state.catalog.place_of(sender.remote_service, (sender.instance, sender.database))
    return None


def queue_off(state: State, message: Message) -> QueueKey | None:
    """The queue of the same instance for which a message waits, as it is off."""
    sender, receiver = state.endpoint(message.sender), state.endpoint(message.receiver)
    destination = _destination(state, sender, receiver)
    if sender and destination and destination[0] == sender.instance:
        service = receiver.local_service if receiver else sender.remote_service
        queue = state.catalog.queue_of(*destination, service)
        if queue and state.is_off(queue):
            return queue
    return None


def _raised(transmit_priority: int, waited: timedelta, starvation: Row | None) -> int:
    """Starvation prevention: higher by raise_by for every full after_seconds, to 10 at most."""
    if starvation is None:
        return transmit_priority
    times = waited // timedelta(seconds=starvation["after_seconds"])
    return min(HIGHEST_LEVEL, transmit_priority + times * int(starvation["raise_by"]))


def _order(row: Row) -> tuple[Any, ...]:
    return (
        -row["transmit_priority"],
        row["sendable_at"],
        utf8(row["conversation_id"]),
        not row["sent_by_initiator"],
        nulls_last(row["message_sequence_number"]),
        utf8(row["message_id"]),
    )


def _send_in_blocks(
    line: list[tuple[Row, Message]],
    *,
    fragment_bytes: int,
    fragments: int,
) -> list[tuple[Row, Message]]:
    """Fill blocks per destination, send them whole; a message is transmitted with its last fragment.

    Returns:
        The line in the order transmitted, each row with the number of its block.
    """
    blocks: list[list[tuple[Row, Message, bool]]] = []
    filling: dict[str | None, list[tuple[Row, Message, bool]]] = {}
    for row, message in line:
        destination = row["destination_instance"]
        count = max(1, ceil((message.size_bytes or 0) / fragment_bytes))
        for fragment in range(1, count + 1):
            if destination not in filling or len(filling[destination]) == fragments:
                filling[destination] = []
                blocks.append(filling[destination])
            filling[destination].append((row, message, fragment == count))
    return [
        ({**row, "block": number}, message)
        for number, block in enumerate(blocks, start=1)
        for row, message, is_last in block
        if is_last
    ]
