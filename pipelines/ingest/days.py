"""UTC days of a batch: which belong to the log, and which come from clocks that are ahead."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import among
from pipelines.storage.freshness import RESOLUTION
from pipelines.storage.ranges import few_ranges, in_ranges

DAY = timedelta(days=1)
FULL_SHARE = 0.01
"""A day is full if it has at least this share of the batch's events."""
GAP = timedelta(days=31)
"""Days further apart do not belong to one log: a clock that is ahead made the later ones."""
FEW = 1000
"""A batch of fewer events cannot move the log ahead by more than `GAP`."""


def full_days(events_by_day: Mapping[date, int]) -> set[date]:
    """The days with many of the batch's events."""
    total = sum(events_by_day.values())
    return {day for day, events in events_by_day.items() if events >= FULL_SHARE * total}


def newest_day(events_by_day: Mapping[date, int], known: date | None) -> date | None:
    """The newest day of the log, without days of clocks that are far ahead; it never goes back.

    Args:
        events_by_day: the batch's accepted events, by UTC day.
        known: the newest day of the log before the batch; null for the first batch.
    """
    if not events_by_day:
        return known
    # Starting at the day with most events, later days count until there is a gap.
    newest = max(events_by_day, key=lambda day: (events_by_day[day], day))
    for day in sorted(events_by_day):
        if newest < day <= newest + GAP:
            newest = day
    if known is None or newest <= known + GAP or sum(events_by_day.values()) >= FEW:
        return max(newest, known or newest)
    return known


def end_of(day: date) -> datetime:
    """The first instant after a UTC day."""
    return datetime.combine(day, time.min, UTC) + DAY


def on_days(rows: DataFrame, days: Collection[date]) -> DataFrame:
    """The rows whose event_time is on one of the UTC days, by ranges by which engines skip files."""
    if not days:
        return rows.limit(0)
    ranges = few_ranges(days, DAY)
    moments = [(datetime.combine(first, time.min, UTC), end_of(last) - RESOLUTION) for first, last in ranges]
    found = rows.where(in_ranges("event_time", moments))
    if sum((last - first) // DAY + 1 for first, last in ranges) == len(days):
        return found
    return among(found.withColumn("day", F.to_date("event_time")), zip(days), "day date").drop("day")
