"""Orders of the conversations of a group and of the groups of a queue, and the table group_priorities."""

from datetime import datetime
from typing import Any

from .endpoints import Endpoint
from .messages import Message, arrival_order
from .state import GroupKey, State
from .vocabulary import QueueKey, Row, Side, queue_row, utf8


def ready_messages(state: State) -> dict[QueueKey, dict[str, list[Message]]]:
    """The ready messages of each queue, by conversation_group_id."""
    queues: dict[QueueKey, dict[str, list[Message]]] = {}
    for message in state.messages:
        receiver = state.endpoint(message.receiver)
        group = state.group(receiver) if receiver else None
        if group and state.is_to_be_received(message):
            queues.setdefault(group[0], {}).setdefault(group[1], []).append(message)
    return queues


def receiver_of(state: State, ready: Message) -> Endpoint:
    """The receiving endpoint of a ready message."""
    return state.known_endpoints[ready.receiver]


def conversations_in_order(state: State, messages: list[Message]) -> list[Side]:
    """The conversations of a group, from all its ready messages."""

    def order(side: Side) -> tuple[Any, ...]:
        oldest = min(arrival_order(message) for message in messages if message.receiver == side)
        return (-state.known_endpoints[side].priority, oldest, utf8(side[0]), not side[1])

    return sorted({message.receiver for message in messages}, key=order)


def group_priority(state: State, messages: list[Message]) -> int:
    """The highest priority of the conversations that these messages of a group belong to."""
    return max(receiver_of(state, message).priority for message in messages)


def group_order(state: State, messages: list[Message]) -> tuple[Any, ...]:
    """Group priority descending, then the oldest ready message at that priority."""
    priority = group_priority(state, messages)
    at_priority = [message for message in messages if receiver_of(state, message).priority == priority]
    return (-priority, min(arrival_order(message) for message in at_priority))


def group_state(state: State, group: GroupKey) -> str:
    """Whether the group can be received, and if not, why."""
    if state.is_off(group[0]):
        return "queue_off"
    return "group_locked" if state.is_locked(group) else "ready"


def held_since(state: State, group: GroupKey, group_is: str) -> tuple[datetime | None, str | None]:
    """Since when the group can't be received, and what shows it."""
    if group_is == "queue_off":
        return state.off_since(group[0])
    return (state.locked_since(group), "log") if group_is == "group_locked" else (None, None)


def group_priorities(state: State) -> list[Row]:
    """The table group_priorities."""
    rows = []
    for queue, groups in ready_messages(state).items():
        position = 0
        for group, messages in sorted(groups.items(), key=lambda item: group_order(state, item[1])):
            group_is = group_state(state, (queue, group))
            if group_is == "ready":
                position += 1
            conversations = conversations_in_order(state, messages)
            rows.append(
                {
                    "as_of": state.as_of,
                    **queue_row(queue),
                    "conversation_group_id": group,
                    "priority": group_priority(state, messages),
                    "deciding_conversation_id": conversations[0][0],
                    "conversations": len(conversations),
                    "messages": len(messages),
                    "oldest_arrival": min(arrival_order(message) for message in messages)[0],
                    "state": group_is,
                    "position": position if group_is == "ready" else None,
                }
            )
    return rows
