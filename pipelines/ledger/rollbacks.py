"""Transactions that were rolled back, by queue."""

from pyspark.sql import DataFrame, functions as F


def rollbacks(queue_events: DataFrame) -> DataFrame:
    """The ROLLBACK events that name a transaction; grain and key: the event. No order.

    `transactions` says when a transaction was rolled back; this says on which queues, which is what
    gives its messages back there (the design, "Activation").
    """
    named = (F.col("event_type") == "ROLLBACK") & F.col("transaction_id").isNotNull()
    return queue_events.where(named).select(
        "instance", "database", "queue", "transaction_id", "event_time", "event_id", "event_date"
    )
