"""Receiving transactions: their outcomes, and the groups that open ones lock."""

from pyspark.sql import DataFrame, functions as F

from schemas.keys import GROUP

TRANSACTION = ["instance", "transaction_id"]
LOCKING = ("RECEIVE", "GET_CONVERSATION_GROUP")
OUTCOMES = ("COMMIT", "ROLLBACK")


def first_outcomes(queue_events: DataFrame) -> DataFrame:
    """When transactions were first committed, and first rolled back.

    Args:
        queue_events: the queue events that count.

    Returns:
        One row per (instance, transaction_id) with an outcome: `committed_at` and `rolled_back_at`, null
        without that outcome.
    """
    event_type, time = F.col("event_type"), F.col("event_time")
    ended = queue_events.where(event_type.isin(*OUTCOMES) & F.col("transaction_id").isNotNull())
    return ended.groupBy(*TRANSACTION).agg(
        F.min(F.when(event_type == "COMMIT", time)).alias("committed_at"),
        F.min(F.when(event_type == "ROLLBACK", time)).alias("rolled_back_at"),
    )


def uncommitted(message_events: DataFrame, queue_events: DataFrame) -> DataFrame:
    """The transactions that received or locked something and have no COMMIT: few, as most commit.

    Args:
        message_events: the message events that count.
        queue_events: the queue events that count.

    Returns:
        One row per (instance, transaction_id): `is_open`, false where it has a ROLLBACK.

    With both outcomes, COMMIT counts. Both kinds of rows are counted by transaction, without a join.
    """
    event_type = F.col("event_type")
    received = message_events.where("event_type = 'RECEIVED' and transaction_id is not null").select(
        *TRANSACTION, F.lit(0).alias("outcome")
    )
    outcome = F.when(event_type == "COMMIT", 2).when(event_type == "ROLLBACK", 1).otherwise(0)
    of_queues = queue_events.where(
        F.col("transaction_id").isNotNull() & event_type.isin(*LOCKING, *OUTCOMES)
    ).select(*TRANSACTION, outcome.alias("outcome"), event_type.isin(*LOCKING).alias("takes"))
    both = received.withColumn("takes", F.lit(True)).unionByName(of_queues)
    by_transaction = both.groupBy(*TRANSACTION).agg(
        F.max("outcome").alias("outcome"), F.max(F.col("takes").cast("int")).alias("takes")
    )
    return by_transaction.where("outcome < 2 and takes = 1").select(
        *TRANSACTION, (F.col("outcome") == 0).alias("is_open")
    )


def named_locks(queue_events: DataFrame, open_transactions: DataFrame) -> DataFrame:
    """The groups that a RECEIVE or GET CONVERSATION GROUP of an open transaction names.

    Args:
        queue_events: the queue events that count.
        open_transactions: `uncommitted`.

    Returns:
        (instance, database, queue, conversation_group_id), unique: the locked groups, on the event's queue;
        and `locked_since`, the time of the first such event.
    """
    naming = queue_events.where(
        F.col("event_type").isin(*LOCKING)
        & F.col("transaction_id").isNotNull()
        & F.col("conversation_group_id").isNotNull()
    )
    of_open = naming.join(open_transactions.where("is_open"), TRANSACTION, "left_semi")
    return of_open.groupBy(*GROUP).agg(F.min("event_time").alias("locked_since"))
