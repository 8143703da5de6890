"""Rows of views that show a message, each once for all snapshots that follow each other and show the same."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.config.snapshots.places import OWN
from pipelines.engine.frames import row_hash
from pipelines.state.messages import order_of_sights, shown_last

PLACE = ["instance", "database", "place"]
"""A queue, or a transmission queue, whose name is '' here."""
MESSAGE = ["message_id", "event_type", "instance", "database", "shown_queue"]
SAME = (
    "conversation_id",
    "sent_by_initiator",
    "message_sequence_number",
    "message_type",
    "size_bytes",
    "queuing_order",
    "conversation_handle",
    "transmission_status",
    "shown_contract",
    "shown_from_service",
    "shown_to_service",
    "shown_priority",
    *OWN,
)
"""What a view shows of a message."""


def queue_of_view() -> Column:
    """The queue of a view, behind the first dot: `pipelines.config.snapshots.views.queue_of`."""
    dot = F.instr("view", ".")
    return F.when(dot > 0, F.substr("view", dot + 1, F.length("view")))


def with_neighbors(views: DataFrame) -> DataFrame:
    """Views of messages, with the moments of the same queue's views before and after them.

    Args:
        views: all views: PLACE and `seen_at`, when each was taken.

    Returns:
        The same rows with `before` and `after`, null of the first and of the last one.
    """
    in_order = Window.partitionBy(*PLACE).orderBy("seen_at")
    return views.withColumns(
        {"before": F.lag("seen_at").over(in_order), "after": F.lead("seen_at").over(in_order)}
    )


def store_once(messages: DataFrame, views: DataFrame, number: int) -> DataFrame:
    """Make one row of those by which snapshots that follow each other show the same of a message.

    Args:
        messages: rows of `message_events` with `batch`, none of them inferred. Those of earlier batches may
            stand for several snapshots.
        views: the views that the batch brings, `with_neighbors` among all; few.
        number: the batch.

    Returns:
        The same rows, fewer. A row has the id, time, batch and `seen_at` of its first snapshot; `shown_until`
        is the taken_at of the last one, null if it is the first. A snapshot in between that shows the
        message otherwise, or not at all, begins a new row, unless it comes after the later ones.
    """
    is_shown, names = order_of_sights().isNotNull(), messages.columns
    is_new, until = F.col("batch") == number, shown_last()
    at = views.select(*[F.col(name) for name in PLACE], "seen_at", "before", "after")
    shown = messages.where(is_shown).withColumns(
        {"place": F.coalesce("shown_queue", F.lit("")), "until": until}
    )
    near = [F.when(is_new, F.col(name)).alias(name) for name in ("before", "after")]
    known = shown.join(F.broadcast(at), [*PLACE, "seen_at"], "left").select(*names, "until", *near)
    content = row_hash(F.col("message_type"), *map(F.col, SAME), *[F.col(name).isNull() for name in SAME])
    in_order = Window.partitionBy(*MESSAGE).orderBy("seen_at", "batch")
    last = {f"last_{name}": F.lag(name).over(in_order) for name in ("until", "after", "content")}
    follows = (F.col("before") <= F.col("last_until")) | (F.col("seen_at") <= F.col("last_after"))
    is_next = F.coalesce(follows & (F.col("content") == F.col("last_content")), F.lit(False))
    begun = (
        known.withColumn("content", content).withColumns(last).withColumn("begins", (~is_next).cast("int"))
    )
    runs = begun.withColumn("run", F.sum("begins").over(in_order.rowsBetween(Window.unboundedPreceding, 0)))
    others = {name: F.min(name) for name in names if name not in MESSAGE}
    first = {
        "event_id": F.min_by("event_id", "seen_at"),
        "shown_until": F.nullif(F.max("until"), F.min("seen_at")),
    }
    of_run = runs.groupBy(*MESSAGE, "run").agg(*[each.alias(name) for name, each in (others | first).items()])
    return messages.where(~is_shown).unionByName(of_run.select(*names))
