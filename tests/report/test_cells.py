"""How the page writes values."""

import pytest

from pipelines.report.cells import (
    format_change,
    format_name,
    format_night,
    wrap_name,
)


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


def test_changes_have_a_sign() -> None:
    assert [format_change(now, 1000) for now in (1000, 2001, 0)] == ["±0", "+1,001", "\u22121,000"]
    assert format_change(None, 1) == format_change(1, None) == ""


def test_a_night_is_named_by_its_day_if_it_ends_with_it() -> None:
    assert format_night("2026-11-21T00:00:00Z") == "2026-11-21"
    assert format_night("2026-11-21T13:00:00Z") == "2026-11-21 13:00:00"


def test_a_name_wraps_behind_what_joins_its_parts() -> None:
    assert wrap_name("//acme/Feed_a.b & c") == "//acme/<wbr>Feed_<wbr>a.<wbr>b &amp; c"
