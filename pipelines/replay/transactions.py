"""Transactions of the log: how they ended, which are open as the period begins, what they hold."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.replay.filtered_receives import RECEIPT, has_where, received_by_where
from pipelines.replay.receivers import receiving
from pipelines.state.events_before import events_before
from pipelines.state.transactions import LOCKING, TRANSACTION, first_outcomes, uncommitted
from schemas.keys import GROUP, QUEUE


def outcomes(queue_events: DataFrame) -> DataFrame:
    """How transactions ended.

    Args:
        queue_events: queue events that may matter, whatever their time.

    Returns:
        One row per (instance, transaction_id) with any: `outcome_at`, the first COMMIT, else the first
        ROLLBACK, and `committed`.

    Source: our choice; if a transaction has both, COMMIT counts.
    """
    return first_outcomes(queue_events).select(
        *TRANSACTION,
        F.coalesce("committed_at", "rolled_back_at").alias("outcome_at"),
        F.col("committed_at").isNotNull().alias("committed"),
    )


@dataclass(frozen=True)
class Open:
    """Transactions open as the period begins.

    Attributes:
        locks: (instance, database, queue, conversation_group_id, `until`), a row per group and transaction:
            null for ever.
        holds: (instance, database, queue, `until`), a row per queue and transaction that has an outcome
            and reads there: by a RECEIVE or GET CONVERSATION GROUP without WHERE.
        returns: one row per message in flight that comes back: message_id, `returned_at`.
    """

    locks: DataFrame
    holds: DataFrame
    returns: DataFrame


def open_transactions(
    message_events: DataFrame,
    queue_events: DataFrame,
    endpoint_events: DataFrame,
    ended: DataFrame,
    in_flight: DataFrame,
    receivers: DataFrame,
    *,
    start: datetime,
) -> Open:
    """Find what transactions hold that are open at a moment, and until when.

    Args:
        message_events: message events that may matter, whatever their time.
        queue_events: queue events that may matter, whatever their time.
        endpoint_events: endpoint events that may matter, for their moves.
        ended: `outcomes`.
        in_flight: the messages in flight: message_id, conversation_id, sent_by_initiator.
        receivers: `receivers`.
        start: the moment.

    A message comes back with the last ROLLBACK of those that hold it, if none of them commits. The groups
    are those at the moment. Source: the semantics page, "State at as_of".
    """
    received, of_queues = events_before(message_events, start), events_before(queue_events, start)
    now_open = (
        uncommitted(received, of_queues)
        .where("is_open")
        .select(*TRANSACTION)
        .join(ended, TRANSACTION, "left")
    )
    taken = received.where("event_type = 'RECEIVED' and transaction_id is not null").select(
        "event_type", "conversation_id", "sent_by_initiator", *RECEIPT
    )
    holding = taken.select("message_id", *TRANSACTION).join(now_open, TRANSACTION).distinct()
    returns = (
        holding.join(in_flight.select("message_id"), "message_id", "left_semi")
        .groupBy("message_id")
        .agg(
            F.max("outcome_at").alias("returned_at"),
            F.count(F.when(F.col("committed") | F.col("outcome_at").isNull(), 1)).alias("others"),
        )
        .where("others = 0")
        .drop("others")
    )
    here = receivers.where(F.col("created_at") < F.lit(start)).select(
        "conversation_id",
        "is_initiator",
        F.col("instance").alias("queue_instance"),
        "database",
        "queue",
        "conversation_group_id",
    )
    places = receivers.where(F.col("created_at") < F.lit(start))
    flying = holding.join(in_flight, "message_id")
    by_messages = receiving(flying, here)
    naming = of_queues.where(F.col("event_type").isin(*LOCKING) & F.col("transaction_id").isNotNull()).join(
        now_open, TRANSACTION
    )
    named = naming.where("conversation_group_id is not null")
    locks = (
        _placed(by_messages, "conversation_group_id")
        .unionByName(
            named.select(*GROUP, F.col("instance").alias("of_instance"), "transaction_id", "outcome_at")
        )
        .distinct()
    )
    ending = now_open.where("outcome_at is not null")
    read = taken.join(ending, TRANSACTION)
    by_where = received_by_where(read, of_queues.join(ending, TRANSACTION), endpoint_events, places)
    held = (
        _placed(receiving(read.join(by_where, RECEIPT, "left_anti"), here))
        .unionByName(
            naming.where(~has_where()).select(
                *QUEUE, F.col("instance").alias("of_instance"), "transaction_id", "outcome_at"
            )
        )
        .distinct()
    )
    return Open(
        locks=locks.select(*GROUP, F.col("outcome_at").alias("until")),
        holds=held.where("outcome_at is not null").select(*QUEUE, F.col("outcome_at").alias("until")),
        returns=returns,
    )


def _placed(rows: DataFrame, *more: str) -> DataFrame:
    """Rows with the instance of their transaction as `of_instance`, and that of their queue as `instance`."""
    return rows.select(
        F.col("queue_instance").alias("instance"),
        "database",
        "queue",
        *more,
        F.col("instance").alias("of_instance"),
        "transaction_id",
        "outcome_at",
    )
