"""How many rows of queues have which status in new snapshots: a few rows, written beside the ledger."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.config.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.config.snapshots.views import READY, queue_of
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import QUEUE_STATUSES

Row = tuple[Any, ...]
PLACE = ("instance", "database", "view", "taken_at")


def statuses_of(snapshots: Sequence[ServerSnapshot], queues: DataFrame | None) -> list[Row]:
    """The rows of `queue_statuses` without batch, of queues some of whose rows do not wait.

    Args:
        snapshots: captures say how many rows their queues have; views by hand show them.
        queues: accepted rows of queues with PLACE; None if there are none.
    """
    found: dict[Row, Mapping[int, int]] = {
        (*each.database_key, view, each.taken_at): statuses
        for each in snapshots
        for view, statuses in each.statuses.items()
    }
    if queues is not None and not all(isinstance(each.declared, CapturedSnapshot) for each in snapshots):
        counted = queues.groupBy(*PLACE, "status").agg(F.count(F.lit(1)).alias("rows"))
        shown: dict[Row, dict[int, int]] = {}
        for row in collect_rows(counted):
            shown.setdefault(tuple(row[name] for name in PLACE), {})[row["status"]] = row["rows"]
        found |= {place: rows for place, rows in shown.items() if rows.keys() - {READY}}
    return [
        (instance, database, queue_of(view), taken_at, status, rows)
        for (instance, database, view, taken_at), statuses in found.items()
        for status, rows in statuses.items()
    ]


def write_statuses(warehouse: Warehouse, number: int, rows: Sequence[Row]) -> None:
    """Write the counts that a batch brings, in place of the rows of an interrupted attempt."""
    if rows or warehouse.exists(QUEUE_STATUSES):
        numbered = [(number, *row) for row in rows]
        warehouse.replace(QUEUE_STATUSES, numbered, where=f"batch >= {number}")
