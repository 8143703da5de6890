"""What snapshots show of the monitors and activated tasks of queues."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from pipelines.activation.evidence import NOTIFIED
from pipelines.config.catalog import Catalog
from pipelines.storage.monitors import DROPPED, activated_between
from pipelines.why.read import PublishedTables

ACTIVATION_OFF = "activation_off"
RECEIVING = "RECEIVES_OCCURRING"
"""The state of a monitor whose queue has readers."""
QueueName = tuple[str, str, str]
SHOWN = (
    "monitor_is_dropped boolean, monitor_is_missing boolean, tasks_running bigint, max_readers int, "
    "dropped_monitors bigint, monitor_seen_at timestamp"
)


@dataclass(frozen=True)
class ShownMonitor:
    """The monitor of a queue in the newest snapshot of its database that has the view of monitors.

    Attributes:
        is_dropped: the only monitor is in state DROPPED, and activation is not known to be off.
        is_missing: activation is on, and the view, which is complete, has no monitor of the queue.
        notified_at: since when at the latest it is NOTIFIED; None if it is not, or since when is not known.
        is_receiving: it is in state RECEIVES_OCCURRING.
        tasks_running: activated tasks; None if not known.
        max_readers: MAX_QUEUE_READERS; None without internal activation.
        dropped: monitors in state DROPPED; None if not known.
        seen_at: the moment of the snapshot.
    """

    is_dropped: bool
    is_missing: bool
    notified_at: datetime | None
    is_receiving: bool
    tasks_running: int | None
    max_readers: int | None
    dropped: int | None
    seen_at: datetime


def shown_monitors(tables: PublishedTables, catalog: Catalog) -> dict[QueueName, ShownMonitor]:
    """The monitors of all queues of which a snapshot up to as_of shows or misses one."""
    views, rows = tables.monitors()
    readers = {row[:3]: row[4] for row in catalog.monitor_rows() if row[3] == "internal"}
    names = [(row["instance"], row["database"], row["queue"]) for row in rows]
    reasons, found = static_reasons(catalog, names), {}
    for name, row in zip(names, rows, strict=True):
        activated = activated_between(row)
        found[name] = ShownMonitor(
            is_dropped=row["state"] == DROPPED and reasons.get(name) != ACTIVATION_OFF,
            is_missing=False,
            notified_at=activated[1] if activated and row["state"] == NOTIFIED else None,
            is_receiving=row["state"] == RECEIVING,
            tasks_running=row["tasks_running"],
            max_readers=readers.get(name),
            dropped=row["dropped"],
            seen_at=row["taken_at"],
        )
    for name, most in readers.items():
        seen_at, is_complete = views.get(name[:2], (tables.as_of, False))
        if name not in found and is_complete:
            found[name] = ShownMonitor(
                is_dropped=False,
                is_missing=True,
                notified_at=None,
                is_receiving=False,
                tasks_running=None,
                max_readers=most,
                dropped=0,
                seen_at=seen_at,
            )
    return found


def monitor_values(monitor: ShownMonitor | None) -> tuple[object, ...]:
    """The values of SHOWN; null without a monitor."""
    if monitor is None:
        return (None,) * len(SHOWN.split(","))
    of_readers = monitor.tasks_running, monitor.max_readers, monitor.dropped
    return monitor.is_dropped, monitor.is_missing, *of_readers, monitor.seen_at


def static_reasons(catalog: Catalog, queues: Iterable[QueueName]) -> dict[QueueName, str]:
    """Why nothing starts a reader, by the catalog alone."""
    of_catalog, reasons = catalog.queues(), {}
    for name in queues:
        queue = of_catalog.get(name)
        if queue is None or (queue.activation is None and queue.event_notification is None):
            reasons[name] = "no_monitor"
        elif queue.activation is not None and not queue.activation.status:
            reasons[name] = ACTIVATION_OFF
    return reasons
