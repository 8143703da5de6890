"""Queue monitors as the newest snapshots show them."""

from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import functions as F

from pipelines.config.snapshots.views import MONITORS
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import QUEUE_MONITORS, SNAPSHOTS


def read_latest_monitors(warehouse: Warehouse, as_of: datetime) -> list[dict[str, Any]]:
    """The monitors that the newest snapshot with that view shows of each database.

    Args:
        warehouse: what to read; one without the table has none.
        as_of: snapshots that were taken later do not count.

    Returns:
        Rows of `queue_monitors`, one a queue, by queue.
    """
    if not warehouse.exists(QUEUE_MONITORS):
        return []
    taken = warehouse.read(SNAPSHOTS).where((F.col("view") == MONITORS) & (F.col("taken_at") <= F.lit(as_of)))
    newest = {
        (row["instance"], row["database"]): row["newest"]
        for row in collect_rows(taken.groupBy("instance", "database").agg(F.max("taken_at").alias("newest")))
    }
    rows = collect_rows(warehouse.read(QUEUE_MONITORS).where(F.col("taken_at") <= F.lit(as_of)))
    current = [row for row in rows if newest.get((row["instance"], row["database"])) == row["taken_at"]]
    return sorted(current, key=itemgetter(*QUEUE))
