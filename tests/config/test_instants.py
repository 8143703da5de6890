"""Instants as people write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.instants import format_instant, parse_instant


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-02", datetime(2026, 1, 2)),
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5)),
        ("2026-01-02 03:04", datetime(2026, 1, 2, 3, 4)),
        ("2026-01-02T03:04:05+02:00", datetime(2026, 1, 2, 1, 4, 5)),
        ("2026-01-02 23:04:05 -0130", datetime(2026, 1, 3, 0, 34, 5)),
        ("2026-01-02T03:04:05+02", datetime(2026, 1, 2, 1, 4, 5)),
        ("2026-01-02t03:04:05.12z", datetime(2026, 1, 2, 3, 4, 5, 120000)),
    ],
)
def test_parse(text: str, instant: datetime) -> None:
    assert parse_instant(text) == instant.replace(tzinfo=UTC)
    assert parse_instant(text).tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        *("", "soon", "2026-02-30", "2026-1-1", "20260101", "2026-W01-1", "2026-01-01Z", "2026-01-01T24:00"),
        *("2026-01-01T00:00:60Z", "2026-01-01T00:00:00.1234567Z", "0001-01-01T00:00+05:00"),
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a moment in time"):
        parse_instant(text)


@pytest.mark.parametrize("text", ["1899-12-31T23:59:59.999999Z", "1900-01-01T00:00+00:01", "9999-01-01"])
def test_moments_beyond_the_ends_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is before 1900 or after 9998; write a moment between"):
        parse_instant(text)


@settings(max_examples=30)
@given(st.datetimes(datetime(1900, 1, 1), datetime(9998, 12, 31), timezones=st.just(UTC)))
def test_what_is_formatted_is_parsed(instant: datetime) -> None:
    assert parse_instant(format_instant(instant)) == instant
    assert format_instant(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)) == "2026-01-02T03:04:05.000006Z"
