"""One message that a ROLLBACK may give back, event by event. Each case is a timeline of one letter a second.

a arrives, r is received by t, s by another transaction that gives nothing back, b the ROLLBACK of t, e ends.
"""

import pytest
from pyspark.sql import functions as F

from pipelines.activation import timeline as codes
from pipelines.activation.ready import PERIODS, Event, periods_of, received_once, redelivered
from pipelines.queue_machine.workers import BITS
from pipelines.storage.collect import micros
from schemas.events import MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw, in_micros
from tests.support.factories import at
from tests.support.frames import assert_same

MESSAGE = "arrived bigint, received bigint, ended bigint, receives bigint, may_return boolean"
FEW = (
    "queue_number int, is_initiator boolean, queue_instance string, may_return boolean, arrived timestamp, "
    "ended timestamp"
)
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
        event("m", (time << BITS) + RANKS[letter][0], f"{letter}{time}", RANKS[letter][1])
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


def test_messages_that_no_rollback_gave_back(draw: Draw) -> None:
    """The window begins at 10; the first RECEIVED or the end of the endpoint ends the period."""
    rows = """
        conversation_id | arrived | received | ended | receives | ready_from | ready_until | not_ready
        ready           | 5       | -        | -     | 0        | 5          | -           | 0
        received        | 5       | 10       | -     | 1        | 5          | 10          | 0
        twice           | 5       | 10       | -     | 2        | 5          | 10          | 1
        before          | 5       | 9        | -     | 1        | 5          | 9           | 1
        ended           | 5       | -        | 12    | 0        | 5          | 12          | 0
        just in time    | 5       | 12       | 12    | 1        | 5          | 12          | 0
        too late        | 5       | 13       | 12    | 1        | 5          | 12          | 1
        at its end      | 12      | 12       | 12    | 1        | 12         | 12          | 0
        after its end   | 13      | 14       | 12    | 1        | -          | -           | 1
    """
    drawn = draw.rows(f"{PERIODS}, {MESSAGE}", queue_number=0, is_initiator=False, may_return=False)(rows)
    given_back = drawn.limit(1).withColumn("may_return", F.lit(True))
    messages = drawn.unionByName(given_back).drop("ready_from", "ready_until", "not_ready")
    expected = drawn.select("conversation_id", "ready_from", "ready_until", "redelivered_by", "not_ready")
    assert_same(received_once(messages, start=10).select(*expected.columns), expected)


def test_messages_that_a_rollback_gave_back(draw: Draw) -> None:
    """A transaction of another instance, or the ROLLBACK of another queue, gives nothing back."""
    # back   a12:00 ==== r12:10 t1    b12:20 ========
    # ended  a12:00 ==== r12:10 t1    b12:20 ===== e12:30
    few = draw.rows(FEW, queue_number=0, is_initiator=False, queue_instance="SQL1", may_return=True)("""
        message_id string | conversation_id string | arrived | ended | may_return
        back              | c1                     | 12:00   | -     | true
        ended             | c2                     | 12:00   | 12:30 | true
        elsewhere         | c3                     | 12:00   | -     | true
        committed         | c4                     | 12:00   | -     | false
    """)
    received = {"event_type": "RECEIVED", "event_time": at(10), "event_id": "e", "transaction_id": "t1"}
    events = draw.rows(MESSAGES, **received)("""
        message_id | instance
        back       | SQL1
        ended      | SQL1
        elsewhere  | SQL2
        committed  | SQL1
    """)
    queues = draw.rows(QUEUE_FACTS, event_type="ROLLBACK", transaction_id="t1", event_time=at(20))("""
        queue_number int | event_id
        0                | b
        1                | other queue
    """)
    rolled_back = draw("instance | transaction_id\n SQL1 | t1\n SQL2 | t1")
    expected = draw("""
        conversation_id | ready_from timestamp | ready_until timestamp | redelivered_by | not_ready bigint
        c1              | 12:00                | 12:10                 | -              | 0
        c1              | 12:20                | -                     | b              | 0
        c2              | 12:00                | 12:10                 | -              | 0
        c2              | 12:20                | 12:30                 | b              | 0
        c3              | 12:00                | 12:10                 | -              | 0
    """)
    found = redelivered(in_micros(few, "arrived", "ended"), events, queues, rolled_back, start=micros(at(0)))
    assert_same(found.select(*expected.columns), in_micros(expected, "ready_from", "ready_until"))
