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


def played_messages(
    waiting: DataFrame, arrived: DataFrame, returns: DataFrame, receivers: DataFrame, period: Period
) -> DataFrame:
    """The messages, with the moment at which each becomes ready.

    Args:
        waiting: `state.open_messages` as the period begins.
        arrived: `state.messages.facts` of those that arrive in it.
        returns: `transactions.Open.returns`.
        receivers: `receivers`.
        period: what is played.

    Returns:
        One row per message_id: what it is, its receiving endpoint with its queue, and `ready_at`: the start
        of the period if it is ready then, else the later of its arrival (or of the ROLLBACK that gives it
        back) and the creation of its receiver. None for an endpoint that has ended by then.

    Source: our choice.
    """
    begin = F.lit(period.start)
    ready = waiting.where("in_queue").select(*WHAT, begin.alias("from_at"))
    returned = waiting.where("in_flight").join(returns, "message_id")
    known = ready.unionByName(returned.select(*WHAT, F.col("returned_at").alias("from_at"))).unionByName(
        arrived.select(*WHAT, F.col("arrived_at").alias("from_at"))
    )
    placed = receiving(known, receivers).withColumn("ready_at", F.greatest("from_at", "created_at"))
    ended = F.col("ended_at")
    in_time = (F.col("ready_at") < F.lit(period.end)) & (ended.isNull() | (ended >= F.col("ready_at")))
    return placed.where(in_time).drop("from_at")
