"""Rows of views that show a message, each once for all snapshots that follow each other and show the same."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.frames import row_hash, small_frame
from pipelines.ingest.snapshots.view_events import SNAPSHOT
from pipelines.server.snapshots.places import OWN
from pipelines.state.events_before import just_before
from pipelines.state.messages import order_of_sights, shown_last
from pipelines.storage.collect import collect_rows

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

PARTS = 16
"""The number of parts into which `store_once` divides the messages of a place."""

STRETCHES = (
    "of_instance string, of_database string, of_place string, first_view timestamp, last_view timestamp"
)


def queue_of_view() -> Column:
    """The queue of a view, behind the first dot: `pipelines.server.snapshots.views.queue_of`."""
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
        message otherwise, or not at all, begins a new row, also if it comes after the later ones.
    """
    is_shown, names = order_of_sights().isNotNull(), messages.columns
    is_new, until = F.col("batch") == number, shown_last()
    at = views.select(*[F.col(name) for name in PLACE], "seen_at", "before", "after")
    shown = messages.where(is_shown).withColumns(
        {"place": F.coalesce("shown_queue", F.lit("")), "until": until}
    )
    if stretches := [*_find_stretches(collect_rows(at))]:
        split = _split(shown, small_frame(messages.sparkSession, stretches, STRETCHES))
        shown = split.withColumn("until", until)
    near = [F.when(is_new, F.col(name)).alias(name) for name in ("before", "after")]
    content = row_hash(F.col("message_type"), *map(F.col, SAME), *[F.col(name).isNull() for name in SAME])
    # Rows are wide: the few columns that decide are sorted, and find the rows that stay.
    narrow = ("event_id", "seen_at", "batch", "until", "content")
    known = (
        shown.select(*MESSAGE, "place", *narrow[:-1], content.alias("content"))
        .join(F.broadcast(at), [*PLACE, "seen_at"], "left")
        .select(*MESSAGE, *narrow, *near)
    )
    # Each part of a window costs the embedded engine some microseconds: a part has many messages.
    part = F.pmod(row_hash(F.col("message_id")), F.lit(PARTS))
    in_order = Window.partitionBy(*MESSAGE[1:], part).orderBy("message_id", "seen_at", "batch")
    compared = ("message_id", "until", "after", "content")
    last = {f"last_{name}": F.lag(name).over(in_order) for name in compared}
    follows = (F.col("before") <= F.col("last_until")) | (F.col("seen_at") <= F.col("last_after"))
    for name in ("message_id", "content"):
        follows &= F.col(name) == F.col(f"last_{name}")
    is_next = F.coalesce(follows, F.lit(False))
    begun = known.withColumns(last).withColumn("begins", (~is_next).cast("int"))
    runs = begun.withColumn("run", F.sum("begins").over(in_order.rowsBetween(Window.unboundedPreceding, 0)))
    of_run = runs.groupBy(*MESSAGE, "run").agg(
        F.min_by("event_id", "seen_at").alias("event_id"),
        F.min("seen_at").alias("seen_at"),
        F.min("batch").alias("batch"),
        F.nullif(F.max("until"), F.min("seen_at")).alias("shown_until"),
    )
    first = of_run.select("event_id", "seen_at", "batch", "shown_until")
    stored = shown.drop("batch", "shown_until").join(first, ["event_id", "seen_at"], "inner")
    return messages.where(~is_shown).unionByName(stored.select(*names))


def _find_stretches(views: Iterable[Mapping[str, Any]]) -> Iterator[tuple[Any, ...]]:
    """Find the views of earlier batches that new ones come between.

    Args:
        views: the new views, `with_neighbors` among all.

    Yields:
        STRETCHES: of each place with new views between earlier ones, the first and the last view of each run
        of earlier views. The first run has no first view, and the last one no last view.
    """
    in_order = sorted(views, key=itemgetter(*PLACE, "seen_at"))
    for place, of_place in groupby(in_order, key=itemgetter(*PLACE)):
        gaps: list[tuple[datetime | None, datetime | None]] = []
        previous = None
        for view in of_place:
            if gaps and view["before"] == previous:
                gaps[-1] = (gaps[-1][0], view["after"])
            else:
                gaps.append((view["before"], view["after"]))
            previous = view["seen_at"]
        between = [gap for gap in gaps if None not in gap]
        if between:
            begins, ends = [None, *[end for _, end in between]], [*[begin for begin, _ in between], None]
            yield from ((*place, *stretch) for stretch in zip(begins, ends, strict=True))


def _split(shown: DataFrame, stretches: DataFrame) -> DataFrame:
    """The rows of views, each once for every stretch of earlier views that it reaches into.

    Args:
        shown: rows of `message_events` with `place`, and `until`, the last snapshot that each stands for.
        stretches: STRETCHES; few.

    Returns:
        The same columns; `until` is not changed.
    """
    first, last = F.col("first_view"), F.col("last_view")
    reaches = [F.col(f"of_{name}") == F.col(name) for name in PLACE]
    reaches.append(first.isNull() | (F.col("until") >= first))
    reaches.append(last.isNull() | (F.col("seen_at") <= last))
    joined = shown.join(F.broadcast(stretches), reaches, "left")
    narrowed = narrow_sight(F.greatest("seen_at", first), F.least("until", last))
    return joined.withColumns(narrowed).select(*shown.columns)


def narrow_sight(seen_at: Column, until: Column) -> dict[str, Column]:
    """The columns of a row of views that change where its first and last snapshot are others.

    Args:
        seen_at: the first snapshot, the row's own one or a later one.
        until: the last one.
    """
    begins_later = seen_at > F.col("seen_at")
    rest_of_id = F.substr("event_id", F.length(_begin_of_id(F.col("seen_at"))) + 1)
    is_untimed = F.col("event_time") == just_before(F.col("seen_at"))
    return {
        "event_id": F.when(begins_later, F.concat(_begin_of_id(seen_at), rest_of_id)).otherwise(
            F.col("event_id")
        ),
        "event_time": F.when(begins_later & is_untimed, just_before(seen_at)).otherwise(F.col("event_time")),
        "seen_at": seen_at,
        "shown_until": F.when(until > seen_at, until),
    }


def _begin_of_id(taken_at: Column) -> Column:
    """What the id of a row of a view begins with."""
    return F.concat(F.lit(f"{SNAPSHOT}/"), F.unix_micros(taken_at).cast("string"))
