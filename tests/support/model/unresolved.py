"""Open messages that can't be placed yet."""

from .messages import Message
from .state import State
from .vocabulary import Row


def unresolved(state: State) -> list[Row]:
    """The table unresolved."""
    rows = []
    for message in state.messages:
        for kind, reason in (
            ("receive", _not_receivable(state, message)),
            ("transmission", _not_sendable(state, message)),
        ):
            if reason:
                if any(event.get("handle_unknown") for event in message.events):
                    reason = "handle_unknown"
                row = {"as_of": state.as_of, "kind": kind, "id": message.message_id, "reason": reason}
                rows.append({**row, **_place(state, message, kind)})
    return rows


def _not_receivable(state: State, message: Message) -> str | None:
    if not state.is_to_be_received(message):
        return None
    receiver = state.endpoint(message.receiver)
    if receiver is None:
        return "endpoint_unknown"
    return "service_not_in_catalog" if receiver.queue is None else None


def _not_sendable(state: State, message: Message) -> str | None:
    if state.waits_for_transmission(message) and state.endpoint(message.sender) is None:
        return "endpoint_unknown"
    return None


def _place(state: State, message: Message, kind: str) -> Row:
    """The view that shows it; else the database of its receiving endpoint."""
    shown = message.last_sight("DELIVERED" if kind == "receive" else "SENT", state.as_of)
    if shown:
        return {**{name: shown[name] for name in ("instance", "database")}, "queue": shown.get("queue")}
    receiver = state.endpoint(message.receiver) if kind == "receive" else None
    place = (receiver.instance, receiver.database) if receiver else (None, None)
    return dict(zip(("instance", "database", "queue"), (*place, None), strict=True))
