"""What new snapshots show of queues, a few rows: their monitors, and how many rows have which status."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.server.snapshots.views import READY, queue_of
from pipelines.storage.collect import collect_rows
from pipelines.storage.monitors import DROPPED
from schemas.keys import QUEUE

FIRST_YEAR = 1970
"""A monitor that never started a reader has 1900-01-01 in its times, or nothing."""

EARLIEST = datetime.min.replace(tzinfo=UTC)

Row = tuple[Any, ...]


def monitors_of(
    monitors: DataFrame,
    tasks: DataFrame | None,
    with_tasks: Collection[Row],
    offsets: Mapping[Row, int | None],
) -> list[Row]:
    """The rows of `queue_monitors` without batch: a few, one for each monitored queue of a server.

    Args:
        monitors: accepted rows of dm_broker_queue_monitors with `queue`, `instance`, `database`, `taken_at`.
        tasks: accepted rows of dm_broker_activated_tasks with the same; None if no snapshot has that view.
        with_tasks: (instance, database, taken_at) of the snapshots that have it.
        offsets: minutes that the servers' clocks are ahead of UTC, by the same, where they are known.
    """
    key = (*QUEUE, "taken_at")
    running = Counter(
        tuple(row[name] for name in key) for row in (collect_rows(tasks.select(*key)) if tasks else ())
    )
    columns = (*key, "state", "last_activated_time", "last_empty_rowset_time", "tasks_waiting")
    rows = collect_rows(monitors.select(*columns))
    for row in rows:
        row["state"] = row["state"].strip().upper() if row["state"] else None
    dropped = Counter(tuple(row[name] for name in key) for row in rows if row["state"] == DROPPED)
    # A queue has two monitors after its old one was dropped: the newer one counts.
    rows.sort(key=lambda row: (row["state"] != DROPPED, _time(row["last_activated_time"]) or EARLIEST))
    found = {tuple(row[name] for name in key): row for row in rows}
    return [
        (
            *where,
            row["state"],
            _time(row["last_activated_time"]),
            _time(row["last_empty_rowset_time"]),
            row["tasks_waiting"],
            running[where] if (*where[:2], row["taken_at"]) in with_tasks else None,
            dropped[where],
            offsets.get((*where[:2], row["taken_at"])),
        )
        for where, row in found.items()
    ]


def _time(moment: datetime | None) -> datetime | None:
    return None if moment is None or moment.year < FIRST_YEAR else moment


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
