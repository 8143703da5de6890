"""RECEIVED events of a RECEIVE with WHERE: it asked for its messages, whatever the order."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.endpoints import SIDE, group_after_moves, latest_moves
from pipelines.state.transactions import TRANSACTION
from schemas.events import MOVE
from schemas.keys import QUEUE

RECEIPT = ["message_id", *TRANSACTION, "event_time"]


def received_by_where(
    received: DataFrame, queue_events: DataFrame, endpoint_events: DataFrame, receivers: DataFrame
) -> DataFrame:
    """The messages that a RECEIVE with WHERE received.

    Args:
        received: message events, those that are asked about.
        queue_events: queue events that may be of the same statements.
        endpoint_events: endpoint events that may matter, for their moves.
        receivers: `receivers`.

    Returns:
        `RECEIPT`, unique. A RECEIVED belongs to a RECEIVE event of its instant, transaction and queue that
        names its group or none.
    """
    asking = (
        queue_events.where((F.col("event_type") == "RECEIVE") & has_where())
        .select(
            F.col("instance").alias("queue_instance"),
            F.col("database").alias("queue_database"),
            F.col("queue").alias("queue_name"),
            F.col("transaction_id").alias("of_transaction"),
            F.col("event_time").alias("asked_at"),
            F.col("conversation_group_id").alias("named"),
        )
        .distinct()
    )
    taken = (
        F.broadcast(asking)
        .join(
            received.where("event_type = 'RECEIVED'"),
            (F.col("queue_instance") == F.col("instance"))
            & (F.col("asked_at") == F.col("event_time"))
            & F.col("of_transaction").eqNullSafe(F.col("transaction_id")),
        )
        .select(
            *RECEIPT,
            "conversation_id",
            (~F.col("sent_by_initiator")).alias("is_initiator"),
            F.struct("queue_instance", "queue_database", "queue_name").alias("asked"),
            "named",
        )
    )
    places = receivers.select(*SIDE, F.struct(*QUEUE).alias("placed"), "created_at", F.col("first_group_id"))
    here = taken.join(places, SIDE).where(
        " and ".join(f"asked.{theirs} = placed.{ours}" for theirs, ours in zip(_ASKED, QUEUE, strict=True))
    )
    anyway = here.where("named is null").select(*RECEIPT)
    by_group = _of_named_group(here.where("named is not null"), endpoint_events)
    return anyway.unionByName(by_group).distinct()


_ASKED = ("queue_instance", "queue_database", "queue_name")


def has_where() -> Column:
    """Whether a statement named a conversation or a group; null is false."""
    return F.coalesce("has_where", F.lit(False))


def _of_named_group(rows: DataFrame, endpoint_events: DataFrame) -> DataFrame:
    """Those whose endpoint was in the named group then; moves of that instant have happened."""
    taken = rows.select(*RECEIPT, *SIDE, "created_at", "first_group_id", "named")
    at = [*SIDE, "event_time"]
    moments = taken.select(*SIDE, F.col("event_time").alias("taken_at")).distinct()
    moves = (
        endpoint_events.where(F.col("event_type") == MOVE)
        .join(moments, SIDE)
        .where(F.col("event_time") <= F.col("taken_at"))
    )
    latest = latest_moves(moves, [*SIDE, "taken_at"]).withColumnRenamed("taken_at", "event_time")
    in_group = taken.join(latest, at, "left").where(group_after_moves() == F.col("named"))
    return in_group.select(*RECEIPT)
