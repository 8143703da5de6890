"""Snapshots of failover partners that came before the one of the writable database, which counts."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeAlias

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import among, small_frame
from pipelines.ingest.snapshots.sights import narrow_sight, queue_of_view
from pipelines.server.snapshots.places import PLACE
from pipelines.server.snapshots.server import ServerSnapshot
from pipelines.server.snapshots.views import TRANSMISSION
from pipelines.state.messages import shown_last
from pipelines.storage.batches import SNAPSHOTS as SNAPSHOTS_SOURCE
from pipelines.storage.collect import collect_rows
from pipelines.storage.placed import placed, without_left_out
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES
from schemas.outputs import BATCHES, QUEUE_MONITORS, QUEUE_STATUSES, SNAPSHOTS
from schemas.table import Table

Key: TypeAlias = tuple[str, str, datetime]
"""Instance and database as the server names them, and taken_at."""
KEY = "instance string, database string, taken_at timestamp"
OWN_KEY = "of_instance string, of_database string, taken_at timestamp"
NEIGHBORS = f"{OWN_KEY}, place string, previous timestamp, next timestamp"
OF_PLACE = ("of_instance", "of_database", "place")


def find_replaced(warehouse: Warehouse, snapshots: Iterable[ServerSnapshot], batch: int) -> list[Key]:
    """Find the snapshots that a batch up to this one took and that do not count any more.

    Args:
        warehouse: the tables.
        snapshots: those that do not count beside one of the writable database.
        batch: the newest completed batch.
    """
    keys = [(*each.own_key, each.taken_at) for each in snapshots]
    if not keys or not warehouse.exists(SNAPSHOTS):
        return []
    taken = warehouse.read_with_own_names(SNAPSHOTS).where(F.col("batch") <= batch)
    rows = collect_rows(among(taken, keys, KEY).select(*PLACE, "taken_at").distinct())
    return sorted((row["instance"], row["database"], row["taken_at"]) for row in rows)


def find_first_batch(warehouse: Warehouse, replaced: Sequence[Key]) -> int | None:
    """Find the first batch that took one of some snapshots; None if none did."""
    if not replaced:
        return None
    taken = among(warehouse.read_with_own_names(SNAPSHOTS), replaced, KEY)
    [found] = collect_rows(taken.agg(F.min("batch").alias("batch")))
    batch: int | None = found["batch"]
    return batch


def read_views_that_count(warehouse: Warehouse, replaced: Sequence[Key]) -> DataFrame:
    """The rows of `snapshots` without those of some snapshots, under the names that databases go by."""
    if not replaced:
        return warehouse.read(SNAPSHOTS)
    counting = _without(warehouse.read_with_own_names(SNAPSHOTS), replaced)
    return without_left_out(placed(counting, warehouse.places, has_own=False), warehouse.places)


def without_replaced(
    warehouse: Warehouse, table: Table, events: DataFrame, replaced: Sequence[Key]
) -> DataFrame:
    """The rows of a table of events without what some snapshots show.

    Args:
        warehouse: for the views that were taken.
        table: the table.
        events: its rows.
        replaced: the snapshots.

    Returns:
        The same columns. A message event that stands for several snapshots begins and ends with one that
        counts. What was inferred from these snapshots is still there.
    """
    named = events.withColumns({f"of_{name}": F.coalesce(f"own_{name}", name) for name in PLACE})
    if table is MESSAGES:
        near = _neighbors(warehouse, replaced)
        return _between_counting_views(named, near).select(*events.columns)
    few = small_frame(events.sparkSession, replaced, OWN_KEY).withColumnRenamed("taken_at", "seen_at")
    return named.join(F.broadcast(few), few.columns, "left_anti").select(*events.columns)


def _neighbors(warehouse: Warehouse, replaced: Sequence[Key]) -> DataFrame:
    """The views of messages in some snapshots, with the same database's views around them that count.

    Returns:
        NEIGHBORS, one row a view; `previous` and `next` are null where there is none.
    """
    queue = queue_of_view()
    views = warehouse.read_with_own_names(SNAPSHOTS).where(
        queue.isNotNull() | (F.col("view") == TRANSMISSION)
    )
    views = views.select(*PLACE, "taken_at", F.coalesce(queue, F.lit("")).alias("place")).distinct()
    key = [*PLACE, "place"]
    lost = among(views, replaced, KEY)
    counting = _without(views, replaced).select(*key, F.col("taken_at").alias("moment"))
    moment, taken_at = F.col("moment"), F.col("taken_at")
    found = (
        lost.join(counting, key, "left")
        .groupBy(*key, "taken_at")
        .agg(
            F.max(F.when(moment < taken_at, moment)).alias("previous"),
            F.min(F.when(moment > taken_at, moment)).alias("next"),
        )
    )
    rows = collect_rows(found.select(*PLACE, "taken_at", "place", "previous", "next"))
    return small_frame(warehouse.spark, [tuple(row.values()) for row in rows], NEIGHBORS)


def _between_counting_views(messages: DataFrame, near: DataFrame) -> DataFrame:
    """The message events, whose first and last snapshot is one that counts.

    Args:
        messages: message events with `of_instance` and `of_database`.
        near: NEIGHBORS of views that do not count; few.
    """
    rows = messages.withColumns({"place": F.coalesce("shown_queue", F.lit("")), "until": shown_last()})
    first, last = (
        F.broadcast(
            near.select(
                *OF_PLACE,
                F.col("taken_at").alias(moment),
                F.col("taken_at").alias(f"lost_{moment}"),
                F.col(neighbor).alias(f"new_{moment}"),
            )
        )
        for moment, neighbor in (("seen_at", "next"), ("until", "previous"))
    )
    joined = rows.join(first, [*OF_PLACE, "seen_at"], "left").join(last, [*OF_PLACE, "until"], "left")
    begins_later, ends_earlier = (F.col(f"lost_{name}").isNotNull() for name in ("seen_at", "until"))
    seen_at = F.when(begins_later, F.col("new_seen_at")).otherwise(F.col("seen_at"))
    until = F.when(ends_earlier, F.col("new_until")).otherwise(F.col("until"))
    is_left = ~(begins_later | ends_earlier) | F.coalesce(seen_at <= until, F.lit(False))
    return joined.where(is_left).withColumns(narrow_sight(seen_at, until))


def remove_replaced(warehouse: Warehouse, replaced: Sequence[Key]) -> None:
    """Remove snapshots from the tables that say what was taken, once the ledger is without them.

    Until then they are found again, and the next batch does the same. No row of `batches` names newer data
    than the newest snapshot that is left.
    """
    if not replaced:
        return
    _limit_newest_data(warehouse, replaced)
    for table in (QUEUE_MONITORS, QUEUE_STATUSES, SNAPSHOTS):
        if not warehouse.exists(table):
            continue
        rows = warehouse.read_with_own_names(table)
        [found] = collect_rows(among(rows, replaced, KEY).agg(F.min("batch").alias("batch")))
        if found["batch"] is not None:
            where = f"batch >= {found['batch']}"
            warehouse.replace(table, _without(rows.where(where), replaced), where=where)


def _limit_newest_data(warehouse: Warehouse, replaced: Sequence[Key]) -> None:
    views = read_views_that_count(warehouse, replaced)
    [left] = collect_rows(views.agg(F.max("taken_at").alias("newest")))
    newest = F.lit(left["newest"])
    batches = warehouse.read(BATCHES)
    is_of_snapshots = F.col("source") == SNAPSHOTS_SOURCE
    beyond = batches.where(is_of_snapshots & (F.col("newest_data") > newest))
    [found] = collect_rows(beyond.agg(F.min("batch").alias("batch")))
    if found["batch"] is None:
        return
    where = f"batch >= {found['batch']}"
    limited = F.when(is_of_snapshots, F.least("newest_data", newest)).otherwise(F.col("newest_data"))
    warehouse.replace(BATCHES, batches.where(where).withColumn("newest_data", limited), where=where)


def _without(rows: DataFrame, replaced: Sequence[Key]) -> DataFrame:
    """Rows with KEY, without those of some snapshots."""
    few = small_frame(rows.sparkSession, replaced, KEY)
    return rows.join(F.broadcast(few), few.columns, "left_anti").select(*rows.columns)
