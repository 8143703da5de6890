"""Queues that were turned on or off."""

from pyspark.sql import DataFrame, functions as F


def queue_changes(queue_events: DataFrame) -> DataFrame:
    """The QUEUE_ALTERED events that say on or off; grain and key: the event. No order.

    A QUEUE_ALTERED without queue_status says nothing about on or off (the design, "queue_events").
    """
    altered = (F.col("event_type") == "QUEUE_ALTERED") & F.col("queue_status").isNotNull()
    return queue_events.where(altered).select(
        "instance",
        "database",
        "queue",
        "event_time",
        "event_id",
        (F.upper("queue_status") != "OFF").alias("is_on"),
    )
