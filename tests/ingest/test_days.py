"""UTC days of a batch: which are full, which is the log's newest, and which events they have."""

from datetime import UTC, date, datetime

import pytest
from pyspark.sql import SparkSession

from pipelines.ingest.days import FEW, end_of, full_days, in_days, newest_day
from tests.support.frames import assert_same, frame

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


def test_events_of_days(session: SparkSession) -> None:
    """Days in a row are one range; the 22nd is left out."""
    events = frame(
        session,
        """
        event_time timestamp  | is_in boolean
        11-19 23:59:59.999999 | false
        11-20 00:00           | true
        11-21 23:59:59.999999 | true
        11-22 00:00           | false
        11-23 12:00           | true
        11-24 00:00           | false
        """,
    )
    assert_same(events.where(in_days([day(3), day(1), day(0)])), events.where("is_in"))
    assert_same(events.where(in_days([])), events.limit(0))
