"""Which raw rows become events: validity, exact duplicates, conflicting duplicates."""

from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from .spelling import canonical_ids
from .vocabulary import CREATIONS, ENDS, Events, Row

COLUMNS = {
    "endpoint_events": (
        "event_id", "event_time", "instance", "database", "event_type", "conversation_id", "is_initiator",
        "conversation_handle", "conversation_group_id", "contract", "local_service", "remote_service",
        "logged_priority",
    ),
    "message_events": (
        "event_id", "event_time", "instance", "database", "event_type", "message_id", "conversation_id",
        "sent_by_initiator", "message_sequence_number", "message_type", "size_bytes", "queuing_order",
        "transaction_id",
    ),
    "queue_events": (
        "event_id", "event_time", "instance", "database", "queue", "event_type", "session_id",
        "transaction_id", "conversation_group_id", "has_where", "row_count", "queue_status",
    ),
}  # fmt: skip

NEVER_NULL = {
    "endpoint_events": COLUMNS["endpoint_events"][:7],
    "message_events": (*COLUMNS["message_events"][:8], "message_type"),
    "queue_events": COLUMNS["queue_events"][:6],
}

EVENT_TYPES = {
    "endpoint_events": (*CREATIONS, "MOVE_CONVERSATION", *ENDS),
    "message_events": ("SENT", "DELIVERED", "RECEIVED", "FORWARD_ACCEPTED", "FORWARDED"),
    "queue_events": (
        "RECEIVE", "GET_CONVERSATION_GROUP", "COMMIT", "ROLLBACK", "WAIT_STARTED", "WAIT_ENDED",
        "TASK_STARTED", "TASK_EXITED", "QUEUE_ALTERED",
    ),
}  # fmt: skip


@dataclass
class Accepted:
    """What became of the raw rows: accepted events + duplicates + rejected rows = rows that came in."""

    events: Events = field(default_factory=lambda: {source: [] for source in COLUMNS})
    duplicates: dict[str, int] = field(default_factory=lambda: dict.fromkeys(COLUMNS, 0))
    rejected: list[tuple[str, str | None, str, Row]] = field(default_factory=list)
    """(source, event_id, reason, row), one for each reason of each rejected row."""


def accept(batches: list[Events]) -> Accepted:
    """Ingest the batches one after the other, in the order recorded."""
    result = Accepted()
    for batch in batches:
        for source, rows in batch.items():
            _accept_batch(result, source, rows)
    return result


def _accept_batch(result: Accepted, source: str, rows: list[Row]) -> None:
    """Judge the rows of one source in one batch by what was accepted from the batches before it."""
    valid = []
    for row in rows:
        reasons = _reasons(source, row)
        for reason in reasons:
            result.rejected.append((source, row.get("event_id"), reason, row))
        if not reasons:
            valid.append(row)

    recorded = list(result.events[source])
    for position, row in enumerate(valid):
        stands = [other for other in recorded if _same_event(row, other)]
        rivals = stands or [other for other in valid if _same_event(row, other)]
        if any(_content(source, row) != _content(source, other) for other in rivals):
            result.rejected.append((source, row["event_id"], "conflicting_duplicate", row))
        elif stands or any(_same_event(row, earlier) for earlier in valid[:position]):
            result.duplicates[source] += 1
        else:
            result.events[source].append(canonical_ids(row))


def _reasons(source: str, row: Row) -> list[str]:
    """Everything that makes the row no event."""
    event_type = row.get("event_type")
    creation = source == "endpoint_events" and event_type in CREATIONS
    move = source == "endpoint_events" and event_type == "MOVE_CONVERSATION"
    required = list(NEVER_NULL[source])
    if creation:
        required += ["conversation_group_id", "contract", "local_service", "remote_service"]
    if move:
        required += ["conversation_group_id"]

    reasons = [f"missing_{column}" for column in required if row.get(column) is None]
    if event_type is not None and event_type not in EVENT_TYPES[source]:
        reasons.append("unknown_event_type")
    if creation and row.get("is_initiator") not in (None, CREATIONS[str(event_type)]):
        reasons.append("initiator_flag_contradicts_type")
    return reasons


def _same_event(one: Row, other: Row) -> bool:
    """An event_id names one event within a UTC day of event_time."""
    return _key(one) == _key(other)


def _key(row: Row) -> tuple[Any, ...]:
    return (row["event_id"], row["event_time"].astimezone(UTC).date())


def _content(source: str, row: Row) -> tuple[Any, ...]:
    """The declared columns as typed values, ids in their one spelling."""
    read = canonical_ids(row)
    return tuple(read.get(column) for column in COLUMNS[source])
