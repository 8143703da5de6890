"""Rows of the days of a batch."""

from datetime import date, timedelta

import pytest
from pyspark.sql import SparkSession

from pipelines.ingest.days import on_days
from tests.support.frames import assert_same, frame

ROWS = """
    event | event_time timestamp
    a     | 2025-11-19 23:59:59.999999
    b     | 2025-11-20 00:00
    c     | 2025-11-20 23:59:59.999999
    d     | 2025-11-21 00:00
    e     | 2025-11-22 12:00
    f     | -
"""
LAST_TWO = """
    event | event_time timestamp
    b     | 2025-11-20 00:00
    c     | 2025-11-20 23:59:59.999999
    e     | 2025-11-22 12:00
"""


@pytest.mark.parametrize("others", [0, 60, 1000], ids="and {} days of other years".format)
def test_a_day_ends_before_the_next_begins(session: SparkSession, others: int) -> None:
    """A weekly log has a day for each of its events: a range for each was one condition."""
    days = [date(2025, 11, 20), date(2025, 11, 22)]
    days += [date(2026, 1, 1) + timedelta(days=7 * number) for number in range(others)]
    assert_same(on_days(frame(session, ROWS), days), frame(session, LAST_TWO))


def test_days_between_those_of_a_range_do_not_count(session: SparkSession) -> None:
    every_other = [date(2025, 1, 1) + timedelta(days=2 * number) for number in range(300)]
    assert date(2025, 11, 19) in every_other
    assert_same(
        on_days(frame(session, ROWS), every_other),
        frame(
            session,
            """
            event | event_time timestamp
            a     | 2025-11-19 23:59:59.999999
            d     | 2025-11-21 00:00
            """,
        ),
    )
