"""The open messages of a queue, by whether the queue's newest complete view shows them."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import small_frame
from pipelines.storage.snapshots.newest import SummedView
from schemas.keys import QUEUE

VIEWS = "view int, kind string, instance string, database string, queue string, taken_at timestamp"
PLACE = ["kind", *QUEUE]
"""Where a message waits; the queue of a transmission queue is ''."""


def with_views(messages: DataFrame, views: Sequence[SummedView]) -> DataFrame:
    """Open messages with the view that must show them.

    Args:
        messages: `kind`, instance, database and queue of open messages, with `state.messages.SHOWN`; kinds
            that no view has stay as they are.
        views: one at most of each queue.

    Returns:
        The same rows with `view`, its number, null where none is of that place, and `is_shown`, whether it
        shows the message there.
    """
    of_views = frame_of(messages, views).withColumnRenamed("taken_at", "view_taken_at")
    rows = messages.withColumn("queue", F.coalesce("queue", F.lit("")))
    same = [F.coalesce(f"shown_{name}", F.lit("")) == F.col(name) for name in QUEUE]
    is_shown = reduce(Column.__and__, same) & (F.col("last_shown_at") >= F.col("view_taken_at"))
    known = rows.join(F.broadcast(of_views), PLACE, "left")
    return known.withColumn("is_shown", F.coalesce(is_shown, F.lit(False)))


def frame_of(beside: DataFrame, views: Sequence[SummedView]) -> DataFrame:
    """The views by their place, numbered, in the session of a frame: columns VIEWS."""
    rows = [
        (number, each.kind, each.instance, each.database, each.queue or "", each.taken_at)
        for number, each in enumerate(views)
    ]
    return small_frame(beside.sparkSession, rows, VIEWS)
