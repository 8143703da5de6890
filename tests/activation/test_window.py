"""The window of all monitored queues: stories that a person can follow, from 11:00 to 13:00."""

from pyspark.sql import functions as F

from pipelines.activation.checks import Clock
from pipelines.activation.monitor import Monitor
from pipelines.activation.window import MonitoredQueues, activation_of_window, without_monitors
from pipelines.activation.write import NAMED
from pipelines.state.ledger import Ledger
from pipelines.storage.collect import micros
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import ACTIVATION, ACTIVATION_SUMMARY
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same

SECOND = 1_000_000
CLOCK = Clock(start=micros(at(-60)), end=micros(at(60)), check=5 * SECOND, empty=5 * SECOND)


def test_the_window_of_two_queues(draw: Draw) -> None:
    """The documentation's example, a queue that is off, and one that the catalog lacks."""
    messages = draw.rows(MESSAGES, instance="SQL1", sent_by_initiator=True, event_id="e")("""
        conversation_id | message_id | event_type | event_time | transaction_id
        example         | d1         | DELIVERED  | 12:00      | -
        example         | d2         | DELIVERED  | 12:00      | -
        example         | d3         | DELIVERED  | 12:00      | -
        off             | o1         | DELIVERED  | 12:00      | -
        off too         | o2         | DELIVERED  | 12:00      | -
        off             | o1         | RECEIVED   | 12:01      | t1
        off             | to come    | DELIVERED  | 13:00      | -
    """)
    # Example falls behind, so a second reader starts; all is one conversation, so it waits.
    queues = draw.rows(QUEUE_FACTS, instance="SQL1", database="B", event_id="e")("""
        queue   | event_type    | event_time | session_id | row_count | transaction_id | queue_status
        Example | TASK_STARTED  | 12:00:00.6 | 51         | -         | -              | -
        Example | RECEIVE       | 12:00:01.2 | 51         | 1         | t0             | -
        Example | TASK_STARTED  | 12:00:06   | 52         | -         | -              | -
        Example | WAIT_STARTED  | 12:00:06.6 | 52         | -         | -              | -
        Off     | ROLLBACK      | 12:01:30   | -          | -         | t1             | -
        Off     | QUEUE_ALTERED | 12:05:36   | -          | -         | -              | OFF
        Off     | TASK_EXITED   | 12:06      | 53         | -         | -              | -
        Lost    | COMMIT        | 10:50      | -          | -         | -              | -
        Lost    | RECEIVE       | 12:01      | -          | 1         | -              | -
    """)
    target = {"instance": "SQL1", "database": "B", "is_initiator": False, "created_at": at(-90)}
    endpoints = draw.rows(ENDPOINTS, **target)("""
        conversation_id | local_service | first_group_id
        example         | Example       | g1
        off             | Off           | g2
        off too         | Off           | g3
    """)
    named = draw.rows(NAMED, instance="SQL1", database="B", is_on=True, mode="internal")("""
        queue_number | queue   | max_queue_readers
        0            | Example | 5
        1            | Off     | 1
    """)
    monitors = [Monitor(0, 5, None, is_on=True), Monitor(1, 1, None, is_on=True)]
    services = named.select("instance", "database", F.col("queue").alias("local_service"), "queue_number")
    moves = draw.rows(ENDPOINT_FACTS)("event_type\n BEGIN_DIALOG")
    runs, summaries = activation_of_window(
        Ledger(messages, moves, queues, endpoints, has_queue_events=True),
        MonitoredQueues(monitors, named, services, queues=named.select("instance", "database", "queue")),
        CLOCK,
        as_of=at(60),
        materialize=draw.keep,
    )
    draw.require(runs.where("queue = 'Example'"), ACTIVATION)("""
        queue   | ordinal | trigger | reason                 | checks | running_tasks | suppressed_by
        Example | 1       | arrival | arrival_on_empty_queue | 1      | 0             | -
        Example | 2       | arrival | readers_falling_behind | 3      | 0             | -
        Example | 3       | receive | readers_falling_behind | 2      | 1             | -
    """)
    summaries = draw.keep(summaries)
    draw.require(summaries, ACTIVATION_SUMMARY)("""
        queue   | need_seconds | activations | ready_at_end | groups_free | is_on | off_since | advice
        Example | 10           | 6           | 3            | 1           | true  | -         | more_readers_wont_help
        Off     | 336          | 71          | 2            | 2           | false | 12:05:36  | queue_off
        Lost    | 0            | 0           | 0            | 0           | true  | -         | not_in_catalog
    """)  # noqa: E501
    draw.require(summaries.select("queue", F.explode("oddities").alias("oddity", "count")))("""
        queue | oddity               | count bigint
        Off   | exits_without_start  | 1
        Lost  | queue_not_in_catalog | 1
    """)


def test_a_catalog_without_monitors_lacks_queues_of_the_window(draw: Draw) -> None:
    events = draw.rows(QUEUE_FACTS, instance="SQL1", database="B")("""
        queue   | event_time
        In it   | 12:00
        Lacking | 10:59:59.999999
        Lacking | 11:00
        Lacking | 12:59:59.999999
        Lacking | 13:00
    """)
    known = draw("instance | database | queue\n SQL1 | B | In it")
    found = without_monitors(events, known, CLOCK, as_of=at(60))
    expected = draw("queue | advice | count bigint\n Lacking | not_in_catalog | 2")
    assert_same(
        found.select("queue", "advice", F.expr("oddities['queue_not_in_catalog'] as count")), expected
    )
