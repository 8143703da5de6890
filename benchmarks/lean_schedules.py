"""The floor's groups and schedules; see `lean.py` for what they leave out."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.state.endpoints import SIDE
from schemas.keys import GROUP, QUEUE


def ready_messages(left: DataFrame, endpoints: DataFrame) -> DataFrame:
    """The open messages that have arrived, with the endpoint that is to receive them."""
    receivers = endpoints.select(
        *SIDE, *GROUP, "conversation_handle", "contract", "local_service", "remote_service", "priority"
    )
    arrived = left.where("arrived_at is not null").withColumn("is_initiator", ~F.col("sent_by_initiator"))
    return arrived.drop("sent_by_initiator", "sent_at", "size_bytes", "differs").join(receivers, SIDE)


def group_priorities(ready: DataFrame, materialize: Materialize) -> tuple[DataFrame, DataFrame]:
    """The conversations with ready messages, and the table of their groups.

    Both have time and id of a message more: a conversation of its oldest one, and a group of the oldest one
    at its priority.
    """
    conversations = materialize(
        ready.groupBy(*GROUP, *SIDE, "priority").agg(
            F.min("arrived_at").alias("head_at"),
            F.min_by("message_id", "arrived_at").alias("head_id"),
            F.count("*").alias("messages"),
        )
    )
    order = (F.desc("priority"), "head_at", "head_id")
    placed = conversations.withColumn(
        "place", F.row_number().over(Window.partitionBy(*GROUP).orderBy(*order))
    )

    def of_first(name: str) -> Column:
        return F.min(F.when(F.col("place") == 1, F.col(name)))

    groups = placed.groupBy(*GROUP).agg(
        F.max("priority").alias("priority"),
        of_first("conversation_id").alias("deciding_conversation_id"),
        F.count("*").alias("conversations"),
        F.sum("messages").alias("messages"),
        F.min("head_at").alias("oldest_arrival"),
        of_first("head_at").alias("head_at"),
        of_first("head_id").alias("head_id"),
    )
    position = F.row_number().over(Window.partitionBy(*QUEUE).orderBy(*order))
    return conversations, materialize(groups.withColumns({"state": F.lit("ready"), "position": position}))


def receive_schedule(ready: DataFrame, conversations: DataFrame, groups: DataFrame) -> DataFrame:
    """The table of the receive order: one row per ready message."""
    receives = groups.select(
        *GROUP, F.col("priority").alias("group_priority"), F.col("position").alias("receive_number")
    )
    heads = conversations.select(*SIDE, "head_at", "head_id")
    rows = heads.join(receives.join(ready, GROUP, "right"), SIDE, "right")
    order = (
        "receive_number",
        F.desc("priority"),
        "head_at",
        "head_id",
        "conversation_id",
        F.desc("is_initiator"),
        F.asc_nulls_last("message_sequence_number"),
        "arrived_at",
        "message_id",
    )
    position = F.row_number().over(Window.partitionBy(*QUEUE).orderBy(*order))
    return rows.withColumns({"position": position, "state": F.lit("ready")}).drop("head_at", "head_id")


def transmission_schedule(
    left: DataFrame, endpoints: DataFrame, honors: DataFrame, services: DataFrame
) -> DataFrame:
    """The table of the transmission order: one row per message that waits to be sent."""
    senders = endpoints.select(
        *SIDE,
        "instance",
        "database",
        F.col("local_service").alias("from_service"),
        F.col("remote_service").alias("to_service"),
        "contract",
        "priority",
    )
    destinations = services.select(
        F.col("local_service").alias("to_service"),
        F.col("instance").alias("destination_instance"),
        F.col("database").alias("destination_database"),
    )
    waiting = left.where("arrived_at is null").withColumnRenamed("sent_by_initiator", "is_initiator")
    before = (
        Window.partitionBy(*SIDE)
        .orderBy(F.asc_nulls_last("message_sequence_number"), "message_id")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    level = F.when(F.col("honors"), F.col("priority")).otherwise(F.lit(5))
    rows = (
        waiting.drop("arrived_at", "queuing_order", "differs")
        .join(senders, SIDE)
        .join(F.broadcast(honors), ["instance", "database"])
        .join(F.broadcast(destinations), "to_service", "left")
        .withColumns(
            {
                "transmit_priority": level.cast("int"),
                "sendable_at": F.max("sent_at").over(before),
                "elevated": F.lit(False),
                "forwarded": F.lit(False),
                "block": F.lit(None).cast("bigint"),
            }
        )
        .withColumnRenamed("is_initiator", "sent_by_initiator")
        .drop("sent_at", "honors")
    )
    order = (
        F.desc("transmit_priority"),
        "sendable_at",
        "conversation_id",
        F.desc("sent_by_initiator"),
        F.asc_nulls_last("message_sequence_number"),
        "message_id",
    )
    return rows.withColumn("position", F.row_number().over(Window.partitionBy("instance").orderBy(*order)))
