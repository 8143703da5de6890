"""The words and comparisons that every module of the model uses."""

from datetime import timedelta
from typing import Any

Row = dict[str, Any]
Events = dict[str, list[Row]]

Side = tuple[str, bool]
"""An endpoint: (conversation_id, is_initiator)."""

QueueKey = tuple[str, str, str]
"""A queue: (instance, database, queue)."""

Transaction = tuple[str, str]
"""A transaction: (instance, transaction_id)."""

DIALOG_TIMER = "/ServiceBroker/DialogTimer"
ERROR = "/ServiceBroker/Error"

SEEN = "seen_at"
"""The column that only events made of a snapshot have: its taken_at."""

CREATIONS = {"BEGIN_DIALOG": True, "DIALOG_CREATED": False}
"""Event types that create an endpoint, and whether it is the initiator."""

ENDS = ("END_CONVERSATION", "END_CONVERSATION_WITH_ERROR", "END_CONVERSATION_WITH_CLEANUP")

MICROSECOND = timedelta(microseconds=1)


def side_of(event: Row) -> Side:
    """The endpoint of an endpoint event."""
    return event["conversation_id"], event["is_initiator"]


def queue_of(event: Row) -> QueueKey:
    """The queue of a queue event, or of a row of a table."""
    return event["instance"], event["database"], event["queue"]


def queue_row(queue: QueueKey) -> Row:
    """A queue as columns."""
    return dict(zip(("instance", "database", "queue"), queue, strict=True))


def transaction_of(event: Row) -> Transaction | None:
    """The transaction of an event; none of a statement that committed at once."""
    return None if event.get("transaction_id") is None else (event["instance"], event["transaction_id"])


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
