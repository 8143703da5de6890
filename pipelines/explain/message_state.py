"""The state of a message in one sentence: where it stands, or why it is in no schedule."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.console.invocation import name_command
from pipelines.explain.queue import ReceivePlace, TransmissionPlace
from pipelines.explain.read import collect_open_first
from pipelines.state.events_before import events_before
from pipelines.state.messages import ARRIVALS
from pipelines.state.transactions import TRANSACTION, uncommitted
from pipelines.storage.collect import collect_rows
from pipelines.storage.published import batches_since, last_batch_of
from pipelines.storage.small_frame import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.events import END_WITH_CLEANUP, END_WITH_ERROR, ENDPOINT_FACTS, ENDS, LEFT, QUEUE_FACTS


def open_state(
    receive: ReceivePlace | None, transmissions: Sequence[TransmissionPlace], missing: Mapping[str, str]
) -> str:
    """Say in one sentence where an open message stands."""
    if receive is not None and receive.state == "ready":
        return f"It is received with RECEIVE number {receive.receive_number} of {receive.queue}."
    if receive is not None:
        return f"It is in {receive.queue} and not received: {receive.state}."
    for place in transmissions:
        if place.waits_for is not None:
            return (
                f"It waits in a transmission queue of {place.instance}, held by {place.database}, for "
                f"{place.waits_for}, which is off."
            )
    if transmissions:
        return f"It waits to be sent by {' and '.join(place.instance for place in transmissions)}."
    kind, reason = next(iter(missing.items()))
    return f"It is open, but the {kind} schedule can't place it: {reason}."


def closed_state(
    warehouse: Warehouse, events: Sequence[Mapping[str, Any]], known: Mapping[str, Any], as_of: datetime
) -> str:
    """Say in one sentence why a message is in no schedule.

    Args:
        warehouse: what to read.
        events: all events of the message, with `batch`.
        known: its conversation_id, sent_by_initiator and message_type.
        as_of: an as_of that was published.

    Source: the design, "State at as_of".
    """
    return f"It is in no schedule: {_why(warehouse, events, known, as_of)}."


def _why(
    warehouse: Warehouse, events: Sequence[Mapping[str, Any]], known: Mapping[str, Any], as_of: datetime
) -> str:
    before = [event for event in events if event["event_time"] < as_of]
    if not before:
        first = min(event["event_time"] for event in events)
        return f"its first event, at {format_instant(first)}, is not before as_of"
    taken = last_taken(before, warehouse.read(QUEUE_FACTS), as_of=as_of)
    if taken is not None and taken.is_received:
        return f"it was received at {format_instant(taken.at)}"
    if taken is not None:
        return (
            f"a RECEIVE took it at {format_instant(taken.at)}, in a transaction of which no end before as_of "
            "is known"
        )
    return (
        _left(before)
        or _dropped(warehouse, before, known, as_of)
        or _passed_on(before)
        or _late(warehouse, before, as_of)
        or "the events that are known don't say why"
    )


def _left(before: Sequence[Mapping[str, Any]]) -> str | None:
    """That a complete transmission_queue of a snapshot showed it no more."""
    times = [event["seen_at"] for event in before if event["event_type"] == LEFT]
    if not times or _types(before).intersection(ARRIVALS):
        return None
    return (
        f"the snapshot of {format_instant(min(times))} no longer shows it in the transmission queue, and no "
        "arrival before as_of is known"
    )


def _dropped(
    warehouse: Warehouse, before: Sequence[Mapping[str, Any]], known: Mapping[str, Any], as_of: datetime
) -> str | None:
    """The first end that dropped it: any of its receiver, or one of its sender's that drops what it sent."""
    if not _types(before).intersection(("SENT", *ARRIVALS)):
        return None
    dropping = {(not known["sent_by_initiator"], event_type) for event_type in ENDS}
    if not _types(before).intersection(ARRIVALS):
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


def _passed_on(before: Sequence[Mapping[str, Any]]) -> str | None:
    """That instances forwarded it, where nothing else is known of it."""
    passed = {
        event["instance"]: event["event_time"] for event in before if event["event_type"] == "FORWARDED"
    }
    is_known = _types(before).intersection(("SENT", *ARRIVALS))
    if not passed or is_known or any(event["instance"] not in passed for event in before):
        return None
    said = [f"{instance} passed it on at {format_instant(at)}" for instance, at in sorted(passed.items())]
    return f"{' and '.join(said)}, and neither its SENT nor its arrival before as_of is known"


def _late(warehouse: Warehouse, before: Sequence[Mapping[str, Any]], as_of: datetime) -> str | None:
    """That events came in after this as_of was published last: its tables lack them."""
    since = batches_since(warehouse, as_of)
    if not since:
        return None
    covered = last_batch_of(warehouse, as_of)
    again = f"run {name_command('schedules')} --as-of {format_instant(as_of)} to schedule it with them"
    if any(event["batch"] > covered for event in before):
        return f"events of it came in after this as_of was published; {again}"
    return f"what came in up to then doesn't say why, and more came in later (batches: {since:,}); {again}"


def _types(events: Sequence[Mapping[str, Any]]) -> set[str]:
    return {event["event_type"] for event in events}


@dataclass(frozen=True)
class Taken:
    """The latest RECEIVED event that no ROLLBACK undid; `is_received` is false while one may still."""

    at: datetime
    is_received: bool


def last_taken(
    events: Iterable[Mapping[str, Any]], queue_events: DataFrame, *, as_of: datetime
) -> Taken | None:
    """Find when a message was last taken and not given back, before as_of.

    Args:
        events: all events of the message.
        queue_events: the table of queue events; only rows of the message's transactions are read.
        as_of: the instant.

    Returns:
        None if it never was taken, or was always given back. It is received if any of its RECEIVED events
        counts: those of a transaction with a COMMIT, those without a transaction, and all of them where
        there are no queue events at all.

    Source: the design, "State at as_of".
    """
    received = [
        event for event in events if event["event_type"] == "RECEIVED" and event["event_time"] < as_of
    ]
    is_open = _uncommitted(received, queue_events, as_of)
    if any(is_open.values()) and queue_events.isEmpty():
        is_open = {}
    # Of a transaction that has a COMMIT, nothing is said.
    standing = [event for event in received if is_open.get(_transaction(event)) is not False]
    if not standing:
        return None
    return Taken(
        max(event["event_time"] for event in standing),
        any(_transaction(event) not in is_open for event in standing),
    )


def _uncommitted(
    received: Iterable[Mapping[str, Any]], queue_events: DataFrame, as_of: datetime
) -> dict[tuple[Any, ...], bool]:
    """Of the transactions without COMMIT, whether they are open."""
    rows = sorted({_transaction(event) for event in received if event["transaction_id"] is not None})
    if not rows:
        return {}
    spark = queue_events.sparkSession
    took = small_frame(spark, rows, "instance string, transaction_id string").withColumn(
        "event_type", F.lit("RECEIVED")
    )
    of_them = queue_events.where(F.col("transaction_id").isin([row[1] for row in rows]))
    found = collect_rows(uncommitted(took, events_before(of_them, as_of)))
    return {_transaction(row): row["is_open"] for row in found}


def _transaction(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in TRANSACTION)
