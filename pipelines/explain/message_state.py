"""The state of a message in one sentence: where it stands, or why it is in no schedule."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.console.invocation import command_line
from pipelines.engine.frames import among, small_frame
from pipelines.explain.positions import ReceivePosition, TransmissionPosition
from pipelines.explain.read import collect_open_first
from pipelines.questions.unresolved import MISSING
from pipelines.state.events_before import events_before
from pipelines.state.messages import ARRIVALS
from pipelines.state.transactions import TRANSACTION, uncommitted
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import batches_since, last_batch_of
from pipelines.storage.warehouse import Warehouse
from schemas.events import END_WITH_CLEANUP, END_WITH_ERROR, ENDPOINT_FACTS, ENDS, QUEUE_FACTS

HELD = {"queue_off": "the queue is off", "group_locked": "an open transaction locks the group"}
"""Why a message in a queue is not received, by the state of its group."""


def describe_open(
    receive: ReceivePosition | None, transmissions: Sequence[TransmissionPosition], missing: Mapping[str, str]
) -> str:
    """Say in one sentence where an open message stands."""
    if receive is not None and receive.state == "ready":
        return f"It is received with RECEIVE number {receive.receive_number} of {receive.queue}."
    if receive is not None:
        return f"It is in {receive.queue} and not received, as {HELD[receive.state]}."
    for place in transmissions:
        if place.waits_for is not None:
            return (
                f"It waits in a transmission queue of {place.instance}, held by {place.database}, for "
                f"{place.waits_for}, which is off."
            )
    if transmissions:
        return f"It waits to be sent by {' and '.join(place.instance for place in transmissions)}."
    return f"It is open, and {describe_missing(*next(iter(missing.items())))}."


def describe_missing(kind: str, reason: str) -> str:
    """Say why a message is not in a schedule, by the kind of the schedule and the reason of `unresolved`."""
    where = "in no order to send" if kind == "transmission" else "not matched to a queue"
    return f"{where}: {MISSING[reason]} ({reason})"


def describe_closed(
    warehouse: Warehouse,
    events: Sequence[Mapping[str, Any]],
    known: Mapping[str, Any],
    as_of: datetime,
    gone: str | None = None,
) -> str:
    """Say in one sentence why a message is in no schedule (docs/semantics.md).

    Args:
        warehouse: what to read.
        events: all events of the message, with `batch`.
        known: its conversation_id, sent_by_initiator and message_type.
        as_of: an as_of that was published.
        gone: between which snapshots it has gone, in words, if these alone show it.
    """
    return f"It is in no schedule: {gone or _reason(warehouse, events, known, as_of)}."


def _reason(
    warehouse: Warehouse, events: Sequence[Mapping[str, Any]], known: Mapping[str, Any], as_of: datetime
) -> str:
    before = [event for event in events if event["event_time"] < as_of]
    if not before:
        first = min(event["event_time"] for event in events)
        return f"its first event, at {format_instant(first)}, is not before as_of"
    taken = find_last_receive(before, warehouse.read(QUEUE_FACTS), as_of=as_of)
    if taken is not None and taken.is_received:
        return f"it was received at {format_instant(taken.at)}"
    if taken is not None:
        return (
            f"a RECEIVE took it at {format_instant(taken.at)}, in a transaction of which no end before as_of "
            "is known"
        )
    return (
        _reason_dropped(warehouse, before, known, as_of)
        or _reason_forwarded(before)
        or _reason_late(warehouse, before, as_of)
        or "the events that are known don't say why"
    )


def _reason_dropped(
    warehouse: Warehouse, before: Sequence[Mapping[str, Any]], known: Mapping[str, Any], as_of: datetime
) -> str | None:
    """Return the first end that dropped the message: the receiver's, or one of the sender's."""
    if not _event_types(before).intersection(("SENT", *ARRIVALS)):
        return None
    dropping = {(not known["sent_by_initiator"], event_type) for event_type in ENDS}
    if not _event_types(before).intersection(ARRIVALS):
        dropping.add((known["sent_by_initiator"], END_WITH_CLEANUP))
        if not known["message_type"].endswith("/ServiceBroker/Error"):
            dropping.add((known["sent_by_initiator"], END_WITH_ERROR))
    rows = collect_open_first(
        warehouse.read(ENDPOINT_FACTS).where(F.col("conversation_id") == known["conversation_id"]),
        *("event_time", "event_type", "is_initiator", "seen_at"),
        moment="event_time",
    )
    ends = [
        row
        for row in rows
        if row["event_time"] < as_of and (row["is_initiator"], row["event_type"]) in dropping
    ]
    if not ends:
        return None
    end = min(ends, key=itemgetter("event_time", "event_type"))
    side = "sender" if end["is_initiator"] == known["sent_by_initiator"] else "receiver"
    shown = "" if end["seen_at"] is None else ", by a snapshot"
    when = format_instant(end["event_time"])
    return f"an end of its conversation dropped it: {end['event_type']} of its {side} at {when}{shown}"


def _reason_forwarded(before: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the reason if instances forwarded the message and no other event is known."""
    passed = {
        event["instance"]: event["event_time"] for event in before if event["event_type"] == "FORWARDED"
    }
    is_known = _event_types(before).intersection(("SENT", *ARRIVALS))
    if not passed or is_known or any(event["instance"] not in passed for event in before):
        return None
    said = [f"{instance} passed it on at {format_instant(at)}" for instance, at in sorted(passed.items())]
    return f"{' and '.join(said)}, and neither its SENT nor its arrival before as_of is known"


