"""Which snapshots are the newest that show a view."""

from datetime import datetime

from pyspark.sql import functions as F

from pipelines.config.snapshots.views import queue_of
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import SNAPSHOTS

NewestViews = dict[tuple[str, str], tuple[datetime, bool]]


def read_newest_views(warehouse: Warehouse, view: str, as_of: datetime) -> NewestViews:
    """When each database's newest view of this name up to as_of was taken, and whether it is complete.

    Args:
        warehouse: what to read; one without snapshots has none.
        view: its name.
        as_of: snapshots that were taken later do not count.
    """
    if not warehouse.exists(SNAPSHOTS):
        return {}
    taken = warehouse.read(SNAPSHOTS).where((F.col("view") == view) & (F.col("taken_at") <= F.lit(as_of)))
    newest = taken.groupBy("instance", "database").agg(
        F.max("taken_at").alias("newest"), F.max_by("complete", "taken_at").alias("complete")
    )
    return {
        (row["instance"], row["database"]): (row["newest"], row["complete"]) for row in collect_rows(newest)
    }


def read_complete_queues(warehouse: Warehouse, as_of: datetime) -> dict[tuple[str, str, str], list[datetime]]:
    """When complete views of each queue up to as_of were taken, in order.

    Args:
        warehouse: what to read; one without snapshots has none.
        as_of: snapshots that were taken later do not count.
    """
    found: dict[tuple[str, str, str], list[datetime]] = {}
    if warehouse.exists(SNAPSHOTS):
        is_of_queue = F.col("view").contains(".") & F.col("complete") & (F.col("taken_at") <= F.lit(as_of))
        for row in collect_rows(warehouse.read(SNAPSHOTS).where(is_of_queue).orderBy("taken_at")):
            name = row["instance"], row["database"], queue_of(row["view"])
            found.setdefault(name, []).append(row["taken_at"])
    return found


def read_newest_queues(warehouse: Warehouse, as_of: datetime) -> dict[tuple[str, str, str], datetime]:
    """When each queue's newest view up to as_of was taken.

    Args:
        warehouse: what to read; one without snapshots has none.
        as_of: snapshots that were taken later do not count.
    """
    if not warehouse.exists(SNAPSHOTS):
        return {}
    views = warehouse.read(SNAPSHOTS).where(F.col("view").contains(".") & (F.col("taken_at") <= F.lit(as_of)))
    newest = views.groupBy("instance", "database", "view").agg(F.max("taken_at").alias("newest"))
    return {
        (row["instance"], row["database"], queue_of(row["view"])): row["newest"]
        for row in collect_rows(newest)
    }
