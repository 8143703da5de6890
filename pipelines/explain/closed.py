"""Why a message is in no schedule of an as_of."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import functions as F

from pipelines.config.instants import format_instant
from pipelines.console.invocation import name_command
from pipelines.explain.open_first import open_first
from pipelines.explain.receipts import last_taken
from pipelines.state.messages import ARRIVALS
from pipelines.storage.published import batches_since, last_batch_of
from pipelines.storage.warehouse import Warehouse
from schemas.events import END_WITH_CLEANUP, END_WITH_ERROR, ENDPOINT_FACTS, ENDS, LEFT, QUEUE_FACTS


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
    rows = open_first(
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
