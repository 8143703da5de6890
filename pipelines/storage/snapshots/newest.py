"""Which snapshots are the newest or complete ones that show a view."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import small_frame
from pipelines.server.snapshots.views import ENDPOINTS, TRANSMISSION, is_queue, queue_of
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import QUEUE_STATUSES, SNAPSHOTS
from schemas.table import Table

NewestViews = dict[tuple[str, str], tuple[datetime, bool]]


@dataclass(frozen=True)
class SummedView:
    """The newest complete view of a queue or a transmission queue, with what its rows must add up to.

    Attributes:
        kind: the schedule of its messages: receive or transmission.
        instance: of the database.
        database: its name.
        queue: the queue; None of a transmission queue.
        taken_at: when it was taken.
        rows: those that wait: of a queue those of status 1, less repeated and rejected ones.
        is_late: whether it came after a later view of the same queue. Then the ledger may not say whether it
            shows a message that the views before and after it show.
    """

    kind: str
    instance: str
    database: str
    queue: str | None
    taken_at: datetime
    rows: int
    is_late: bool = False


def read_summed_views(warehouse: Warehouse, as_of: datetime) -> list[SummedView]:
    """The newest complete view of each queue and transmission queue up to as_of, in order.

    Args:
        warehouse: what to read; one without snapshots has none.
        as_of: snapshots that were taken later do not count.

    Views whose rows an older version did not count are left out, and those of pruned days.
    """
    if not warehouse.exists(SNAPSHOTS):
        return []
    of_messages = F.col("view").contains(".") | (F.col("view") == TRANSMISSION)
    counted = F.col("rows") - F.col("repeated_rows") - F.col("rejected_rows")
    then = F.when(F.col("taken_at") <= F.lit(as_of), F.col("taken_at"))
    taken = warehouse.read(SNAPSHOTS).where(of_messages & F.col("complete"))
    newest = taken.groupBy("instance", "database", "view").agg(
        F.max(then).alias("taken_at"),
        F.max_by(F.coalesce(counted, F.lit(-1)), then).alias("rows"),
        F.max_by("batch", then).alias("batch"),
        F.min(F.when(then.isNull(), F.col("batch"))).alias("next_batch"),
    )
    return [
        SummedView(
            "receive" if is_queue(row["view"]) else "transmission",
            row["instance"],
            row["database"],
            queue_of(row["view"]) if is_queue(row["view"]) else None,
            row["taken_at"],
            row["rows"],
            is_late=row["next_batch"] is not None and row["next_batch"] < row["batch"],
        )
        for row in collect_rows(newest.where("taken_at is not null").orderBy("instance", "database", "view"))
        if row["rows"] >= 0 and not warehouse.is_pruned(row["taken_at"] - timedelta(microseconds=1))
    ]


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


def read_complete_queues(warehouse: Warehouse, as_of: datetime) -> DataFrame:
    """Read the complete views of queues up to as_of: (instance, database, queue, taken_at).

    Args:
        warehouse: what to read; it has snapshots.
        as_of: snapshots that were taken later do not count.
    """
    is_of_queue = F.col("view").contains(".") & F.col("complete") & (F.col("taken_at") <= F.lit(as_of))
    queue = F.expr("substring(view, instr(view, '.') + 1)").alias("queue")
    return warehouse.read(SNAPSHOTS).where(is_of_queue).select("instance", "database", queue, "taken_at")


def read_taken_at(
    warehouse: Warehouse, table: Table, taken: Sequence[tuple[str | datetime, ...]]
) -> list[dict[str, Any]]:
    """The rows of a table that snapshots show.

    Args:
        warehouse: what to read.
        table: its key begins with that of a database or a queue.
        taken: the names of each database or queue, and the moment of its snapshot.
    """
    if not taken:
        return []
    key = [*QUEUE[: len(taken[0]) - 1], "taken_at"]
    schema = ", ".join(f"{name} {'timestamp' if name == 'taken_at' else 'string'}" for name in key)
    moments = F.broadcast(small_frame(warehouse.spark, taken, schema))
    return collect_rows(warehouse.read(table).join(moments, key, "left_semi"))


def read_complete_endpoints(warehouse: Warehouse) -> DataFrame:
    """Read the complete views of endpoints: (instance, database, taken_at), unique."""
    views = warehouse.read(SNAPSHOTS).where((F.col("view") == ENDPOINTS) & F.col("complete"))
    return views.select("instance", "database", "taken_at").distinct()


def read_latest_statuses(warehouse: Warehouse, as_of: datetime) -> dict[tuple[str, str, str], dict[int, int]]:
    """Rows by status of the queues some of whose rows do not wait, as the newest snapshots show them.

    Args:
        warehouse: what to read; one without the table has none.
        as_of: snapshots that were taken later do not count.
    """
    if not warehouse.exists(QUEUE_STATUSES):
        return {}
    views = warehouse.read(SNAPSHOTS).where(F.col("view").contains(".") & (F.col("taken_at") <= F.lit(as_of)))
    newest = views.groupBy("instance", "database", "view").agg(F.max("taken_at").alias("newest"))
    taken = [
        (row["instance"], row["database"], queue_of(row["view"]), row["newest"])
        for row in collect_rows(newest)
    ]
    found: dict[tuple[str, str, str], dict[int, int]] = {}
    for row in read_taken_at(warehouse, QUEUE_STATUSES, taken):
        queue = (row["instance"], row["database"], row["queue"])
        found.setdefault(queue, {})[row["status"]] = row["rows"]
    return dict(sorted(found.items()))
