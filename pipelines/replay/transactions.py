"""Transactions of the log: their outcomes, what they read without WHERE, and those that are open at a moment.

A RECEIVE with WHERE chooses its messages regardless of the order.
"""

from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.replay.messages import with_receivers
from pipelines.replay.request import Period
from pipelines.state.endpoints import SIDE, group_after_moves, latest_moves
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import LOCKING, TRANSACTION, first_outcomes, uncommitted
from schemas.events import MOVE
from schemas.keys import GROUP, QUEUE

RECEIPT = ["message_id", *TRANSACTION, "event_time"]
_STATEMENT_QUEUE = ("queue_instance", "queue_database", "queue_name")
READER = ["of_instance", "transaction_id"]
"""A transaction beside the instance of a queue."""


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


def reads(ledger: Ledger, receivers: DataFrame) -> DataFrame:
    """The statements and receipts of transactions without WHERE.

    Args:
        ledger: the events that count.
        receivers: `receivers`.

    Returns:
        (instance, database, queue, of_instance, transaction_id, event_time), a row per statement and receipt;
        `of_instance` is the instance of the transaction.
    """
    received = _receipts(ledger.message_events)
    queue_events = ledger.queue_events.where("transaction_id is not null")
    filtered = filtered_receipts(
        replace(ledger, message_events=received, queue_events=queue_events), receivers
    )
    unfiltered = received.select(*RECEIPT, "conversation_id", "sent_by_initiator").join(
        filtered, RECEIPT, "left_anti"
    )
    statements = _statements(queue_events).where(~has_where())
    return _on_queues(unfiltered, receivers, "event_time").unionByName(
        statements.select(*QUEUE, *READER, "event_time")
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
    existing = receivers.where(F.col("created_at") < F.lit(start))
    holders = _receipts(received).select("message_id", *TRANSACTION).join(now_open, TRANSACTION).distinct()
    held = _on_queues(holders.join(in_flight, "message_id"), existing, "conversation_group_id", "outcome_at")
    naming = _statements(queue_events).where("conversation_group_id is not null").join(now_open, TRANSACTION)
    named = naming.select(*GROUP, *READER, "outcome_at")
    ending = now_open.where("outcome_at is not null")
    of_ending = replace(
        so_far,
        message_events=received.join(ending.select(*TRANSACTION), TRANSACTION),
        queue_events=queue_events.join(ending.select(*TRANSACTION), TRANSACTION),
    )
    holds = reads(of_ending, existing).drop("event_time").distinct()
    until = ending.withColumnRenamed("instance", "of_instance")
    return OpenTransactions(
        locks=held.unionByName(named).distinct().select(*GROUP, F.col("outcome_at").alias("until")),
        holds=holds.join(until, READER).select(*QUEUE, F.col("outcome_at").alias("until")),
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


def _receipts(message_events: DataFrame) -> DataFrame:
    return message_events.where("event_type = 'RECEIVED' and transaction_id is not null")


def _statements(queue_events: DataFrame) -> DataFrame:
    naming = queue_events.where(F.col("event_type").isin(*LOCKING) & F.col("transaction_id").isNotNull())
    return naming.withColumn("of_instance", F.col("instance"))


def _on_queues(rows: DataFrame, receivers: DataFrame, *more: str) -> DataFrame:
    """Rows of transactions on the queue of their receiver: QUEUE, `READER` and more columns."""
    queues = receivers.select(*SIDE, *QUEUE, "conversation_group_id")
    of_transactions = rows.withColumnRenamed("instance", "of_instance")
    return with_receivers(of_transactions, queues).select(*QUEUE, *READER, *more)
