"""What goes before a message."""

from pyspark.sql import DataFrame, functions as F


def ahead_in_queue(queue: DataFrame, *, position: int, receive_number: int) -> DataFrame:
    """What one reader would receive before a message, by the level of the group at that RECEIVE.

    Args:
        queue: rows of `receive_schedule` of one as_of and one queue.
        position: the message's position.
        receive_number: the RECEIVE that returns it.

    Returns:
        One row per `group_priority`: `messages` that come before, the earlier ones of its own RECEIVE
        included, and `receives` that are through before its own begins. In total these are
        position - 1 and receive_number - 1.

    Source: our choice.
    """
    earlier = F.when(F.col("receive_number") < receive_number, F.col("receive_number"))
    return (
        queue.where(F.col("position") < position)
        .groupBy("group_priority")
        .agg(F.count(F.lit(1)).alias("messages"), F.count_distinct(earlier).alias("receives"))
    )


def ahead_in_transmission(instance: DataFrame, *, position: int) -> DataFrame:
    """What an instance would transmit before a message, by the level that counts.

    Args:
        instance: rows of `transmission_schedule` of one as_of and one sending instance.
        position: the message's position.

    Returns:
        One row per `transmit_priority`: `messages` that come before; position - 1 in total.

    Source: our choice.
    """
    return (
        instance.where(F.col("position") < position)
        .groupBy("transmit_priority")
        .agg(F.count(F.lit(1)).alias("messages"))
    )
