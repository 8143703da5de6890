"""The messages that a replay plays: those ready as it begins, and those that become ready in its period."""

from pyspark.sql import DataFrame, functions as F

from pipelines.replay.period import Period
from pipelines.replay.receivers import receiving

WHAT = (
    "message_id",
    "conversation_id",
    "sent_by_initiator",
    "message_type",
    "message_sequence_number",
    "queuing_order",
    "arrived_at",
)


def ready_messages(waiting: DataFrame, returns: DataFrame, receivers: DataFrame, period: Period) -> DataFrame:
    """The messages that stand in the queues as the period begins, and those that a ROLLBACK gives back in it.

    Args:
        waiting: `state.open_messages` as the period begins.
        returns: `transactions.Open.returns`.
        receivers: `receivers`.
        period: what is played.

    Returns:
        One row per message_id: what it is, its receiving endpoint with its queue; `from_at`: the start of
        the period, or the ROLLBACK; `is_ready`: it is ready as the period begins.
    """
    ready = waiting.where("in_queue").select(*WHAT, F.lit(period.start).alias("from_at"))
    returned = waiting.where("in_flight").join(returns, "message_id")
    parts = (ready, True), (returned.select(*WHAT, F.col("returned_at").alias("from_at")), False)
    in_queue, back = (rows.withColumn("is_in_queue", F.lit(flag)) for rows, flag in parts)
    is_ready = F.col("is_in_queue") & (F.col("created_at") < F.lit(period.start))
    known = receiving(in_queue.unionByName(back), receivers)
    return known.withColumn("is_ready", is_ready).drop("is_in_queue")


def arriving(placed: DataFrame, period: Period) -> DataFrame:
    """The messages that arrive in the period, with `from_at`, their arrival, and `is_ready`, false.

    Args:
        placed: `state.messages.facts`, each with its receiving endpoint (`receivers.receiving`).
        period: what is played.
    """
    arrived_at = F.col("arrived_at")
    arrived = placed.where((arrived_at >= F.lit(period.start)) & (arrived_at < F.lit(period.end)))
    return arrived.withColumns({"from_at": arrived_at, "is_ready": F.lit(False)})


def in_time(messages: DataFrame, period: Period) -> DataFrame:
    """The messages that are ready as the period begins, and those that become ready in it.

    Args:
        messages: `ready_messages` and `arriving`.
        period: what is played.

    Returns:
        The rows with `ready_at` in place of `from_at` and `is_ready`: the later of it and the creation of
        the receiver. A message whose endpoint ends at that instant, or before, is ready at no as_of.
    """
    ready_at, ended_at = F.greatest("from_at", "created_at"), F.col("ended_at")
    becomes_ready = (ready_at < F.lit(period.end)) & (ended_at.isNull() | (ended_at > ready_at))
    is_played = F.col("is_ready") | becomes_ready
    return messages.where(is_played).withColumn("ready_at", ready_at).drop("from_at", "is_ready")
