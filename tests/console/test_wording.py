"""How findings are put into words."""

from datetime import timedelta

import pytest

from pipelines.console.wording import format_age, format_count, format_duration, format_number, format_percent


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


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.9, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min 59 s"),
        (47 * 3600 + 60, "47 h 1 min"),
        (48 * 3600, "2 d"),
        (-61, "\u22121 min 1 s"),
    ],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_numbers_and_shares() -> None:
    assert [format_number(value) for value in (0, 1234567, 0.14, 2.0, -1.5)] == [
        "0",
        "1,234,567",
        "0.14",
        "2",
        "-1.5",
    ]
    assert [format_percent(share) for share in (1.0, 0.9999, -0.5, 2e5)] == [
        "100%",
        "99.9%",
        "-50%",
        "20,000,000%",
    ]
