"""How many rows of queues do not wait: retained ones, and those that are not in order yet."""

from datetime import datetime

from pyspark.sql import functions as F

from pipelines.storage.collect import collect_rows
from pipelines.storage.snapshots.newest import read_newest_queues
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import QUEUE_STATUSES

QueueName = tuple[str, str, str]


def read_latest_statuses(warehouse: Warehouse, as_of: datetime) -> dict[QueueName, dict[int, int]]:
    """Rows by status of the queues some of whose rows do not wait, as the newest snapshots show them.

    Args:
        warehouse: what to read; one without the table has none.
        as_of: snapshots that were taken later do not count.
    """
    if not warehouse.exists(QUEUE_STATUSES):
        return {}
    newest = read_newest_queues(warehouse, as_of)
    found: dict[QueueName, dict[int, int]] = {}
    for row in collect_rows(warehouse.read(QUEUE_STATUSES).where(F.col("taken_at") <= F.lit(as_of))):
        queue = (row["instance"], row["database"], row["queue"])
        if newest.get(queue) == row["taken_at"]:
            found.setdefault(queue, {})[row["status"]] = row["rows"]
    return dict(sorted(found.items()))
