"""Queues that are off: messages stand in them, and wait for them in a transmission queue."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.activation.messages import rolled_back_transactions
from pipelines.config.catalog import BINDINGS, Catalog
from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count, format_queue
from pipelines.engine.differences import run_concurrently
from pipelines.schedules.ready import queues_off
from pipelines.state.events_before import events_before
from pipelines.state.transactions import TRANSACTION
from pipelines.storage.collect import collect_rows
from pipelines.storage.small_frame import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES, QUEUE_FACTS
from schemas.keys import QUEUE
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE

QUEUES = "instance string, database string, queue string, is_on boolean"
NAMES = "instance string, database string, queue string"
ENOUGH = 5
"""After so many rollbacks in a row the server turns a queue off."""
POISON = (
    "message_id",
    "conversation_id",
    "conversation_group_id",
    "rollbacks",
    "last_received_at",
    "last_transaction_id",
)
"""What is said of the message behind rollbacks."""
Row = dict[str, Any]


def queues_off_at(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> list[Row]:
    """Find the queues that are off at a published as_of, and what waits for them.

    Returns:
        One row per queue with messages in it or for it: instance, database, queue; `off_since` (a logged
        QUEUE_ALTERED; else null) and `seen_off_at` (the snapshot that shows it, where only one does);
        `messages` in the queue, `waiting` for it in the instance's transmission queues, `oldest` of both; and
        `rolled_back`: of its messages the one behind the rollbacks (POISON), null if the log knows none.
        Most messages first.
    """
    off = _off(warehouse, catalog, as_of)
    if not off:
        return []
    queues = small_frame(warehouse.spark, [[row[name] for name in QUEUE] for row in off], NAMES)
    standing, waiting, poison = run_concurrently(
        warehouse.spark,
        lambda: _by_queue(_standing(warehouse, as_of)),
        lambda: _by_queue(_waiting(warehouse, catalog, off, as_of)),
        lambda: _by_queue(_rolled_back(warehouse, queues, as_of)),
    )
    rows = []
    for row in off:
        key = tuple(row[name] for name in QUEUE)
        here, there = standing.get(key), waiting.get(key)
        both = [each for each in (here, there) if each]
        if both:
            rows.append(
                {
                    **row,
                    "messages": here["messages"] if here else 0,
                    "waiting": there["messages"] if there else 0,
                    "oldest": min(each["oldest"] for each in both),
                    "rolled_back": {name: poison[key][name] for name in POISON} if key in poison else None,
                }
            )
    return sorted(rows, key=lambda row: (-row["messages"] - row["waiting"], format_queue(row)))


def with_queue_off(transmissions: DataFrame, catalog: Catalog, off: Sequence[Row]) -> DataFrame:
    """Add `waits_for`: the queue of the same instance that is off and that the message is for, else null.

    Args:
        transmissions: rows of `transmission_schedule`.
        catalog: what binds services to queues.
        off: `queues_off_at`, or any rows that name the queues that are off.
    """
    names = {tuple(row[name] for name in QUEUE): format_queue(row) for row in off}
    bound = [
        (instance, database, service, names[instance, database, queue])
        for instance, database, service, queue in catalog.service_bindings()
        if (instance, database, queue) in names
    ]
    if not bound:
        return transmissions.withColumn("waits_for", F.lit(None).cast("string"))
    spark = transmissions.sparkSession
    services = small_frame(spark, bound, BINDINGS.replace("queue string", "waits_for string")).select(
        F.col("instance").alias("destination_instance"),
        F.col("database").alias("destination_database"),
        F.col("service").alias("to_service"),
        "waits_for",
    )
    keys = ["destination_instance", "destination_database", "to_service"]
    is_here = (F.col("destination_instance") == F.col("instance")) & ~F.col("forwarded")
    found = transmissions.join(F.broadcast(services), keys, "left")
    return found.withColumn("waits_for", F.when(is_here, F.col("waits_for")))


def off_sentence(row: Row) -> str:
    """Say that a queue is off, what waits in it and for it, and which message was rolled back."""
    return "; ".join([f"{_how_off(row)}; {_what_waits(row)}", *filter(None, [rolled_back_sentence(row)])])


def waiting_sentence(row: Row) -> str:
    """Say how many messages wait for a queue that is off without standing in it; empty if none do."""
    if not row["waiting"]:
        return ""
    more = "more " if row["messages"] else ""
    verb = "waits" if row["waiting"] == 1 else "wait"
    return f"{row['waiting']:,} {more}{verb} for this queue, in a transmission queue of {row['instance']}"


def rolled_back_sentence(row: Row) -> str:
    """Name the message behind the rollbacks, or say that the log knows none; empty without messages."""
    poison = row["rolled_back"]
    if poison is None:
        return "the log has no RECEIVED of them that was rolled back" if row["messages"] else ""
    return (
        f"message {poison['message_id']} of conversation {poison['conversation_id']} in group "
        f"{poison['conversation_group_id']} was received and rolled back "
        f"{format_count(poison['rollbacks'], 'time')}, last at {format_instant(poison['last_received_at'])}"
    )


def _how_off(row: Row) -> str:
    if row["off_since"] is not None:
        return f"the queue is off since {format_instant(row['off_since'])}"
    if row["seen_off_at"] is not None:
        return f"the queue was seen off at {format_instant(row['seen_off_at'])} by a snapshot"
    return "the catalog says that the queue is off"


def _what_waits(row: Row) -> str:
    stand = "stands" if row["messages"] == 1 else "stand"
    parts = [f"{format_count(row['messages'], 'message')} {stand} in it"] if row["messages"] else []
    return " and ".join([*parts, *filter(None, [waiting_sentence(row)])])


def _off(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> list[Row]:
    """The queues that are off: by their last change, else by the catalog."""
    if not warehouse.exists(QUEUE_FACTS) and all(row[3] for row in catalog.queue_rows()):
        return []
    events = events_before(warehouse.read_open(QUEUE_FACTS, as_of), as_of)
    altered = events.where("event_type = 'QUEUE_ALTERED' and queue_status is not null")
    queues = small_frame(warehouse.spark, catalog.queue_rows(), QUEUES)
    is_off = F.upper("queue_status") == "OFF"
    last_on = altered.where(~is_off).groupBy(*QUEUE).agg(F.max("event_time").alias("last_on"))
    since = (
        altered.where(is_off)
        .join(last_on, QUEUE, "left")
        .where(F.col("last_on").isNull() | (F.col("event_time") > F.col("last_on")))
        .groupBy(*QUEUE)
        .agg(
            F.min(F.when(F.col("seen_at").isNull(), F.col("event_time"))).alias("off_since"),
            F.min("seen_at").alias("seen_off_at"),
        )
    )
    rows = collect_rows(queues_off(queues, altered).join(since, QUEUE, "left"))
    return [
        {**row, "seen_off_at": None if row["off_since"] is not None else row["seen_off_at"]} for row in rows
    ]


def _standing(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).where("state = 'queue_off'")
    return groups.groupBy(*QUEUE).agg(
        F.sum("messages").alias("messages"), F.min("oldest_arrival").alias("oldest")
    )


def _waiting(warehouse: Warehouse, catalog: Catalog, off: Sequence[Row], as_of: datetime) -> DataFrame:
    names = [[row[name] for name in QUEUE] + [format_queue(row)] for row in off]
    queues = small_frame(warehouse.spark, names, f"{NAMES}, waits_for string")
    schedule = warehouse.read_as_of(TRANSMISSION_SCHEDULE, as_of)
    counts = (
        with_queue_off(schedule, catalog, off)
        .where("waits_for is not null")
        .groupBy("waits_for")
        .agg(F.count(F.lit(1)).alias("messages"), F.min("sendable_at").alias("oldest"))
    )
    return F.broadcast(queues).join(counts, "waits_for", "inner").select(*QUEUE, "messages", "oldest")


def _rolled_back(warehouse: Warehouse, off: DataFrame, as_of: datetime) -> DataFrame:
    """Of each queue that is off, the message that was received and rolled back most, up to ENOUGH times.

    Of several the one that was received last, then the first message_id.
    """
    schedule = warehouse.read_as_of(RECEIVE_SCHEDULE, as_of).where("state = 'queue_off'")
    times = rollbacks(warehouse, schedule.select("message_id"), as_of)
    first = Window.partitionBy(*QUEUE).orderBy(
        F.least("rollbacks", F.lit(ENOUGH)).desc(), F.desc("last_received_at"), "message_id"
    )
    return (
        schedule.select(*QUEUE, "message_id", "conversation_id", "conversation_group_id")
        .join(F.broadcast(off), QUEUE, "left_semi")
        .join(times, "message_id", "inner")
        .withColumn("place", F.row_number().over(first))
        .where("place = 1")
    )


def rollbacks(warehouse: Warehouse, messages: DataFrame, as_of: datetime) -> DataFrame:
    """How often messages were received and rolled back before as_of.

    Args:
        warehouse: the ledger.
        messages: (message_id) of open messages, unique.
        as_of: the instant.

    Returns:
        One row per message that was: message_id, `rollbacks` (distinct transactions with a ROLLBACK and no
        COMMIT that RECEIVED it), `last_received_at` and `last_transaction_id` of the latest of them.
    """
    returning = rolled_back_transactions(events_before(warehouse.read_open(QUEUE_FACTS, as_of), as_of))
    received = events_before(warehouse.read_open(MESSAGES, as_of), as_of).where("event_type = 'RECEIVED'")
    return (
        F.broadcast(returning)
        .join(received.select(*TRANSACTION, "message_id", "event_time"), TRANSACTION, "inner")
        .join(messages, "message_id", "left_semi")
        .groupBy("message_id")
        .agg(
            _distinct().alias("rollbacks"),
            F.max("event_time").alias("last_received_at"),
            F.max_by("transaction_id", "event_time").alias("last_transaction_id"),
        )
    )


def _distinct() -> Column:
    return F.count_distinct(*TRANSACTION)


def _by_queue(rows: DataFrame) -> dict[tuple[str, ...], Row]:
    return {tuple(row[name] for name in QUEUE): row for row in collect_rows(rows)}
