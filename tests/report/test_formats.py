"""How the page writes values."""

import pytest

from pipelines.console.wording import format_duration
from pipelines.report.formats import (
    format_change,
    format_name,
    format_night,
    format_number,
    format_percent,
    wrap_name,
)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.9, "0 s"),
        (59.9, "59 s"),
        (60, "1 min 0 s"),
        (3599, "59 min 59 s"),
        (47 * 3600 + 60, "47 h 1 min"),
        (48 * 3600, "2 d 0 h"),
        (-61, "\u22121 min 1 s"),
    ],
)
def test_durations_have_two_units(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Queue", "Queue"),
        ("", '""'),
        ("Trailing ", '"Trailing "'),
        ("two  blanks", '"two  blanks"'),
        ("zero\u200bwidth", '"zero\\u200bwidth"'),
        ("a\u202eb", '"a\\u202eb"'),
        ("\x00", '"\\u0000"'),
        ("Straße <b>", "Straße <b>"),
    ],
)
def test_names_that_hide_something_stand_in_quotes(name: str, text: str) -> None:
    assert format_name(name) == text


def test_numbers_changes_and_shares() -> None:
    assert [format_number(value) for value in (0, 1234567, 0.14, 2.0, -1.5)] == [
        "0",
        "1,234,567",
        "0.14",
        "2",
        "-1.5",
    ]
    assert [format_change(now, 1000) for now in (1000, 2001, 0)] == ["±0", "+1,001", "\u22121,000"]
    assert format_change(None, 1) == format_change(1, None) == ""
    assert [format_percent(share) for share in (1.0, 0.9999, -0.5)] == ["100%", "99.9%", "-50%"]


def test_a_night_is_named_by_its_day_if_it_ends_with_it() -> None:
    assert format_night("2026-11-21T00:00:00Z") == "2026-11-21"
    assert format_night("2026-11-21T13:00:00Z") == "2026-11-21 13:00:00"


def test_a_name_wraps_behind_what_joins_its_parts() -> None:
    assert wrap_name("//acme/Feed_a.b & c") == "//acme/<wbr>Feed_<wbr>a.<wbr>b &amp; c"
