"""Transactions of the log: their outcomes, and those that are open at the start of the period."""

from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.replay.filtered_receives import RECEIPT, filtered_receipts, has_where
from pipelines.replay.messages import with_receivers
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import LOCKING, TRANSACTION, first_outcomes, uncommitted
from schemas.keys import GROUP, QUEUE


def outcomes(queue_events: DataFrame) -> DataFrame:
    """The outcomes of transactions.

    Args:
        queue_events: the queue events that can matter, of any time.

    Returns:
        One row per (instance, transaction_id) with an outcome: `outcome_at`, the first COMMIT, else the first
        ROLLBACK, and `committed`. If a transaction has both, COMMIT counts.
    """
    return first_outcomes(queue_events).select(
        *TRANSACTION,
        F.coalesce("committed_at", "rolled_back_at").alias("outcome_at"),
        F.col("committed_at").isNotNull().alias("committed"),
    )


@dataclass(frozen=True)
class OpenTransactions:
    """The locks and messages of transactions that are open at the start of the period.

    Attributes:
        locks: (instance, database, queue, conversation_group_id, `until`), a row per group and transaction;
            `until` is null without an outcome.
        holds: (instance, database, queue, `until`), a row per queue and transaction that has an outcome
            and reads there: by a RECEIVE or GET CONVERSATION GROUP without WHERE.
        returns: one row per message in flight that returns to its queue: message_id, `returned_at`.
    """

    locks: DataFrame
    holds: DataFrame
    returns: DataFrame


def open_transactions(
    ledger: Ledger, outcomes: DataFrame, in_flight: DataFrame, receivers: DataFrame, *, start: datetime
) -> OpenTransactions:
    """Find the locks and messages of transactions that are open at a moment, and until when they hold them.

    Args:
        ledger: the rows that can matter, with events of any time.
        outcomes: `outcomes`.
        in_flight: the messages in flight: message_id, conversation_id, sent_by_initiator.
        receivers: `receivers`.
        start: the moment.

    A message returns with the last ROLLBACK of the transactions that hold it, if none of them commits. Groups
    are those of the moment; see docs/semantics.md#state-at-as_of.
    """
    so_far = ledger.before(start)
    received, queue_events = so_far.message_events, so_far.queue_events
    now_open = (
        uncommitted(received, queue_events)
        .where("is_open")
        .select(*TRANSACTION)
        .join(outcomes, TRANSACTION, "left")
    )
    receipts = received.where("event_type = 'RECEIVED' and transaction_id is not null").select(
        "event_type", "conversation_id", "sent_by_initiator", *RECEIPT
    )
    holders = receipts.select("message_id", *TRANSACTION).join(now_open, TRANSACTION).distinct()
    existing = receivers.where(F.col("created_at") < F.lit(start))
    receiving_queues = existing.select(
        "conversation_id",
        "is_initiator",
        F.col("instance").alias("queue_instance"),
        "database",
        "queue",
        "conversation_group_id",
    )
    naming = queue_events.where(
        F.col("event_type").isin(*LOCKING) & F.col("transaction_id").isNotNull()
    ).join(now_open, TRANSACTION)
    of_transaction = (F.col("instance").alias("of_instance"), "transaction_id", "outcome_at")
    locks = (
        _on_queues(
            with_receivers(holders.join(in_flight, "message_id"), receiving_queues), "conversation_group_id"
        )
        .unionByName(naming.where("conversation_group_id is not null").select(*GROUP, *of_transaction))
        .distinct()
    )
    ending = now_open.where("outcome_at is not null")
    of_ending = replace(
        so_far,
        message_events=receipts.join(ending, TRANSACTION),
        queue_events=queue_events.join(ending, TRANSACTION),
    )
    filtered = filtered_receipts(of_ending, existing)
    unfiltered = of_ending.message_events.join(filtered, RECEIPT, "left_anti")
    holds = (
        _on_queues(with_receivers(unfiltered, receiving_queues))
        .unionByName(naming.where(~has_where()).select(*QUEUE, *of_transaction))
        .distinct()
    )
    return OpenTransactions(
        locks=locks.select(*GROUP, F.col("outcome_at").alias("until")),
        holds=holds.where("outcome_at is not null").select(*QUEUE, F.col("outcome_at").alias("until")),
        returns=_returns(holders, in_flight),
    )


def _returns(holders: DataFrame, in_flight: DataFrame) -> DataFrame:
    """The messages in flight whose transactions are all rolled back: message_id, `returned_at`."""
    return (
        holders.join(in_flight.select("message_id"), "message_id", "left_semi")
        .groupBy("message_id")
        .agg(
            F.max("outcome_at").alias("returned_at"),
            F.count(F.when(F.col("committed") | F.col("outcome_at").isNull(), 1)).alias("others"),
        )
        .where("others = 0")
        .drop("others")
    )


def _on_queues(rows: DataFrame, *more: str) -> DataFrame:
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
