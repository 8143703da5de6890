"""The state at as_of: every question is answered by walking the events before it."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from .catalog import Catalog
from .endpoints import Endpoint, group_id, read_endpoints
from .messages import Message, read_messages
from .rules import rule_history
from .vocabulary import (
    ENDS,
    SEEN,
    Events,
    QueueKey,
    Row,
    Side,
    Transaction,
    by_time,
    queue_of,
    side_of,
    transaction_of,
)

GroupKey = tuple[QueueKey, str]
"""A group: its queue and its conversation_group_id."""

LOCKS = ("RECEIVE", "GET_CONVERSATION_GROUP")
OUTCOMES = ("COMMIT", "ROLLBACK")


def says_off(altered: Row) -> bool:
    """Whether a QUEUE_ALTERED turns its queue off."""
    return bool(altered["queue_status"].upper() == "OFF")


class State:
    """Endpoints, groups, locks, queues and messages at one moment.

    Args:
        events: rows by source name.
        endpoints: all of them, also those that are created later.
        messages: all of them.
        catalog: the catalog.
        as_of: the moment.
        pending: receives that have not happened yet, whatever their time.
    """

    def __init__(
        self,
        events: Events,
        endpoints: dict[Side, Endpoint],
        messages: list[Message],
        catalog: Catalog,
        as_of: datetime,
        pending: Iterable[Row] = (),
    ) -> None:
        self.as_of = as_of
        self.catalog = catalog
        self.messages = messages
        self.known_endpoints = endpoints
        self.without_queue_events = not events.get("queue_events")
        self._pending = {id(event) for event in pending}
        self.endpoint_events = self._happened(events.get("endpoint_events"))
        self.queue_events = self._happened(events.get("queue_events"))
        self._of_side: dict[Side, list[Row]] = defaultdict(list)
        for event in self.endpoint_events:
            self._of_side[side_of(event)].append(event)
        self._outcomes: dict[Transaction | None, set[str]] = defaultdict(set)
        for event in self.queue_events:
            if event["event_type"] in OUTCOMES:
                self._outcomes[transaction_of(event)].add(event["event_type"])

    def _happened(self, events: Iterable[Row] | None) -> list[Row]:
        happened = [
            event
            for event in events or ()
            if event["event_time"] < self.as_of and id(event) not in self._pending
        ]
        return sorted(happened, key=by_time)

    # Endpoints and groups

    def endpoint(self, side: Side) -> Endpoint | None:
        """The endpoint, if it exists at as_of."""
        endpoint = self.known_endpoints.get(side)
        return endpoint if endpoint and endpoint.created_at < self.as_of else None

    def has_ended(self, side: Side) -> bool:
        """Whether the endpoint has ended, be it known or not."""
        return any(event["event_type"] in ENDS for event in self._of_side[side])

    def group(self, endpoint: Endpoint) -> GroupKey | None:
        """The group of the endpoint; none where its service has no queue."""
        return (endpoint.queue, group_id(endpoint, self._of_side[endpoint.side])) if endpoint.queue else None

    # Transactions, locks and queues

    def is_committed(self, event: Row) -> bool:
        """Whether what the event took is taken for good."""
        transaction = transaction_of(event)
        at_once = transaction is None or self.without_queue_events
        return at_once or "COMMIT" in self._outcomes[transaction]

    def is_open(self, event: Row) -> bool:
        """Whether the transaction of an event that has begun has no outcome."""
        transaction = transaction_of(event)
        at_once = transaction is None or self.without_queue_events
        return not at_once and not self._outcomes[transaction]

    def is_rolled_back(self, event: Row) -> bool:
        """Whether the transaction of an event was rolled back; COMMIT counts where it has both."""
        return not self.is_committed(event) and not self.is_open(event)

    def is_locked(self, group: GroupKey) -> bool:
        """A group is locked by a statement that named it, or by a message in flight."""
        return bool(self.locks(group))

    def locked_since(self, group: GroupKey) -> datetime | None:
        """The first fact by which an open transaction holds the group; none if it is free."""
        return min((event["event_time"] for event in self.locks(group)), default=None)

    def locks(self, group: GroupKey) -> list[Row]:
        """The events by which open transactions hold the group: those that name it, then RECEIVED ones."""
        found = [
            event
            for event in self.queue_events
            if event["event_type"] in LOCKS
            and (queue_of(event), event.get("conversation_group_id")) == group
            and self.is_open(event)
        ]
        for message in self.messages:
            receiver = self.endpoint(message.receiver)
            if receiver and self.is_in_flight(message) and self.group(receiver) == group:
                found += [event for event in self.receives(message) if self.is_open(event)]
        return found

    def _alterations(self, queue: QueueKey) -> list[Row]:
        """The QUEUE_ALTERED that say whether the queue is on or off, in order."""
        return [
            event
            for event in self.queue_events
            if event["event_type"] == "QUEUE_ALTERED"
            and event.get("queue_status") is not None
            and queue_of(event) == queue
        ]

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

    def receives(self, message: Message) -> list[Row]:
        """The RECEIVED events of a message so far."""
        return self._happened(event for event in message.events if event["event_type"] == "RECEIVED")

    def is_received(self, message: Message) -> bool:
        """Whether it was taken for good."""
        return any(self.is_committed(event) for event in self.receives(message))

    def is_in_flight(self, message: Message) -> bool:
        """Whether an open transaction has it."""
        return not self.is_received(message) and any(map(self.is_open, self.receives(message)))

    def has_arrived(self, message: Message) -> bool:
        """Whether its first arrival has happened."""
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
        is_here = not self.has_arrived(message) or message.sent_again_at(self.as_of) is not None
        return sent and is_here and not self._is_dropped(message)

    def _is_dropped(self, message: Message) -> bool:
        """Of a message that has not arrived: whether an end of the sender or the receiver took it.

        None did if a transmission queue shows the message afterwards.
        """
        ends = [
            event["event_time"]
            for side in (message.receiver, message.sender)
            for event in self._of_side[side]
            if event["event_type"] in self._dropping(message, side)
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


def state_of(events: Events, catalog: Row, rules: list[Row], moment: datetime) -> State:
    """The state at a moment by a log, a catalog and rule statements."""
    places, messages = Catalog(catalog), read_messages(events.get("message_events") or [])
    endpoint_events = events.get("endpoint_events") or []
    endpoints = read_endpoints(endpoint_events, messages, places, rule_history(rules))
    return State(events, endpoints, messages, places, moment)
