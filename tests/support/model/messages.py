"""What a message is, from all its events, and in which orders messages stand."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .vocabulary import DIALOG_TIMER, ERROR, SEEN, Row, Side, nulls_last, utf8

EVENT_ORDER = {"SENT": 0, "DELIVERED": 1, "RECEIVED": 2, "FORWARD_ACCEPTED": 3, "FORWARDED": 3}
ARRIVALS = ("DELIVERED", "RECEIVED")


@dataclass(frozen=True)
class Message:
    """A message with its events in the order (event_time; type; event_id)."""

    message_id: str
    events: tuple[Row, ...]

    def _earliest(self, column: str) -> Any:
        """The value in the earliest event that has one, whatever as_of."""
        return next((event[column] for event in self.events if event.get(column) is not None), None)

    @property
    def conversation_id(self) -> str:
        return str(self._earliest("conversation_id"))

    @property
    def sent_by_initiator(self) -> bool:
        return bool(self._earliest("sent_by_initiator"))

    @property
    def message_type(self) -> str:
        return str(self._earliest("message_type"))

    @property
    def sequence_number(self) -> int | None:
        number: int | None = self._earliest("message_sequence_number")
        return number

    @property
    def size_bytes(self) -> int | None:
        size: int | None = self._earliest("size_bytes")
        return size

    @property
    def queuing_order(self) -> int | None:
        number: int | None = self._earliest("queuing_order")
        return number

    @property
    def sender(self) -> Side:
        return (self.conversation_id, self.sent_by_initiator)

    @property
    def receiver(self) -> Side:
        return (self.conversation_id, not self.sent_by_initiator)

    @property
    def is_error(self) -> bool:
        return self.message_type.endswith(ERROR)

    @property
    def arrival(self) -> Row | None:
        """The first DELIVERED or RECEIVED event: what was received had been delivered."""
        return next((event for event in self.events if event["event_type"] in ARRIVALS), None)

    @property
    def arrived_at(self) -> datetime | None:
        return self.arrival["event_time"] if self.arrival else None

    @property
    def sent_at(self) -> datetime | None:
        return next((event["event_time"] for event in self.events if event["event_type"] == "SENT"), None)

    def sent_again_at(self, as_of: datetime) -> datetime | None:
        """When a view shows that its number was given again: it was sent a minute after its last arrival."""
        before = [each for each in self.events if each["event_time"] < as_of]
        sent = [each["event_time"] for each in before if each["event_type"] == "SENT" and each.get(SEEN)]
        arrived = [
            max(each["event_time"], each.get(SEEN) or each["event_time"])
            for each in before
            if each["event_type"] in ARRIVALS
        ]
        is_again = sent and arrived and max(sent) > max(arrived) + timedelta(minutes=1)
        return max(sent) if is_again else None

    def last_sight(self, event_type: str, as_of: datetime) -> Row | None:
        """The row of the newest view up to as_of that shows it as this event."""
        sights = [each for each in self.events if each["event_type"] == event_type and each.get(SEEN)]
        return max(
            (each for each in sights if each[SEEN] <= as_of), key=lambda each: each[SEEN], default=None
        )


def read_messages(message_events: list[Row]) -> list[Message]:
    """All messages that any event tells of."""
    by_id: dict[str, list[Row]] = {}
    for event in sorted(message_events, key=event_order):
        by_id.setdefault(event["message_id"], []).append(event)
    return [Message(message_id, tuple(events)) for message_id, events in by_id.items()]


def event_order(event: Row) -> tuple[Any, ...]:
    """(event_time; SENT, DELIVERED, RECEIVED, the forwarding ones; event_id)."""
    return (event["event_time"], EVENT_ORDER[event["event_type"]], utf8(event["event_id"]))


def arrival_order(message: Message) -> tuple[Any, ...]:
    """Time of arrival, then queuing_order (nulls last), then message_id."""
    return (message.arrived_at, nulls_last(message.queuing_order), utf8(message.message_id))


def conversation_order(message: Message) -> tuple[Any, ...]:
    """Within a conversation: DialogTimer, Error, all others; then the sequence number; then arrival."""
    if message.message_type.endswith(DIALOG_TIMER):
        rank = 0
    elif message.is_error:
        rank = 1
    else:
        rank = 2
    return (rank, nulls_last(message.sequence_number), arrival_order(message))


def sending_order(message: Message) -> tuple[Any, ...]:
    """Within a conversation and direction: the sequence number (nulls last), then message_id."""
    return (nulls_last(message.sequence_number), utf8(message.message_id))
