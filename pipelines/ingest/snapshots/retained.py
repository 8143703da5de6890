"""Messages that RETENTION keeps in queues: when they were received or sent, as far as snapshots show."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.snapshots.view_events import is_retained, row_id
from pipelines.state.messages import shown_last

KEY = ["message_id", "event_type"]


def place_retained(messages: DataFrame, retained: DataFrame, views: DataFrame) -> DataFrame:
    """The message events, with `not_before` of retained rows.

    Args:
        messages: all message events.
        retained: those of them that are retained rows; few.
        views: complete views of all snapshots, (instance, database, view, taken_at, queue).

    Returns:
        The same rows, but retained ones only as far as they say something new: the first of a message that no
        event gives a moment, later than any view in which the message stands ready. It happened after that
        view, and after the last complete view of the same queue before it.
    """
    others = messages.where(~is_retained())
    events = others.join(retained.select("message_id").distinct(), "message_id", "left_semi")
    is_ready = (F.col("event_type") == "DELIVERED") & F.col("seen_at").isNotNull()
    ready = events.where(is_ready).groupBy("message_id").agg(F.max(shown_last()).alias("ready_at"))
    timed = events.where("inferred is null").groupBy(*KEY).agg(F.min("event_time").alias("happened_at"))
    is_new = F.expr(
        "(happened_at is null or happened_at >= seen_at) and "
        "(event_type != 'RECEIVED' or ready_at is null or ready_at < seen_at)"
    )
    new = (
        retained.drop("not_before")
        .join(ready, "message_id", "left")
        .join(timed, KEY, "left")
        .where(is_new)
        .withColumn("ready_at", F.when(F.col("event_type") == "RECEIVED", F.col("ready_at")))
    )
    first = new.groupBy(*KEY).agg(F.min("seen_at").alias("seen_at"))
    kept = new.join(first, [*KEY, "seen_at"], "left_semi")
    before = views.where("queue is not null").select(
        "instance", "database", "view", F.col("taken_at").alias("at")
    )
    of_row = kept.select("event_id", "instance", "database", F.col("seen_at").alias("taken_at"))
    earlier = (
        of_row.join(F.broadcast(before), ["instance", "database"], "inner")
        .where(F.col("at") < F.col("taken_at"))
        .where(F.startswith("event_id", F.concat(row_id(), F.lit("/"))))
        .groupBy("event_id")
        .agg(F.max("at").alias("lacked_at"))
    )
    placed = kept.join(earlier, "event_id", "left").withColumn(
        "not_before", F.greatest("ready_at", "lacked_at")
    )
    return others.unionByName(placed.select(*others.columns))
