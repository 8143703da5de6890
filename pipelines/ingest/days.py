"""UTC days of a batch: which are the log's own, and which are a clock's fault."""

from collections.abc import Collection, Mapping
from datetime import UTC, date, datetime, time, timedelta

from pyspark.sql import Column, functions as F

DAY = timedelta(days=1)
FULL_SHARE = 0.01
"""A day is full if the batch has at least this share of its events on it (our choice)."""
GAP = timedelta(days=31)
"""Days further apart than this are not of one log: the later ones are a clock's fault (our choice)."""
FEW = 1000
"""A batch of fewer events does not move the log a `GAP` ahead by itself (our choice)."""


def full_days(events_by_day: Mapping[date, int]) -> set[date]:
    """The days that many of the batch's events are of."""
    total = sum(events_by_day.values())
    return {day for day, events in events_by_day.items() if events >= FULL_SHARE * total}


def newest_day(events_by_day: Mapping[date, int], known: date | None) -> date | None:
    """The newest day of the log: clocks far ahead are left out, and what is known stays.

    Args:
        events_by_day: the batch's accepted events, by UTC day.
        known: the newest day of the log before the batch; null for the first batch.
    """
    if not events_by_day:
        return known
    # From the day with most events on, later days count as long as no gap comes.
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


def in_days(days: Collection[date]) -> Column:
    """Whether event_time is on one of these UTC days, as ranges that files are skipped by."""
    ranges: list[list[date]] = []
    for day in sorted(days):
        if ranges and day == ranges[-1][1] + DAY:
            ranges[-1][1] = day
        else:
            ranges.append([day, day])
    within = F.lit(False)
    for first, last in ranges:
        start = datetime.combine(first, time.min, UTC)
        within |= (F.col("event_time") >= F.lit(start)) & (F.col("event_time") < F.lit(end_of(last)))
    return within
