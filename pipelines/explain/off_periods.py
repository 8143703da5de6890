"""When a queue was off while messages waited in it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import functions as F

from pipelines.config.instants import format_instant
from pipelines.engine.frames import among
from pipelines.state.events_before import events_before
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.events import QUEUE_FACTS
from schemas.keys import QUEUE


@dataclass(frozen=True)
class OffPeriod:
    """A queue went off and on again.

    Attributes:
        off_at: when it went off.
        on_at: when it went on again.
        is_seen: whether a snapshot alone shows one of the two, which then happened at that moment or before.
    """

    off_at: datetime
    on_at: datetime
    is_seen: bool

    def sentence(self) -> str:
        """Say it in words."""
        off_at, on_at = (
            format_instant(moment.replace(microsecond=0)) for moment in (self.off_at, self.on_at)
        )
        if self.is_seen:
            return f"the queue was seen off at {off_at}, and on again at {on_at}"
        return f"the queue was off from {off_at} to {on_at}"


def read_off_periods(
    warehouse: Warehouse, queue: tuple[str, str, str], since: datetime, as_of: datetime
) -> tuple[OffPeriod, ...]:
    """Read when a queue was off and on again between a moment and as_of.

    Args:
        warehouse: the tables.
        queue: instance, database and name.
        since: when the oldest message arrived that waits in it.
        as_of: the instant.
    """
    events = among(
        events_before(warehouse.read_left(QUEUE_FACTS, since), as_of),
        [queue],
        ", ".join(f"{name} string" for name in QUEUE),
    )
    altered = events.where("event_type = 'QUEUE_ALTERED' and queue_status is not null")
    rows = collect_rows(
        altered.select("event_time", "event_id", "seen_at", F.upper("queue_status").alias("status"))
    )
    return tuple(period for period in find_off_periods(rows) if period.on_at > since)


def find_off_periods(alterations: Iterable[Mapping[str, Any]]) -> list[OffPeriod]:
    """The periods in which a queue was off that have ended.

    Args:
        alterations: event_time, event_id, seen_at (None if logged) and status, ON or OFF.
    """
    periods, off = [], None
    for row in sorted(alterations, key=itemgetter("event_time", "event_id")):
        if row["status"] == "OFF":
            off = off or row
        elif off is not None:
            is_seen = off["seen_at"] is not None or row["seen_at"] is not None
            periods.append(OffPeriod(off["event_time"], row["event_time"], is_seen))
            off = None
    return periods
