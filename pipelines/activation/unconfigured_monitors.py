"""Queue monitors that only a snapshot shows: the catalog gives their queues none, so nothing is replayed."""

from datetime import datetime
from typing import Any

from pyspark.sql import functions as F

from pipelines.activation.evidence import NOTIFIED
from pipelines.config.catalog import Catalog
from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count, format_queue
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import events_before
from pipelines.storage.collect import collect_rows
from pipelines.storage.monitors import latest_monitors
from pipelines.storage.warehouse import Warehouse
from schemas.events import MESSAGES, QUEUE_FACTS
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import GROUP_PRIORITIES

Row = dict[str, Any]


def unconfigured_monitors(warehouse: Warehouse, catalog: Catalog, as_of: datetime) -> list[Row]:
    """Find the monitors of the newest snapshots on queues to which the catalog gives none.

    Returns:
        One row per queue, by queue: its monitor (`pipelines.storage.monitors.latest_monitors`), `ready`:
        how many
        messages stand in the queue, `advice`: queue_off if it is off and some do, not_received if the monitor
        is NOTIFIED, some do, and the log has no receive since, else not_known, and `sentence`: the advice in
        words.
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
    known = {format_queue(row): (row["ready"], row["is_off"]) for row in collect_rows(counts)}
    notified = [row for row in monitors if format_queue(row) in known and _is_notified(row)]
    last = _last_receives(warehouse, as_of, min(map(_since, notified))) if notified else {}
    found = []
    for row in monitors:
        name = format_queue(row)
        ready, is_off = known.get(name, (0, False))
        was_read = name in last and last[name] >= _since(row)
        found.append({**row, "ready": ready, **_advice(row, ready, is_off=is_off, was_read=was_read)})
    return found


def _is_notified(monitor: Row) -> bool:
    return (monitor["state"] or "").upper() == NOTIFIED


def _since(monitor: Row) -> datetime:
    """From when on a receive answers the notification."""
    since: datetime = monitor["last_activated_time"] or monitor["taken_at"]
    return since


def _last_receives(warehouse: Warehouse, as_of: datetime, since: datetime) -> dict[str, datetime]:
    """The last RECEIVE or RECEIVED of each queue that a log has from a moment on, before as_of."""
    is_logged = (F.col("event_time") >= F.lit(since)) & F.col("seen_at").isNull()
    statements, messages = (
        events_before(warehouse.read_open(table, since), as_of).where(is_logged)
        for table in (QUEUE_FACTS, MESSAGES)
    )
    received = messages.where("event_type = 'RECEIVED'").select(
        "conversation_id", (~F.col("sent_by_initiator")).alias("is_initiator"), "event_time"
    )
    placed = received.join(warehouse.read_open(ENDPOINTS, since).select(*SIDE, *QUEUE), SIDE, "inner")
    times = statements.where("event_type = 'RECEIVE'").select(*QUEUE, "event_time")
    rows = times.unionByName(placed.where("queue is not null").select(*QUEUE, "event_time"))
    last = collect_rows(rows.groupBy(*QUEUE).agg(F.max("event_time").alias("last")))
    return {format_queue(row): row["last"] for row in last}


def _advice(monitor: Row, ready: int, *, is_off: bool, was_read: bool) -> dict[str, str]:
    stand = f"{format_count(ready, 'message')} {'stands' if ready == 1 else 'stand'} in the queue"
    if is_off:
        return {"advice": "queue_off", "sentence": f"The queue is off; {stand}"}
    if ready and _is_notified(monitor) and not was_read:
        since = monitor["last_activated_time"]
        sentence = (
            f"{stand}; the monitor is NOTIFIED{'' if since is None else f' since {format_instant(since)}'}: "
            "the application was notified and did not RECEIVE (snapshot of "
            f"{format_instant(monitor['taken_at'])})"
        )
        return {"advice": "not_received", "sentence": sentence}
    sentence = f"{stand if ready else 'No message stands in the queue'}; what readers did is not known: the "
    return {"advice": "not_known", "sentence": f"{sentence}catalog has no monitor of this queue to replay"}
