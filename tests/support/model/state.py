"""The state at as_of: every question is answered by walking the events before it."""

from datetime import datetime

from .catalog import Catalog
from .endpoints import Endpoint, group_id
from .messages import Message
from .vocabulary import ENDS, SEEN, Events, QueueKey, Row, Side, by_time

GroupKey = tuple[QueueKey, str]
"""A group: its queue and its conversation_group_id."""

Transaction = tuple[str, str | None]
"""A transaction: (instance, transaction_id); a null id is a statement that committed at once."""


def says_off(altered: Row) -> bool:
    """Whether a QUEUE_ALTERED turns its queue off."""
    return bool(altered["queue_status"].upper() == "OFF")


class State:
    """Endpoints, groups, locks, queues and messages at one moment."""

    def __init__(
        self,
        events: Events,
        endpoints: dict[Side, Endpoint],
        messages: list[Message],
        catalog: Catalog,
        as_of: datetime,
    ) -> None:
        self.as_of = as_of
        self.catalog = catalog
        self.messages = messages
        self.known_endpoints = endpoints
        self.without_queue_events = not events.get("queue_events")
        self._endpoint_events = self._happened(events.get("endpoint_events"))
        self._message_events = self._happened(events.get("message_events"))
        self._queue_events = self._happened(events.get("queue_events"))

    def _happened(self, events: list[Row] | None) -> list[Row]:
        return [event for event in events or [] if event["event_time"] < self.as_of]

    # Endpoints and groups

    def endpoint(self, side: Side) -> Endpoint | None:
        """The endpoint, if it exists at as_of."""
        endpoint = self.known_endpoints.get(side)
        return endpoint if endpoint and endpoint.created_at < self.as_of else None

    def has_ended(self, side: Side, ends: tuple[str, ...] = ENDS) -> bool:
        """Whether one of these ends of the endpoint has happened, be the endpoint known or not."""
        return any(
            event["event_type"] in ends and (event["conversation_id"], event["is_initiator"]) == side
            for event in self._endpoint_events
        )

    def group(self, endpoint: Endpoint) -> GroupKey | None:
        """The group of the endpoint; none where its service has no queue."""
        return (endpoint.queue, group_id(endpoint, self._endpoint_events)) if endpoint.queue else None

    # Transactions, locks and queues

    def _has(self, transaction: Transaction, *event_types: str) -> bool:
        return any(
            event["event_type"] in event_types
            and (event["instance"], event.get("transaction_id")) == transaction
            for event in self._queue_events
        )

    def _is_committed(self, transaction: Transaction) -> bool:
        at_once = transaction[1] is None or self.without_queue_events
        return at_once or self._has(transaction, "COMMIT")

    def _is_open(self, transaction: Transaction) -> bool:
        """Of a transaction that is known to have begun."""
        at_once = transaction[1] is None or self.without_queue_events
        return not at_once and not self._has(transaction, "COMMIT", "ROLLBACK")

    def is_locked(self, group: GroupKey) -> bool:
        """A group is locked by a statement that named it, or by a message in flight."""
        return self.locked_since(group) is not None

    def locked_since(self, group: GroupKey) -> datetime | None:
        """The first fact by which an open transaction holds the group; none if it is free."""
        facts = []
        for event in self._queue_events:
            if event["event_type"] in ("RECEIVE", "GET_CONVERSATION_GROUP"):
                queue = (event["instance"], event["database"], event["queue"])
                transaction = (event["instance"], event.get("transaction_id"))
                if (queue, event.get("conversation_group_id")) == group and self._is_open(transaction):
                    facts.append(event["event_time"])
        for message in self.messages:
            receiver = self.endpoint(message.receiver)
            if receiver and self.group(receiver) == group and self.is_in_flight(message):
                facts += [
                    event["event_time"]
                    for event in self._receives(message)
                    if self._is_open((event["instance"], event.get("transaction_id")))
                ]
        return min(facts, default=None)

    def _alterations(self, queue: QueueKey) -> list[Row]:
        """The QUEUE_ALTERED that say whether the queue is on or off, in order."""
        alterations = [
            event
            for event in self._queue_events
            if event["event_type"] == "QUEUE_ALTERED"
            and event.get("queue_status") is not None
            and (event["instance"], event["database"], event["queue"]) == queue
        ]
        return sorted(alterations, key=by_time)

    def is_off(self, queue: QueueKey) -> bool:
        """The queue's last QUEUE_ALTERED that says on or off counts, else the catalog."""
        if alterations := self._alterations(queue):
            return says_off(alterations[-1])
        return not self.catalog.queue_is_on(queue)

    def off_since(self, queue: QueueKey) -> tuple[datetime | None, str]:
        """Since when a queue that is off is so, and what shows it."""
        offs: list[Row] = []
        for event in self._alterations(queue):
            offs = [*offs, event] if says_off(event) else []
        logged = [event["event_time"] for event in offs if not event.get(SEEN)]
        if logged:
            return logged[0], "log"
        return (min(event[SEEN] for event in offs), "snapshot") if offs else (None, "catalog")

    # Messages

    def _receives(self, message: Message) -> list[Row]:
        return [
            event
            for event in message.events
            if event["event_type"] == "RECEIVED" and event["event_time"] < self.as_of
        ]

    def _transactions(self, message: Message) -> list[Transaction]:
        """The transactions that have received the message so far."""
        return [(event["instance"], event.get("transaction_id")) for event in self._receives(message)]

    def is_received(self, message: Message) -> bool:
        return any(self._is_committed(transaction) for transaction in self._transactions(message))

    def is_in_flight(self, message: Message) -> bool:
        if self.is_received(message):
            return False
        return any(self._is_open(transaction) for transaction in self._transactions(message))

    def has_arrived(self, message: Message) -> bool:
        return message.arrived_at is not None and message.arrived_at < self.as_of

    def is_to_be_received(self, message: Message) -> bool:
        """Arrived and still there, be its place known or not."""
        return (
            self.has_arrived(message)
            and not self.has_ended(message.receiver)
            and not self.is_received(message)
            and not self.is_in_flight(message)
        )

    def waits_for_transmission(self, message: Message) -> bool:
        """Sent, not arrived and not dropped, be its sender known or not."""
        sent = message.sent_at is not None and message.sent_at < self.as_of
        return sent and not self.has_arrived(message) and not self._is_dropped(message)

    def _is_dropped(self, message: Message) -> bool:
        """Of a message that has not arrived: whether an end of the sender or the receiver took it.

        None did if a transmission queue shows the message afterwards.
        """
        ends = [
            event["event_time"]
            for event in self._endpoint_events
            if (side := (event["conversation_id"], event["is_initiator"]))
            in (message.receiver, message.sender)
            and event["event_type"] in self._dropping(message, side)
        ]
        shown = [event[SEEN] for event in message.events if event["event_type"] == "SENT" and event.get(SEEN)]
        return bool(ends) and (not shown or max(shown) <= min(ends))

    @staticmethod
    def _dropping(message: Message, side: Side) -> tuple[str, ...]:
        """The ends of an endpoint that drop a message."""
        if side == message.receiver:
            return ENDS
        return ENDS[2:] if message.is_error else ENDS[1:]

    def forward_acceptances(self, message: Message) -> list[Row]:
        """The first FORWARD_ACCEPTED of each instance at which the message is being forwarded."""
        sender = self.known_endpoints.get(message.sender)
        at: dict[str, list[Row]] = {}
        for event in message.events:
            if event["event_time"] < self.as_of:
                at.setdefault(event["instance"], []).append(event)
        acceptances = []
        for instance, events in at.items():
            accepted = [event for event in events if event["event_type"] == "FORWARD_ACCEPTED"]
            forwarded = [event for event in events if event["event_type"] == "FORWARDED"]
            if accepted and not forwarded and not (sender and sender.instance == instance):
                acceptances.append(accepted[0])
        return acceptances
