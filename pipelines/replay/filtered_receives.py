"""RECEIVE statements with WHERE: they choose their messages regardless of the order."""

from dataclasses import replace

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.replay.request import Period
from pipelines.state.endpoints import SIDE, group_after_moves, latest_moves
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import TRANSACTION
from schemas.events import MOVE
from schemas.keys import QUEUE

RECEIPT = ["message_id", *TRANSACTION, "event_time"]
_STATEMENT_QUEUE = ("queue_instance", "queue_database", "queue_name")


def has_where() -> Column:
    """Whether a statement has a WHERE for a conversation or a group; null is false."""
    return F.coalesce("has_where", F.lit(False))


def filtered_receipts(ledger: Ledger, receivers: DataFrame) -> DataFrame:
    """The receipts of RECEIVE statements with WHERE.

    Args:
        ledger: the RECEIVED events, the queue events that can be their statements, and moves of endpoints.
        receivers: `receivers`.

    Returns:
        `RECEIPT`, unique. A RECEIVED belongs to a RECEIVE event of its instant, transaction and queue that
        names its group or none.
    """
    statements = (
        ledger.queue_events.where((F.col("event_type") == "RECEIVE") & has_where())
        .select(
            F.col("instance").alias("queue_instance"),
            F.col("database").alias("queue_database"),
            F.col("queue").alias("queue_name"),
            F.col("transaction_id").alias("of_transaction"),
            F.col("event_time").alias("statement_at"),
            F.col("conversation_group_id").alias("named"),
        )
        .distinct()
    )
    received = (
        F.broadcast(statements)
        .join(
            ledger.message_events.where("event_type = 'RECEIVED'"),
            (F.col("queue_instance") == F.col("instance"))
            & (F.col("statement_at") == F.col("event_time"))
            & F.col("of_transaction").eqNullSafe(F.col("transaction_id")),
        )
        .select(
            *RECEIPT,
            "conversation_id",
            (~F.col("sent_by_initiator")).alias("is_initiator"),
            F.struct(*_STATEMENT_QUEUE).alias("of_statement"),
            "named",
        )
    )
    endpoints = receivers.select(*SIDE, F.struct(*QUEUE).alias("of_endpoint"), "created_at", "first_group_id")
    same_queue = " and ".join(
        f"of_statement.{theirs} = of_endpoint.{ours}"
        for theirs, ours in zip(_STATEMENT_QUEUE, QUEUE, strict=True)
    )
    candidates = received.join(endpoints, SIDE).where(same_queue)
    without_group = candidates.where("named is null").select(*RECEIPT)
    by_group = _of_named_group(candidates.where("named is not null"), ledger.endpoint_events)
    return without_group.unionByName(by_group).distinct()


def first_filtered_receipts(
    ledger: Ledger, outcomes: DataFrame, receivers: DataFrame, period: Period
) -> DataFrame:
    """The first receipts of messages by committed RECEIVE statements with WHERE in the period.

    Args:
        ledger: the rows that can matter, with events of any time.
        outcomes: `transactions.outcomes`.
        receivers: `receivers`.
        period: the period that is played.

    Returns:
        One row per message_id: `left_at`.
    """
    within = (F.col("event_time") >= F.lit(period.start)) & (F.col("event_time") < F.lit(period.end))
    committed = outcomes.where("committed").select(*TRANSACTION, F.lit(True).alias("counts"))
    statements = (
        ledger.queue_events.where(within)
        .join(committed, TRANSACTION, "left")
        .where("counts or transaction_id is null")
        .drop("counts")
    )
    of_period = replace(ledger, message_events=ledger.message_events.where(within), queue_events=statements)
    receipts = filtered_receipts(of_period, receivers)
    return receipts.groupBy("message_id").agg(F.min("event_time").alias("left_at"))


def _of_named_group(rows: DataFrame, endpoint_events: DataFrame) -> DataFrame:
    """The receipts whose endpoint was in the named group at that instant, after the moves of the instant."""
    receipts = rows.select(*RECEIPT, *SIDE, "created_at", "first_group_id", "named")
    instants = receipts.select(*SIDE, F.col("event_time").alias("received_at")).distinct()
    moves = (
        endpoint_events.where(F.col("event_type") == MOVE)
        .join(instants, SIDE)
        .where(F.col("event_time") <= F.col("received_at"))
    )
    latest = latest_moves(moves, [*SIDE, "received_at"]).withColumnRenamed("received_at", "event_time")
    in_group = receipts.join(latest, [*SIDE, "event_time"], "left").where(
        group_after_moves() == F.col("named")
    )
    return in_group.select(*RECEIPT)
