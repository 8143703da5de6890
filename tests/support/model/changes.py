"""What changed between two moments, message by message: conversations, arrivals, and receives."""

from collections import Counter
from datetime import datetime

from .endpoints import endpoints_table, read_endpoints
from .messages import ARRIVALS
from .moment import Moment
from .vocabulary import Row


def traffic(moment: Moment, since: datetime) -> dict[tuple[str, str, str], tuple[int, int]]:
    """Arrivals and committed receives in (since, as_of] by queue; queues without any are left out."""
    arrived, received = Counter[tuple[str, str, str]](), Counter[tuple[str, str, str]]()
    endpoints = _endpoints(moment)
    for message in moment.state.messages:
        receiver = endpoints.get(message.receiver)
        if receiver is None or receiver["queue"] is None or receiver["created_at"] > moment.as_of:
            continue
        queue = (receiver["instance"], receiver["database"], receiver["queue"])
        events = [event for event in message.events if event["event_time"] <= moment.as_of]
        arrivals = [event["event_time"] for event in events if event["event_type"] in ARRIVALS]
        receives = [event["event_time"] for event in events if _is_committed(moment, event)]
        arrived[queue] += bool(arrivals) and min(arrivals) > since
        received[queue] += bool(receives) and min(receives) > since
    return {
        queue: (arrived[queue], received[queue]) for queue in arrived if arrived[queue] or received[queue]
    }


def conversations(moment: Moment, since: datetime) -> dict[tuple[str, str], tuple[int, int, int]]:
    """Conversations begun and gone in (since, as_of], and unread messages gone, by database."""
    endpoints = [row for row in _endpoints(moment).values() if row["created_at"] <= moment.as_of]
    begun, gone, unread = (Counter[tuple[str, str]]() for _ in range(3))
    for database, id in {((row["instance"], row["database"]), row["conversation_id"]) for row in endpoints}:
        there = [
            row
            for row in endpoints
            if (row["instance"], row["database"]) == database and row["conversation_id"] == id
        ]
        ends = [row["ended_at"] for row in there]
        begun[database] += min(row["created_at"] for row in there) > since
        gone[database] += None not in ends and since < max(ends) <= moment.as_of
    for message in moment.state.messages:
        for row in endpoints:
            if (row["conversation_id"], row["is_initiator"]) != message.receiver or row["ended_at"] is None:
                continue
            arrivals = [event["event_time"] for event in message.events if event["event_type"] in ARRIVALS]
            was_there = bool(arrivals) and min(arrivals) <= since < row["ended_at"] <= moment.as_of
            is_received = any(_is_committed(moment, event) for event in message.events)
            unread[row["instance"], row["database"]] += was_there and not is_received
    counts = {key: (begun[key], gone[key], unread[key]) for key in {*begun, *gone, *unread}}
    return {key: count for key, count in counts.items() if any(count)}


def _endpoints(moment: Moment) -> dict[tuple[str, bool], Row]:
    events = moment.events.get("endpoint_events") or []
    known = read_endpoints(events, list(moment.state.messages), moment.catalog, moment.rules)
    return {(row["conversation_id"], row["is_initiator"]): row for row in endpoints_table(known, events)}


def _is_committed(moment: Moment, event: Row) -> bool:
    """Whether it is a RECEIVED that counts: without a transaction, or with one that has a COMMIT by as_of."""
    if event["event_type"] != "RECEIVED" or event["event_time"] > moment.as_of:
        return False
    if event["transaction_id"] is None or not moment.logged.get("queue_events"):
        return True
    return any(
        outcome["event_type"] == "COMMIT"
        and (outcome["instance"], outcome["transaction_id"]) == (event["instance"], event["transaction_id"])
        and outcome["event_time"] <= moment.as_of
        for outcome in moment.logged["queue_events"] or ()
    )
