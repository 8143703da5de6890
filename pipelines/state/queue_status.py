"""Queues that are on or off, by their QUEUE_ALTERED events."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.state.events_before import moment_and_id
from schemas.keys import QUEUE


def status_changes(queue_events: DataFrame) -> DataFrame:
    """The events that say whether a queue is on or off; few.

    Args:
        queue_events: the queue events that count.

    Returns:
        Rows of `queue_events`: each QUEUE_ALTERED with a queue_status, with `place`, its order in the queue
        (`moment_and_id`), and `keeps_off`: it says off, and no later event of the queue says on. A queue is
        off by its events if one of them keeps it off.
    """
    altered = queue_events.where("event_type = 'QUEUE_ALTERED' and queue_status is not null")
    is_off, of_queue = F.upper("queue_status") == "OFF", Window.partitionBy(*QUEUE)
    placed = altered.withColumn("place", moment_and_id())
    last_on = F.max(F.when(~is_off, F.col("place"))).over(of_queue)
    marked = placed.withColumns({"is_off": is_off, "last_on": last_on})
    is_last = F.col("last_on").isNull() | (F.col("place") > F.col("last_on"))
    return marked.withColumn("keeps_off", F.col("is_off") & is_last).drop("is_off", "last_on")
