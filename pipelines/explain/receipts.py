"""When a message was last taken out of its queue, and whether for good."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.state.events_before import events_before
from pipelines.state.transactions import TRANSACTION, uncommitted
from pipelines.storage.collect import collect_rows
from pipelines.storage.small_frame import small_frame


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
