"""One message that a ROLLBACK may give back, event by event. Each case is a timeline of one letter a second.

a arrives, r is received by t, s by another transaction that gives nothing back, b the ROLLBACK of t, e ends.
"""

import pytest

from pipelines.activation import event_codes as codes
from pipelines.activation.ready import Event, periods_of

RANKS = {
    "a": (codes.ARRIVALS, None),
    "r": (codes.RECEIVES, "t"),
    "s": (codes.RECEIVES, None),
    "e": (codes.ENDS, None),
    "b": (codes.QUEUE_EVENTS, "t"),
}


def played(timeline: str, start: int = 0) -> tuple[list[tuple[int, int | None]], int]:
    """The periods, and the RECEIVED events that did not find the message ready."""
    events = [
        event("m", time * codes.RANKS + RANKS[letter][0], f"{letter}{time}", RANKS[letter][1])
        for time, letter in enumerate(timeline)
        if letter != "."
    ]
    found = list(periods_of(events, start))
    periods = [(period.ready_from, period.ready_until) for period in found if period.ready_from is not None]
    return periods, sum(period.not_ready for period in found)


def event(message_id: str, position: int, event_id: str = "", transaction: str | None = None) -> Event:
    return Event(message_id, 0, "c", False, position, event_id, transaction)


@pytest.mark.parametrize(
    ("timeline", "periods", "not_ready"),
    [
        pytest.param("a", [(0, None)], 0, id="still ready"),
        pytest.param("a.r", [(0, 2)], 0, id="taken"),
        pytest.param("a.rb", [(0, 2), (3, None)], 0, id="given back"),
        pytest.param("arbrb", [(0, 1), (2, 3), (4, None)], 0, id="given back twice"),
        pytest.param("arbb", [(0, 1), (2, None)], 0, id="nothing left to give back"),
        pytest.param("asb", [(0, 1)], 0, id="another one holds it"),
        pytest.param("arsb", [(0, 1), (3, None)], 1, id="who comes second takes nothing"),
        pytest.param("arebs", [(0, 1)], 1, id="ended while it was held"),
        pytest.param("arbe", [(0, 1), (2, 3)], 0, id="ended while it was ready"),
        pytest.param("ear", [], 1, id="ended before it arrived"),
    ],
)
def test_periods(timeline: str, periods: list[tuple[int, int | None]], not_ready: int) -> None:
    assert played(timeline) == (periods, not_ready)


def test_only_receives_in_the_window_are_counted() -> None:
    assert played("asss", start=3) == ([(0, 1)], 1)


def test_events_out_of_order_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="did not keep the order"):
        list(periods_of([event("b", 0), event("a", 0)], 0))
