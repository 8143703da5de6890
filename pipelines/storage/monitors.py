"""Queue monitors as the newest snapshots show them."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from pipelines.server.snapshots.views import MONITORS
from pipelines.storage.snapshots.newest import NewestViews, read_newest_views, read_taken_at
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import QUEUE_MONITORS

DROPPED = "DROPPED"
"""The state of a monitor that the server has dropped."""
LATELY = timedelta(minutes=1)
"""A monitor may be read so long after taken_at."""


def read_latest_monitors(
    warehouse: Warehouse, as_of: datetime, views: NewestViews | None = None
) -> list[dict[str, Any]]:
    """The monitors that the newest snapshot with that view shows of each database.

    Args:
        warehouse: what to read; one without the table has none.
        as_of: snapshots that were taken later do not count.
        views: `read_newest_views` of monitors, if it is known.

    Returns:
        Rows of `queue_monitors`, one a queue, by queue.
    """
    if not warehouse.exists(QUEUE_MONITORS):
        return []
    newest = read_newest_views(warehouse, MONITORS, as_of) if views is None else views
    taken = [(*database, taken_at) for database, (taken_at, _) in newest.items()]
    return sorted(read_taken_at(warehouse, QUEUE_MONITORS, taken), key=itemgetter(*QUEUE))


def activated_between(monitor: Mapping[str, Any]) -> tuple[datetime, datetime] | None:
    """The first and last moment at which a monitor may have started or notified a reader last.

    The zone of its times is not documented: they are read as UTC, and as times of the server's clock. Neither
    may be after the snapshot; one just after it counts as just before it.

    Args:
        monitor: a row of `queue_monitors`.

    Returns:
        None if it never did, or no reading is possible.
    """
    written, taken_at = monitor["last_activated_time"], monitor["taken_at"]
    if written is None:
        return None
    read = (written, written - timedelta(minutes=monitor["utc_offset_minutes"] or 0))
    before = taken_at - timedelta(microseconds=1)
    possible = [min(each, before) for each in read if each <= taken_at + LATELY]
    return (min(possible), max(possible)) if possible else None