def _reason_late(warehouse: Warehouse, before: Sequence[Mapping[str, Any]], as_of: datetime) -> str | None:
    """Return the reason if events arrived after this as_of was published: its tables lack them."""
    since = batches_since(warehouse, as_of)
    if not since:
        return None
    covered = last_batch_of(warehouse, as_of)
    again = f"run {command_line('schedules', '--as-of', format_instant(as_of))} to schedule it with them"
    if any(event["batch"] > covered for event in before):
        return f"events of it came in after this as_of was published; {again}"
    return f"what came in up to then doesn't say why, and more came in later (batches: {since:,}); {again}"


def _event_types(events: Sequence[Mapping[str, Any]]) -> set[str]:
    return {event["event_type"] for event in events}


@dataclass(frozen=True)
class LastReceive:
    """The latest RECEIVED event without a ROLLBACK; `is_received` is false while its transaction is open."""

    at: datetime
    is_received: bool


def find_last_receive(
    events: Iterable[Mapping[str, Any]], queue_events: DataFrame, *, as_of: datetime
) -> LastReceive | None:
    """Find when a message was last received and not rolled back, before as_of (docs/semantics.md).

    Args:
        events: all events of the message.
        queue_events: the table of queue events; only rows of the message's transactions are read.
        as_of: the instant.

    Returns:
        None if no RECEIVED event is left. The message is received if one of them is final: its transaction
        has a COMMIT, or it has no transaction, or the log has no queue events.
    """
    received = [
        event
        for event in events
        if event["event_type"] == "RECEIVED" and not event["undone"] and event["event_time"] < as_of
    ]
    is_open = _find_uncommitted(received, queue_events, as_of)
    if any(is_open.values()) and queue_events.isEmpty():
        is_open = {}
    # `is_open` lacks the transactions that have a COMMIT.
    standing = [event for event in received if is_open.get(_transaction_key(event)) is not False]
    if not standing:
        return None
    return LastReceive(
        max(event["event_time"] for event in standing),
        any(_transaction_key(event) not in is_open for event in standing),
    )


def _find_uncommitted(
    received: Iterable[Mapping[str, Any]], queue_events: DataFrame, as_of: datetime
) -> dict[tuple[Any, ...], bool]:
    """Return whether each transaction without a COMMIT is open."""
    rows = sorted({_transaction_key(event) for event in received if event["transaction_id"] is not None})
    if not rows:
        return {}
    spark = queue_events.sparkSession
    names = "instance string, transaction_id string"
    took = small_frame(spark, rows, names).withColumn("event_type", F.lit("RECEIVED"))
    of_them = among(queue_events, rows, names)
    found = collect_rows(uncommitted(took, events_before(of_them, as_of)))
    return {_transaction_key(row): row["is_open"] for row in found}


def _transaction_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in TRANSACTION)
