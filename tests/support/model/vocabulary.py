"""The words and comparisons that every module of the model uses."""

from typing import Any

Row = dict[str, Any]
Events = dict[str, list[Row]]

Side = tuple[str, bool]
"""An endpoint: (conversation_id, is_initiator)."""

QueueKey = tuple[str, str, str]
"""A queue: (instance, database, queue)."""

DIALOG_TIMER = "/ServiceBroker/DialogTimer"
ERROR = "/ServiceBroker/Error"

SEEN = "seen_at"
"""The column that only events made of a snapshot have: its taken_at."""

CREATIONS = {"BEGIN_DIALOG": True, "DIALOG_CREATED": False}
"""Event types that create an endpoint, and whether it is the initiator."""

ENDS = ("END_CONVERSATION", "END_CONVERSATION_WITH_ERROR", "END_CONVERSATION_WITH_CLEANUP")


def utf8(text: str) -> bytes:
    """Strings compare by their UTF-8 bytes."""
    return text.encode()


def nulls_last(number: int | None) -> tuple[bool, int]:
    """Sort key of a number that may be null."""
    return (number is None, number or 0)


def by_time(event: Row) -> tuple[Any, bytes]:
    """Sort key (event_time, event_id)."""
    return (event["event_time"], utf8(event["event_id"]))


def printed_name(parts: QueueKey) -> str:
    """A queue as answers print it: a part that is empty or has a dot, a blank or a bracket in brackets."""

    def printed(part: str) -> str:
        is_plain = part and not any(letter in ".[]" or letter.isspace() for letter in part)
        return part if is_plain else "[" + part.replace("]", "]]") + "]"

    return ".".join(map(printed, parts))


def is_on(value: object) -> bool:
    """Read a switch of the catalog: on and off are booleans to a YAML 1.1 reader, strings to others."""
    return value.lower() in ("on", "true") if isinstance(value, str) else bool(value)
