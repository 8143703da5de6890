"""UTC days of a batch: which are full, which is the log's newest, and which events they have."""

from datetime import UTC, date, datetime, timedelta

import pytest
from pyspark.sql import functions as F

from pipelines.ingest.days import FEW, end_of, full_days, newest_day, on_days
from tests.support.drawn import Draw
from tests.support.frames import assert_same

BASE = date(2026, 11, 20)


def day(number: int) -> date:
    return date.fromordinal(BASE.toordinal() + number)


def test_a_full_day_has_a_hundredth_of_the_events() -> None:
    assert full_days({day(0): 990, day(1): 10}) == {day(0), day(1)}
    assert full_days({day(0): 991, day(1): 9}) == {day(0)}
    assert full_days({}) == set()


@pytest.mark.parametrize(
    ("events", "known", "newest"),
    [
        pytest.param({}, None, None, id="nothing yet"),
        pytest.param({}, 3, 3, id="nothing new"),
        pytest.param({0: 5, 1: 1}, None, 1, id="a later day counts"),
        pytest.param({0: 1, 40: 5}, None, 40, id="from the day with most events on"),
        pytest.param({0: 5, 40: 5}, None, 40, id="the later one of two days with as many"),
        pytest.param({0: 5, 31: 1, 62: 1}, None, 62, id="days within a gap count one after the other"),
        pytest.param({0: 5, 32: 1}, None, 0, id="a clock far ahead does not"),
        pytest.param({0: 5}, 3, 3, id="it never goes back"),
        pytest.param({34: 5}, 3, 34, id="as far ahead as a gap"),
        pytest.param({35: FEW - 1}, 3, 3, id="few events move it no further"),
        pytest.param({35: FEW}, 3, 35, id="many do"),
    ],
)
def test_the_newest_day_of_the_log(events: dict[int, int], known: int | None, newest: int | None) -> None:
    by_day = {day(number): count for number, count in events.items()}
    before = None if known is None else day(known)
    assert newest_day(by_day, before) == (None if newest is None else day(newest))


def test_a_day_ends_where_the_next_one_begins() -> None:
    assert end_of(BASE) == datetime(2026, 11, 21, tzinfo=UTC)


EVERY_OTHER = [date(2025, 1, 1) + timedelta(days=2 * number) for number in range(300)]
"""It has the 19th of November and the 21st."""


@pytest.mark.parametrize(
    ("days", "found"),
    [
        pytest.param([], "", id="none"),
        pytest.param([date(2025, 11, 20), date(2025, 11, 22)], "bce", id="two"),
        # A weekly log has a day for each of its events: a range for each was one condition.
        *[
            pytest.param(
                [date(2025, 11, 20), date(2025, 11, 22), *(day(40 + 7 * week) for week in range(others))],
                "bce",
                id=f"and {others} days of other years",
            )
            for others in (60, 1000)
        ],
        pytest.param(EVERY_OTHER, "ad", id="days between those of a range do not count"),
    ],
)
def test_events_on_days(draw: Draw, days: list[date], found: str) -> None:
    """A day ends before the next begins."""
    events = draw("""
        event | event_time timestamp
        a     | 2025-11-19 23:59:59.999999
        b     | 2025-11-20 00:00
        c     | 2025-11-20 23:59:59.999999
        d     | 2025-11-21 00:00
        e     | 2025-11-22 12:00
        f     | -
    """)
    assert_same(on_days(events, days), events.where(F.col("event").isin(*found)))
