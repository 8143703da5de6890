"""Queues that go off and on."""

from pipelines.state.queue_status import status_changes
from schemas.events import QUEUE_FACTS
from tests.support.drawn import Draw


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
