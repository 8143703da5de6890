"""Monitors: when they may have started a reader, as the zone of their times is not documented."""

from datetime import datetime

import pytest

from pipelines.storage.monitors import activated_between
from tests.support.factories import NOON, at


@pytest.mark.parametrize(
    ("written", "minutes", "expected"),
    [
        (None, 60, None),
        (at(-30), None, (at(-30), at(-30))),
        (at(-30), 0, (at(-30), at(-30))),
        # Both are possible: a cause holds if it holds for both.
        (at(-30), 60, (at(-90), at(-30))),
        # As UTC it is after the snapshot, so it is a time of the server's clock.
        (at(30), 60, (at(-30), at(-30))),
        (at(-30), -60, (at(-30), at(-30))),
        # No reading is possible.
        (at(30), None, None),
    ],
)
def test_the_moments_at_which_a_monitor_may_have_started_a_reader(
    written: datetime | None, minutes: int | None, expected: tuple[datetime, datetime] | None
) -> None:
    monitor = {"last_activated_time": written, "taken_at": NOON, "utc_offset_minutes": minutes}
    assert activated_between(monitor) == expected
