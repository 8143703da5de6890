"""Receiving transactions: their outcome and the groups they lock."""

from pyspark.sql import DataFrame, functions as F

KEY = ["instance", "transaction_id"]
LOCK = ["database", "queue", "conversation_group_id"]


def fold_transactions(old: DataFrame, queue_events: DataFrame) -> DataFrame:
    """Fold queue events into transactions.

    Args:
        old: `transactions` rows that the events may concern.
        queue_events: accepted queue events; repeats and any order allowed.

    Returns:
        One row per (instance, transaction_id) of either: the `transactions` table without
        `ledger_batch`. A transaction is closed once it has a COMMIT or a ROLLBACK.

    Source: the design, "State at as_of".
    """
    facts = _from_events(queue_events).unionByName(_from_rows(old))
    per_lock = (
        facts.repartition(*KEY)
        .groupBy(*KEY, *LOCK)
        .agg(
            F.min("locked_at").alias("locked_at"),
            F.min("committed_at").alias("committed_at"),
            F.min("rolled_back_at").alias("rolled_back_at"),
            F.max("last_fact_on").alias("last_fact_on"),
        )
    )
    folded = per_lock.groupBy(*KEY).agg(
        F.min("committed_at").alias("committed_at"),
        F.min("rolled_back_at").alias("rolled_back_at"),
        F.sort_array(
            F.collect_list(F.when(F.col("locked_at").isNotNull(), F.struct(*LOCK, "locked_at")))
        ).alias("locks"),
        F.max("last_fact_on").alias("last_fact_on"),
    )
    has_outcome = F.col("committed_at").isNotNull() | F.col("rolled_back_at").isNotNull()
    return folded.withColumn("closed_on", F.when(has_outcome, F.col("last_fact_on")))


def _from_events(queue_events: DataFrame) -> DataFrame:
    event_type, time = F.col("event_type"), F.col("event_time")
    locks = event_type.isin("RECEIVE", "GET_CONVERSATION_GROUP") & F.col("conversation_group_id").isNotNull()
    return queue_events.where("transaction_id is not null").select(
        *KEY,
        *[F.when(locks, F.col(name)).alias(name) for name in LOCK],
        F.when(locks, time).alias("locked_at"),
        F.when(event_type == "COMMIT", time).alias("committed_at"),
        F.when(event_type == "ROLLBACK", time).alias("rolled_back_at"),
        F.col("event_date").alias("last_fact_on"),
    )


def _from_rows(old: DataFrame) -> DataFrame:
    return old.select(
        *KEY, F.explode_outer("locks").alias("lock"), "committed_at", "rolled_back_at", "last_fact_on"
    ).select(
        *KEY,
        *[F.col(f"lock.{name}").alias(name) for name in LOCK],
        "lock.locked_at",
        "committed_at",
        "rolled_back_at",
        "last_fact_on",
    )
