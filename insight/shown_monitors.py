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
        messages stand in the queue, `advice`: queue_off if it is off and some do, not_received if the monitor
        is NOTIFIED and some do, else not_known, and `sentence`: the advice in words.
    """
    replayed = {row[:3] for row in catalog.monitor_rows()}
    monitors = [
        row
        for row in latest_monitors(warehouse, as_of)
        if (row["instance"], row["database"], row["queue"]) not in replayed
    ]
    if not monitors:
        return []
    groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).groupBy(*QUEUE)
    counts = groups.agg(
        F.sum("messages").alias("ready"), (F.count_if(F.col("state") == "queue_off") > 0).alias("is_off")
    )
    known = {queue_name(row): (row["ready"], row["is_off"]) for row in collected(counts)}
    found = []
    for row in monitors:
        ready, is_off = known.get(queue_name(row), (0, False))
        found.append({**row, "ready": ready, **_advice(row, ready, is_off=is_off)})
    return found


def _advice(monitor: Row, ready: int, *, is_off: bool) -> dict[str, str]:
    stand = f"{counted(ready, 'message')} {'stands' if ready == 1 else 'stand'} in the queue"
    if is_off:
        return {"advice": "queue_off", "sentence": f"The queue is off; {stand}"}
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
