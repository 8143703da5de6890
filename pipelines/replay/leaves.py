"""Messages that a RECEIVE with WHERE took: it asked for them, whatever the order."""

from pyspark.sql import DataFrame, functions as F

from pipelines.replay.period import Period
from pipelines.state.endpoints import SIDE, group_after_moves, latest_moves
from pipelines.state.transactions import TRANSACTION
from schemas.events import MOVE
from schemas.keys import QUEUE


def leaves(
    message_events: DataFrame,
    queue_events: DataFrame,
    endpoint_events: DataFrame,
    ended: DataFrame,
    receivers: DataFrame,
    period: Period,
) -> DataFrame:
    """When a committed RECEIVE with WHERE took a message in the period, at the first of them.

    Args:
        message_events: message events that may matter, whatever their time.
        queue_events: queue events, likewise.
        endpoint_events: endpoint events, likewise, for their moves.
        ended: `transactions.outcomes`.
        receivers: `receivers`.
        period: what is played.

    Returns:
        One row per message_id: `left_at`.

    A RECEIVED belongs to a RECEIVE event of its instant, transaction and queue that names its group or
    none. Source: our choice.
    """
    within = (F.col("event_time") >= F.lit(period.start)) & (F.col("event_time") < F.lit(period.end))
    asking = (
        queue_events.where(within & (F.col("event_type") == "RECEIVE") & F.col("has_where"))
        .select(*QUEUE, "transaction_id", "event_time", F.col("conversation_group_id").alias("named"))
        .distinct()
    )
    committed = (
        asking.alias("asking")
        .join(ended.where("committed").withColumn("counts", F.lit(True)), TRANSACTION, "left")
        .where("counts or transaction_id is null")
        .select(
            F.col("instance").alias("at_instance"),
            F.col("instance").alias("queue_instance"),
            F.col("database").alias("queue_database"),
            F.col("queue").alias("queue_name"),
            F.col("transaction_id").alias("of_transaction"),
            F.col("event_time").alias("left_at"),
            "named",
        )
    )
    received = message_events.where(within & (F.col("event_type") == "RECEIVED"))
    taken = (
        F.broadcast(committed)
        .join(
            received,
            (F.col("at_instance") == F.col("instance"))
            & (F.col("left_at") == F.col("event_time"))
            & F.col("of_transaction").eqNullSafe(F.col("transaction_id")),
        )
        .select(
            "message_id",
            "conversation_id",
            (~F.col("sent_by_initiator")).alias("is_initiator"),
            "queue_instance",
            "queue_database",
            "queue_name",
            "named",
            "left_at",
        )
    )
    here = taken.join(receivers, SIDE).where(
        "instance = queue_instance and database = queue_database and queue = queue_name"
    )
    anyway = here.where("named is null").select("message_id", "left_at")
    by_group = _of_named_group(here.where("named is not null"), endpoint_events)
    return anyway.unionByName(by_group).groupBy("message_id").agg(F.min("left_at").alias("left_at"))


def _of_named_group(rows: DataFrame, endpoint_events: DataFrame) -> DataFrame:
    """Those whose endpoint was in the named group then; moves of that instant have happened."""
    taken = rows.select("message_id", *SIDE, "created_at", "first_group_id", "named", "left_at")
    moments = taken.select(*SIDE, "left_at").distinct()
    moves = (
        endpoint_events.where(F.col("event_type") == MOVE)
        .join(moments, SIDE)
        .where(F.col("event_time") <= F.col("left_at"))
    )
    at = [*SIDE, "left_at"]
    latest = latest_moves(moves, at)
    in_group = taken.join(latest, at, "left").where(group_after_moves() == F.col("named"))
    return in_group.select("message_id", "left_at")
