"""Messages that a trace shows to be sent before others of a higher level that could be sent, too."""

from datetime import datetime
from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.conformance.links import DIRECTION, with_sendable_at
from pipelines.schedules.transmission import base_level
from pipelines.state.endpoints import SIDE

NUMBERED = [*DIRECTION, "message_sequence_number"]
LEVELS = range(1, 11)
GONE, LOOKS, COMES = 0, 1, 2
"""What happens at one moment, in this order: a message that is sent then, or sendable then, is not passed."""


def conformance_sends(
    sends: DataFrame, messages: DataFrame, endpoints: DataFrame, *, since: datetime | None, as_of: datetime
) -> DataFrame:
    """Count the messages of `sends` that were sent before others which had a higher level.

    Args:
        sends: rows of `sends`.
        messages: `describe_messages`, of any time.
        endpoints: `endpoints` rows.
        since: only messages that were sent from then on; None for all.
        as_of: only messages that were sent before.

    Returns:
        One row per sending instance: `messages`, those that can be compared; `all_messages`, all that it sent
        to another instance, as far as that is known; `inversions`, pairs of messages: one with a higher
        level, not elevated, could be sent before the other was sent, and was sent after it; `with_inversion`,
        messages that were sent too early so.
    """
    sent = with_sendable_at(messages.where(F.col("sent_at") < F.lit(as_of)))
    compared = _compared(sends, sent, since, as_of)
    told = ["instance", "level"]
    waits = compared.where("is_passable and sendable < sent_at")
    moments = [
        waits.select(*told, F.col("sendable").alias("at"), _step(COMES), F.lit(1).alias("change")),
        waits.select(*told, F.col("sent_at").alias("at"), _step(GONE), F.lit(-1).alias("change")),
        compared.select(*told, F.col("sent_at").alias("at"), _step(LOOKS), F.lit(0).alias("change")),
    ]
    before = Window.partitionBy("instance").orderBy("at", "step").rowsBetween(Window.unboundedPreceding, 0)
    waiting = {
        f"waiting_{level}": F.sum(F.when(F.col("level") == level, F.col("change")).otherwise(0)).over(before)
        for level in LEVELS
    }
    line = moments[0].unionByName(moments[1]).unionByName(moments[2]).withColumns(waiting)
    higher = [F.when(F.col("level") < level, F.col(f"waiting_{level}")).otherwise(0) for level in LEVELS]
    counted = (
        line.where(F.col("step") == LOOKS)
        .withColumn("passed", reduce(add, higher))
        .groupBy("instance")
        .agg(
            F.count(F.lit(1)).alias("messages"),
            F.count_if(F.col("passed") > 0).alias("with_inversion"),
            F.sum("passed").cast("bigint").alias("inversions"),
        )
    )
    return counted.join(_all_sent(sent, endpoints, since), "instance", "left").select(
        "instance", "messages", "all_messages", "with_inversion", "inversions"
    )


def _step(step: int) -> Column:
    return F.lit(step).alias("step")


def _compared(sends: DataFrame, sent: DataFrame, since: datetime | None, as_of: datetime) -> DataFrame:
    """One row per message of `sends` whose level is known, and since when it could be sent."""
    within = F.col("sent_at") < F.lit(as_of)
    if since is not None:
        within &= F.col("sent_at") >= F.lit(since)
    level = base_level(F.col("honor"), F.col("level"))
    once = (
        sends.where(within)
        .groupBy("instance", *NUMBERED)
        .agg(
            F.min("sent_at").alias("sent_at"),
            F.min(F.when(F.col("honor").isNotNull(), level)).alias("level"),
            F.max(F.coalesce(F.col("elevated"), F.lit(True)).cast("int")).alias("elevated"),
            F.count("level").alias("levels"),
        )
        .where("level is not null and levels > 0")
    )
    sendable = sent.select(*NUMBERED, F.col("sendable_at").alias("sendable"))
    found = once.join(sendable.where("message_sequence_number is not null"), NUMBERED, "inner")
    return found.select(
        "instance", "level", "sent_at", "sendable", (F.col("elevated") == 0).alias("is_passable")
    )


def _all_sent(sent: DataFrame, endpoints: DataFrame, since: datetime | None) -> DataFrame:
    """How many messages each instance sent to others; to an unknown one counts, too."""
    if since is not None:
        sent = sent.where(F.col("sent_at") >= F.lit(since))
    senders = endpoints.select(*SIDE, "instance").withColumnRenamed("is_initiator", "sent_by_initiator")
    receivers = endpoints.select(
        "conversation_id",
        (~F.col("is_initiator")).alias("sent_by_initiator"),
        F.col("instance").alias("receiving_instance"),
    )
    ways = senders.join(receivers, DIRECTION, "left")
    elsewhere = ways.where("receiving_instance is null or receiving_instance <> instance")
    return (
        sent.select(*DIRECTION)
        .join(elsewhere, DIRECTION, "inner")
        .groupBy("instance")
        .agg(F.count(F.lit(1)).alias("all_messages"))
    )
