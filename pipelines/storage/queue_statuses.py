"""How many rows of queues do not wait: retained ones, and those that are not in order yet."""

from datetime import datetime

from pipelines.storage.snapshots.newest import read_newest_queues, read_taken_at
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
    taken = [(*queue, taken_at) for queue, taken_at in read_newest_queues(warehouse, as_of).items()]
    found: dict[QueueName, dict[int, int]] = {}
    for row in read_taken_at(warehouse, QUEUE_STATUSES, taken):
        queue = (row["instance"], row["database"], row["queue"])
        found.setdefault(queue, {})[row["status"]] = row["rows"]
    return dict(sorted(found.items()))
