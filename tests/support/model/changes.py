"""What changed between two moments, message by message: conversations, arrivals, and receives."""

from collections import Counter
from datetime import datetime

from .endpoints import endpoints_table
from .messages import Message
from .moment import Moment
from .state import State
from .vocabulary import MICROSECOND, QueueKey, Row, Side, queue_of

Place = tuple[str, str]
"""A database: instance and name."""


def traffic(moment: Moment, since: datetime) -> dict[QueueKey, tuple[int, int]]:
    """Arrivals and committed receives in (since, as_of] by queue; queues without any are left out."""
    arrived, received = Counter[QueueKey](), Counter[QueueKey]()
    state, endpoints = _just_after(moment), _endpoints(moment)
    for message in moment.state.messages:
        receiver = endpoints.get(message.receiver)
        if receiver is None or receiver["queue"] is None or receiver["created_at"] > moment.as_of:
            continue
        receives = _committed(state, message)
        if message.arrived_at and state.has_arrived(message):
            arrived[queue_of(receiver)] += message.arrived_at > since
        received[queue_of(receiver)] += bool(receives) and min(receives) > since
    return {
        queue: (arrived[queue], received[queue])
        for queue in {*arrived, *received}
        if arrived[queue] or received[queue]
    }


def conversations(moment: Moment, since: datetime) -> dict[Place, tuple[int, int, int]]:
    """Conversations begun and gone in (since, as_of], and unread messages gone, by database."""
    begun, gone, unread = (Counter[Place]() for _ in range(3))
    endpoints = {side: row for side, row in _endpoints(moment).items() if row["created_at"] <= moment.as_of}
    of_databases: dict[tuple[Place, str], list[Row]] = {}
    for row in endpoints.values():
        place = (row["instance"], row["database"])
        of_databases.setdefault((place, row["conversation_id"]), []).append(row)
    for (place, _), rows in of_databases.items():
        ends = [row["ended_at"] for row in rows]
        begun[place] += min(row["created_at"] for row in rows) > since
        gone[place] += None not in ends and since < max(ends) <= moment.as_of
    state = _just_after(moment)
    for message in moment.state.messages:
        receiver = endpoints.get(message.receiver)
        if receiver and receiver["ended_at"] and message.arrived_at:
            was_there = message.arrived_at <= since < receiver["ended_at"] <= moment.as_of
            is_unread = was_there and not _committed(state, message)
            unread[receiver["instance"], receiver["database"]] += is_unread
    counts = {key: (begun[key], gone[key], unread[key]) for key in {*begun, *gone, *unread}}
    return {key: count for key, count in counts.items() if any(count)}


def _endpoints(moment: Moment) -> dict[Side, Row]:
    """The rows of the table by endpoint."""
    known, events = moment.state.known_endpoints, moment.events.get("endpoint_events") or []
    return dict(zip(known, endpoints_table(known, events), strict=True))


def _just_after(moment: Moment) -> State:
    """The state once what happens at as_of has happened."""
    known, as_of = moment.state.known_endpoints, moment.as_of + MICROSECOND
    return State(moment.logged, known, moment.state.messages, moment.catalog, as_of)


def _committed(state: State, message: Message) -> list[datetime]:
    """When a message was received for good."""
    return [event["event_time"] for event in state.receives(message) if state.is_committed(event)]
