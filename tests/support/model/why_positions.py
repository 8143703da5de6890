"""Why a message is where it stands in its order: the causes that come from what is ahead of it."""

from dataclasses import dataclass

from .moment import Moment, OpenMessage
from .vocabulary import Row

CODES = dict.fromkeys(("outranked", "own_group_first", "older_first", "first_in_line"), "order")
"""The causes from positions in their order, with how bad they are."""


@dataclass(frozen=True)
class Position:
    """What a message's place in its order says.

    Attributes:
        outranking: messages of others ahead of it that have a higher level.
        own: messages of its own group or conversation ahead of it.
        older: the other messages ahead of it.
        is_first: the next RECEIVE takes it, or it is sent next.
    """

    outranking: tuple[OpenMessage, ...] = ()
    own: tuple[OpenMessage, ...] = ()
    older: tuple[OpenMessage, ...] = ()
    is_first: bool = False


def position_of(moment: Moment, message: OpenMessage) -> Position:
    """Look at all messages of the same place with a lower position."""
    ahead = [each for each in messages_ahead(moment, message) if each is not message]
    own = [each for each in ahead if _owner(each) == _owner(message)]
    others = [each for each in ahead if each not in own]
    column = "group_priority" if message.kind == "receive" else "transmit_priority"
    outranking = [each for each in others if each.row[column] > message.row[column]]
    older = [each for each in others if each not in outranking]
    first = message.row.get("receive_number") if message.kind == "receive" else message.position
    return Position(tuple(outranking), tuple(own), tuple(older), first == 1)


def messages_ahead(moment: Moment, message: OpenMessage) -> list[OpenMessage]:
    """The messages of the same place with a lower position; none where one has no position."""
    if message.position is None:
        return []
    return [
        other
        for other in moment.open_messages
        if (other.kind, other.place) == (message.kind, message.place)
        and other.position is not None
        and other.position < message.position
    ]


def _owner(message: OpenMessage) -> tuple[object, ...]:
    """The group of a message to receive; the conversation and direction of one to send."""
    if message.kind == "receive":
        return (message.row["conversation_group_id"],)
    return (message.row["conversation_id"], message.row["sent_by_initiator"])


def own_group_details(message: OpenMessage) -> Row:
    """Whose messages go first."""
    receives = message.kind == "receive"
    return {
        **first_details(message),
        "conversation_group_id": message.row["conversation_group_id"] if receives else None,
        "conversation_id": None if receives else message.row["conversation_id"],
    }


def first_details(message: OpenMessage) -> Row:
    """Where it is first."""
    instance, database, queue = message.place
    return {"kind": message.kind, "instance": instance, "database": database, "queue": queue}
