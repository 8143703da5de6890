"""Queues that are off, and groups that are locked, at `as_of`."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from schemas.keys import QUEUE

GROUP = [*QUEUE, "conversation_group_id"]


def queues_off(catalog_queues: DataFrame, changes: DataFrame, *, as_of: datetime) -> DataFrame:
    """The queues that are off: by their last change before as_of, else by the catalog.

    Args:
        catalog_queues: (instance, database, queue, is_on), one row per queue of the catalog.
        changes: `queue_changes`.
        as_of: the instant.

    Returns:
        (instance, database, queue), unique.
    """
    latest = (
        changes.where(F.col("event_time") < F.lit(as_of))
        .groupBy(*QUEUE)
        .agg(F.max(F.struct("event_time", "event_id", "is_on")).alias("last"))
    )
    state = F.coalesce(F.col("last.is_on"), F.col("is_on"), F.lit(True))
    return catalog_queues.join(latest, QUEUE, "full").where(~state).select(*QUEUE)


def groups_locked(transactions: DataFrame, messages: DataFrame, *, as_of: datetime) -> DataFrame:
    """The groups that an open transaction holds.

    Args:
        transactions: `transactions` rows that may be open at as_of.
        messages: `messages_at`, for the messages in flight.
        as_of: the instant.

    Returns:
        (instance, database, queue, conversation_group_id), unique.
    """
    instant = F.lit(as_of)
    is_open = ~F.coalesce(F.least("committed_at", "rolled_back_at") < instant, F.lit(False))
    named = (
        transactions.where(is_open)
        .select("instance", F.inline("locks"))
        .where(F.col("locked_at") < instant)
        .select(*GROUP)
    )
    in_flight = messages.where("in_flight and receiver.exists and receiver.queue is not null").select(
        "receiver.instance",
        "receiver.database",
        "receiver.queue",
        F.col("receiver.group_id").alias(GROUP[-1]),
    )
    return named.unionByName(in_flight).select(*GROUP).distinct()


def with_state(messages: DataFrame, off: DataFrame, locked: DataFrame) -> DataFrame:
    """Add `state`: queue_off, group_locked or ready, in this order of precedence.

    Args:
        messages: any frame with instance, database, queue and conversation_group_id.
        off: `queues_off`, unique.
        locked: `groups_locked`, unique.
    """
    flagged = messages.join(F.broadcast(off.withColumn("is_off", F.lit(True))), QUEUE, "left").join(
        locked.withColumn("is_locked", F.lit(True)), GROUP, "left"
    )
    state = F.when(F.col("is_off"), "queue_off").when(F.col("is_locked"), "group_locked").otherwise("ready")
    return flagged.withColumn("state", state).drop("is_off", "is_locked")
