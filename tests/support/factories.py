"""Rows with everything in them, so that a test names only what matters to it.

Times are minutes after NOON. The catalog has instance SQL1 with databases A (InitiatorService) and B
(TargetService), both with honor_broker_priority on, and instance SQL2 with the same in database C.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

Row = dict[str, Any]
Events = dict[str, list[Row]]

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
LONG_AGO = NOON - timedelta(days=365)
INITIATOR, TARGET = "InitiatorService", "TargetService"


def at(minute: float = 0, *, day: int = 0) -> datetime:
    """The minute after noon of a day."""
    return NOON + timedelta(days=day, minutes=minute)


def endpoint_event(event_type: str = "BEGIN_DIALOG", conversation: str = "c1", **changes: Any) -> Row:
    """An event of the initiator endpoint in SQL1.A; DIALOG_CREATED is of the target endpoint in SQL1.B."""
    is_initiator = changes.get("is_initiator", event_type != "DIALOG_CREATED")
    return {
        "event_id": f"{event_type} {conversation} {is_initiator}",
        "event_time": at(0),
        "instance": "SQL1",
        "database": "A" if is_initiator else "B",
        "event_type": event_type,
        "conversation_id": conversation,
        "is_initiator": is_initiator,
        "conversation_handle": f"handle {conversation} {is_initiator}",
        "conversation_group_id": f"group {conversation} {is_initiator}",
        "contract": "Contract",
        "local_service": INITIATOR if is_initiator else TARGET,
        "remote_service": TARGET if is_initiator else INITIATOR,
        "logged_priority": None,
        **changes,
    }


def message_event(event_type: str = "SENT", message: str = "c1/0", **changes: Any) -> Row:
    """An event of message <conversation>/<number>, sent in SQL1.A by the initiator, to SQL1.B."""
    conversation, number = message.split("/")
    by_initiator = changes.get("sent_by_initiator", True)
    at_initiator = by_initiator == (event_type == "SENT")
    return {
        "event_id": f"{event_type} {message} {by_initiator}",
        "event_time": at(1),
        "instance": "SQL1",
        "database": "A" if at_initiator else "B",
        "event_type": event_type,
        "message_id": message,
        "conversation_id": conversation,
        "sent_by_initiator": by_initiator,
        "message_sequence_number": int(number),
        "message_type": "Order",
        "size_bytes": 100,
        "queuing_order": None,
        "transaction_id": None,
        **changes,
    }


def queue_event(event_type: str = "RECEIVE", event_id: str = "", **changes: Any) -> Row:
    """An event of the target queue, SQL1.B.TargetQueue."""
    return {
        "event_id": event_id or f"{event_type} {changes.get('transaction_id')}",
        "event_time": at(2),
        "instance": "SQL1",
        "database": "B",
        "queue": "TargetQueue",
        "event_type": event_type,
        "session_id": None,
        "transaction_id": None,
        "conversation_group_id": None,
        "has_where": None,
        "row_count": None,
        "queue_status": None,
        **changes,
    }


FACTORIES = {"endpoint_events": endpoint_event, "message_events": message_event, "queue_events": queue_event}
"""How to make an event of each input."""


def by_source(*rows: Row) -> Events:
    """The events of all three kinds by the input that they belong to."""
    events: Events = {source: [] for source in FACTORIES}
    for row in rows:
        is_message = "message_id" in row
        events[
            "queue_events" if "queue" in row else "message_events" if is_message else "endpoint_events"
        ].append(row)
    return events


def rule(name: str = "Rule", level: int = 7, **changes: Any) -> Row:
    """A row of the rule history: of SQL1.A, all criteria ANY, valid for ever."""
    return {
        "instance": "SQL1",
        "database": "A",
        "name": name,
        "contract": None,
        "local_service": None,
        "remote_service": None,
        "level": level,
        "valid_from": LONG_AGO,
        "valid_to": None,
        **changes,
    }


def short_talk(name: str, day: int, *, ends: bool) -> Events:
    """A conversation begun at noon of a day, its target a minute later; both end a minute later, or not."""
    begun = [
        endpoint_event("BEGIN_DIALOG", name, event_time=at(day=day)),
        endpoint_event("DIALOG_CREATED", name, event_time=at(1, day=day)),
        message_event("SENT", f"{name}/0", event_time=at(day=day)),
        message_event("DELIVERED", f"{name}/0", event_time=at(1, day=day)),
    ]
    return by_source(*begun, *(ends_of(name, at(2, day=day)) if ends else []))


def ends_of(name: str, moment: datetime) -> list[Row]:
    """The events with which both sides of a conversation end it."""
    return [
        endpoint_event("END_CONVERSATION", name, event_time=moment, is_initiator=side)
        for side in (True, False)
    ]


def create_rule(
    name: str,
    level: int,
    *,
    instance: str = "SQL1",
    database: str = "A",
    effective_from: datetime = LONG_AGO,
    **criteria: Any,
) -> Row:
    """A CREATE statement as a rule file has it; of SQL1.A, all criteria ANY, unless changed."""
    return {
        "effective_from": effective_from,
        "instance": instance,
        "database": database,
        "create": {"name": name, "level": level, **criteria},
    }


def database(name: str, service: str, queue: str, *, honor: bool = True, status: str = "on") -> Row:
    """A database of the catalog with one service."""
    return {
        "name": name,
        "honor_broker_priority": honor,
        "queues": [{"name": queue, "status": status}],
        "services": [{"name": service, "queue": queue}],
    }


def catalog(changes: Mapping[str, list[Row]] | None = None) -> Row:
    """The catalog: databases by instance, SQL1 and SQL2 unless changed."""
    databases: dict[str, list[Row]] = {
        "SQL1": [database("A", INITIATOR, "InitiatorQueue"), database("B", TARGET, "TargetQueue")],
        "SQL2": [database("C", TARGET, "TargetQueue")],
        **(changes or {}),
    }
    return {"instances": [{"name": name, "databases": each} for name, each in databases.items()]}
