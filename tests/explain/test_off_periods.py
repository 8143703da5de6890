"""When a queue was off while messages waited in it."""

from pipelines.explain.off_periods import OffPeriod, find_off_periods
from tests.support.factories import Row, at


def altered(status: str, minute: float, *, is_seen: bool = False) -> Row:
    return {
        "event_time": at(minute),
        "event_id": f"{status} {minute}",
        "seen_at": at(minute) if is_seen else None,
        "status": status,
    }


def test_a_queue_that_went_off_and_on_again() -> None:
    [period] = find_off_periods(
        [altered("ON", 20), altered("OFF", 10), altered("OFF", 12), altered("ON", 30)]
    )
    assert period == OffPeriod(at(10), at(20), is_seen=False)
    assert period.sentence() == "the queue was off from 2026-11-20T12:10:00Z to 2026-11-20T12:20:00Z"


def test_snapshots_show_the_state_at_their_moment_alone() -> None:
    [period] = find_off_periods([altered("OFF", 10, is_seen=True), altered("ON", 20)])
    assert period.sentence() == (
        "the queue was seen off at 2026-11-20T12:10:00Z, and on again at 2026-11-20T12:20:00Z"
    )


def test_a_queue_that_is_still_off_has_no_period() -> None:
    assert find_off_periods([altered("ON", 5), altered("OFF", 10)]) == []
