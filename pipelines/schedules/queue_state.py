"""Queues that are off, and groups that are locked, at as_of."""

from pyspark.sql import DataFrame, functions as F

from pipelines.state.events_before import moment_and_id
from schemas.keys import GROUP, QUEUE


def queues_off(catalog_queues: DataFrame, queue_events: DataFrame) -> DataFrame:
    """The queues that are off: by their last change, else by the catalog.

    Args:
        catalog_queues: (instance, database, queue, is_on), one row per queue of the catalog.
        queue_events: the queue events that count.

    Returns:
        (instance, database, queue), unique.

    A QUEUE_ALTERED without queue_status says nothing about on or off (the design, "queue_events").
    """
    altered = queue_events.where("event_type = 'QUEUE_ALTERED' and queue_status is not null")
    latest = altered.groupBy(*QUEUE).agg(F.max_by("queue_status", moment_and_id()).alias("last_status"))
    is_on = F.coalesce(F.upper("last_status") != "OFF", F.col("is_on"), F.lit(True))
    return catalog_queues.join(latest, QUEUE, "full").where(~is_on).select(*QUEUE)


def groups_locked(named: DataFrame, messages: DataFrame) -> DataFrame:
    """The groups that an open transaction holds.

    Args:
        named: `state.named_locks`.
        messages: `placed_messages`, for the messages in flight.

    Returns:
        (instance, database, queue, conversation_group_id), unique.
    """
    in_flight = messages.where("in_flight and receiver_exists and receiver_queue is not null").select(
        F.col("receiver_instance").alias("instance"),
        F.col("receiver_database").alias("database"),
        F.col("receiver_queue").alias("queue"),
        F.col("receiver_group_id").alias("conversation_group_id"),
    )
    return named.unionByName(in_flight).distinct()


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
