"""Queue monitors that only a snapshot shows: the catalog gives their queues none, so nothing is replayed."""

from datetime import datetime
from typing import Any

from pyspark.sql import functions as F

from config.catalog import Catalog
from config.instants import format_instant
from insight.wording import counted, queue_name
from pipelines.activation.known import NOTIFIED
from schemas.keys import QUEUE
from schemas.outputs import GROUP_PRIORITIES
from storage.collected import collected
from storage.monitors import latest_monitors
from storage.warehouse import Warehouse

Row = dict[str, Any]


def shown_monitors(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> list[Row]:
    """Find the monitors of the newest snapshots on queues to which the catalog gives none.

    Returns:
        One row per queue, by queue: its monitor (`storage.monitors.latest_monitors`), `ready`: how many
        messages stand in the queue, `advice`: not_received if the monitor is NOTIFIED and some do, else
        not_known, and `sentence`: the advice in words. Queues that are off have no messages here.
    """
    replayed = {row[:3] for row in catalog.monitor_rows()}
    monitors = [
        row
        for row in latest_monitors(warehouse, as_of)
        if (row["instance"], row["database"], row["queue"]) not in replayed
    ]
    if not monitors:
        return []
    groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).where("state <> 'queue_off'")
    ready = {
        queue_name(row): row["messages"]
        for row in collected(groups.groupBy(*QUEUE).agg(F.sum("messages").alias("messages")))
    }
    found = [{**row, "ready": ready.get(queue_name(row), 0)} for row in monitors]
    return [{**row, **_advice(row, row["ready"])} for row in found]


def _advice(monitor: Row, ready: int) -> dict[str, str]:
    stand = f"{counted(ready, 'message')} {'stands' if ready == 1 else 'stand'} in the queue"
    if ready and (monitor["state"] or "").upper() == NOTIFIED:
        since = monitor["last_activated_time"]
        sentence = (
            f"{stand}; the monitor is NOTIFIED{'' if since is None else f' since {format_instant(since)}'}: "
            "the application was notified and did not RECEIVE (snapshot of "
            f"{format_instant(monitor['taken_at'])})"
        )
        return {"advice": "not_received", "sentence": sentence}
    sentence = f"{stand if ready else 'No message stands in the queue'}; what readers did is not known: the "
    return {"advice": "not_known", "sentence": f"{sentence}catalog has no monitor of this queue to replay"}
