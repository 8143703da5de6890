"""Which events count, and their order as text."""

from pyspark.sql import functions as F

from pipelines.state.events_before import (
    events_before,
    ever,
    moment_and_id,
    moment_and_id_of,
    moment_rank_and_id,
    status_changes,
)
from pipelines.state.ledger import Ledger
from schemas.events import QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same


def test_events_at_the_moment_do_not_count_and_endpoints_stay(draw: Draw) -> None:
    events = draw("""
        event_id | event_time timestamp
        before   | 12:59:59.999999
        at       | 13:00
        after    | 13:00:00.000001
    """)
    expected = draw("event_id | event_time timestamp\n before | 12:59:59.999999")
    assert_same(events_before(events, at(60)), expected)
    found = Ledger(events, events, events, events, has_queue_events=True).before(at(60))
    for each in (found.message_events, found.endpoint_events, found.queue_events):
        assert_same(each, expected)
    assert_same(found.endpoints, events)
    assert found.has_queue_events


def test_the_order_of_events_as_text(draw: Draw) -> None:
    """By time, a rank between both if there is one, and the bytes of the id; both come back from the text."""
    in_order = draw("""
        event_time timestamp       | event_id
        0001-01-01 00:00           | z
        1969-12-31 23:59:59.999999 | z
        1970-01-01 00:00           | z
        12:00                      | ''
        12:00                      | B
        12:00                      | a
        12:00                      | a1
        12:00                      | \u00e4
        12:00:00.000001            | a
        9999-12-31 23:59:59.999999 | a
    """)
    placed = in_order.repartition(3).withColumn("position", moment_and_id()).orderBy("position")
    assert_same(placed.select(*moment_and_id_of("position")), in_order, in_order=True)
    ranked = draw("""
        event_time timestamp | rank int | event_id
        12:00                | 0        | b
        12:00                | 1        | a
        12:00                | 1        | b
        12:00:00.000001      | 0        | a
    """)
    placed = ranked.repartition(3).orderBy(moment_rank_and_id(F.col("rank")))
    assert_same(placed, ranked, in_order=True)


def test_ever_takes_null_for_false(draw: Draw) -> None:
    rows = draw("group | holds boolean\n some | false\n some | true\n none | false\n none | -")
    expected = draw("group | ever boolean\n some | true\n none | false")
    assert_same(rows.groupBy("group").agg(ever(F.col("holds")).alias("ever")), expected)


def test_a_queue_stays_off_by_the_events_after_the_last_that_says_on(draw: Draw) -> None:
    """Of one moment, the event_id decides which came last."""
    events = draw.rows(QUEUE_FACTS, instance="SQL1", database="B")("""
        queue | event_id | event_type    | event_time | queue_status
        On    | e1       | QUEUE_ALTERED | 12:00      | OFF
        On    | e2       | QUEUE_ALTERED | 12:00      | on
        Off   | e1       | QUEUE_ALTERED | 12:00      | OFF
        Off   | e2       | QUEUE_ALTERED | 12:01      | ON
        Off   | e4       | QUEUE_ALTERED | 12:02      | Off
        Off   | e3       | QUEUE_ALTERED | 12:03      | OFF
        Off   | e5       | QUEUE_ALTERED | 12:04      | -
        Off   | e6       | RECEIVE       | 12:05      | -
        Never | e1       | QUEUE_ALTERED | 12:00      | OFF
    """)
    draw.require(status_changes(events))("""
        queue | event_id | keeps_off boolean
        On    | e1       | false
        On    | e2       | false
        Off   | e1       | false
        Off   | e2       | false
        Off   | e4       | true
        Off   | e3       | true
        Never | e1       | true
    """)
