"""The receive schedule, played RECEIVE by RECEIVE."""

from .groups import (
    conversations_in_order,
    group_order,
    group_priority,
    group_state,
    held_since,
    ready_messages,
    receiver_of,
)
from .messages import Message, conversation_order
from .state import State
from .vocabulary import QueueKey, Row, Side, queue_row


def receive_schedule(state: State, *, top: int | None) -> list[Row]:
    """The table receive_schedule."""
    rows = []
    for queue, groups in ready_messages(state).items():
        rows += _receive_all(state, queue, groups, top)
    return rows


def _receive_all(
    state: State,
    queue: QueueKey,
    groups: dict[str, list[Message]],
    top: int | None,
) -> list[Row]:
    """Receive from one queue until nothing is left that can be received."""
    rows = []
    conversations = {group: conversations_in_order(state, messages) for group, messages in groups.items()}
    left: dict[str, list[Message]] = {}
    for group, messages in groups.items():
        group_is = group_state(state, (queue, group))
        if group_is == "ready":
            left[group] = list(messages)
        else:
            priority = group_priority(state, messages)
            for message in messages:
                rows.append(_row(state, queue, group, message, priority, group_is))

    position = receive_number = 0
    while left:
        receive_number += 1
        group = min(left, key=lambda candidate: group_order(state, left[candidate]))
        priority = group_priority(state, left[group])
        for message in in_order(left[group], conversations[group])[:top]:
            position += 1
            row = _row(state, queue, group, message, priority, "ready")
            rows.append({**row, "position": position, "receive_number": receive_number})
            left[group].remove(message)
        if not left[group]:
            del left[group]
    return rows


def in_order(messages: list[Message], conversations: list[Side]) -> list[Message]:
    """One conversation after the other, in the order they had at as_of."""
    return sorted(
        messages,
        key=lambda message: (conversations.index(message.receiver), conversation_order(message)),
    )


def _row(
    state: State,
    queue: QueueKey,
    group: str,
    message: Message,
    priority: int,
    group_is: str,
) -> Row:
    endpoint = receiver_of(state, message)
    since, source = held_since(state, (queue, group), group_is)
    return {
        "as_of": state.as_of,
        **queue_row(queue),
        "message_id": message.message_id,
        "position": None,
        "receive_number": None,
        "conversation_group_id": group,
        "group_priority": priority,
        "conversation_id": endpoint.conversation_id,
        "is_initiator": endpoint.is_initiator,
        "conversation_handle": endpoint.conversation_handle,
        "contract": endpoint.contract,
        "local_service": endpoint.local_service,
        "remote_service": endpoint.remote_service,
        "priority": endpoint.priority,
        "message_sequence_number": message.sequence_number,
        "message_type": message.message_type,
        "arrived_at": message.arrived_at,
        "queuing_order": message.queuing_order,
        "state": group_is,
        "held_since": since,
        "held_source": source,
    }
