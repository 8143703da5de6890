"""The offset of a server's clock, as its captures show it."""

from datetime import UTC, datetime

import pytest

from pipelines.config.clocks import OffsetPeriod, ShownClock, offset_at, offset_periods

NAMES = frozenset({"SQL1", "MILL1"})
SUMMER, WINTER = 120, 60


def shown(day: int, hour: int, minute: int, minutes: int, names: frozenset[str] = NAMES) -> ShownClock:
    return ShownClock(names, datetime(2026, 10, day, hour, minute, tzinfo=UTC), minutes)


# Clocks go back on 2026-10-25 at 01:00 UTC, from 03:00 to 02:00.
BEFORE, LAST = shown(24, 10, 0, SUMMER), shown(25, 0, 30, SUMMER)
AFTER = shown(25, 1, 10, WINTER)


@pytest.mark.parametrize(
    ("clocks", "local", "minutes"),
    [
        pytest.param([BEFORE], datetime(2026, 1, 1, 12), SUMMER, id="one-capture-for-all-times"),
        pytest.param([BEFORE, AFTER], datetime(2026, 10, 24, 12), SUMMER, id="at-the-first"),
        pytest.param([BEFORE, AFTER], datetime(2026, 10, 24, 11), SUMMER, id="before-the-first"),
        pytest.param([AFTER, BEFORE], datetime(2026, 10, 26, 12), WINTER, id="after-the-last"),
        pytest.param([BEFORE, AFTER], datetime(2026, 10, 24, 13), None, id="between-two-that-differ"),
        pytest.param([BEFORE, LAST, AFTER], datetime(2026, 10, 24, 13), SUMMER, id="between-two-that-agree"),
        pytest.param([BEFORE, LAST, AFTER], datetime(2026, 10, 25, 2, 20), None, id="shown-twice"),
        pytest.param([shown(24, 10, 0, SUMMER, frozenset({"SQL2"}))], datetime(2026, 10, 24, 12), None),
    ],
)
def test_a_row_has_the_offset_of_the_captures_around_it(
    clocks: list[ShownClock], local: datetime, minutes: int | None
) -> None:
    assert offset_at(offset_periods(clocks, "SQL1"), local) == minutes


def test_captures_with_one_offset_are_one_period() -> None:
    assert offset_periods([BEFORE, LAST, AFTER], "MILL1") == (
        OffsetPeriod(SUMMER, None, datetime(2026, 10, 25, 2, 30)),
        OffsetPeriod(WINTER, datetime(2026, 10, 25, 2, 10), None),
    )
