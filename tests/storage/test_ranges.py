"""Few ranges of many values."""

from datetime import date, timedelta

from hypothesis import given, settings, strategies as st

from pipelines.storage.ranges import MOST, few_ranges, of_partitions

DAY = timedelta(days=1)
FIRST = date(2026, 11, 1)


def day(number: int) -> date:
    return FIRST + number * DAY


def test_values_are_ranges_of_their_own_or_a_step_apart_or_between_the_widest_gaps() -> None:
    values = [day(4), day(1), day(1), day(2)]
    assert few_ranges(values) == [(day(1), day(1)), (day(2), day(2)), (day(4), day(4))]
    assert few_ranges(values, DAY) == [(day(1), day(2)), (day(4), day(4))]
    assert few_ranges([]) == []
    many = [day(2 * number) for number in range(100)] + [day(1000), day(500)]
    ranges = few_ranges(many, DAY)
    assert len(ranges) == MOST
    assert ranges[-3:] == [(day(36 - 2), day(198)), (day(500), day(500)), (day(1000), day(1000))]


@settings(max_examples=30)
@given(st.sets(st.dates()), st.sampled_from([timedelta(), DAY]))
def test_ranges_hold_all_values_and_begin_and_end_with_one(values: set[date], step: timedelta) -> None:
    ranges = few_ranges(values, step)
    assert len(ranges) <= MOST
    assert all(sum(first <= value <= last for first, last in ranges) == 1 for value in values)
    assert {edge for each in ranges for edge in each} <= values


def test_partitions_as_sql() -> None:
    partitions = [(None, 7), (day(0), 1), (day(0), 3), (day(9), 4), (None, 8)]
    assert of_partitions(partitions) == (
        "closed_on IS NULL"
        " OR (closed_on >= DATE'2026-11-01' AND closed_on <= DATE'2026-11-01' AND fold >= 1 AND fold <= 3)"
        " OR (closed_on >= DATE'2026-11-10' AND closed_on <= DATE'2026-11-10' AND fold >= 4 AND fold <= 4)"
    )
    assert of_partitions((day(2 * number), number) for number in range(1000)).count(" OR ") == MOST - 1
