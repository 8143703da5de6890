"""How findings are put into words."""

from datetime import timedelta

import pytest

from pipelines.console.wording import format_age, format_count


def test_one_of_a_thing_is_one_thing() -> None:
    counts = [format_count(count, "conversation") for count in (0, 1, 2_000)]
    assert counts == ["0 conversations", "1 conversation", "2,000 conversations"]


@pytest.mark.parametrize(
    ("age", "text"),
    [
        (timedelta(minutes=61, seconds=59), "61 min"),
        (timedelta(minutes=119, seconds=59), "119 min"),
        (timedelta(hours=2), "2 h"),
        (timedelta(hours=16, minutes=59), "16 h"),
        (timedelta(hours=47, minutes=59), "47 h"),
        (timedelta(days=2), "2 days"),
        (timedelta(days=1234, hours=23), "1,234 days"),
    ],
)
def test_an_age_is_rounded_down_in_its_largest_unit(age: timedelta, text: str) -> None:
    assert format_age(age) == text
