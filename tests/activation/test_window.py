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


def test_the_window_of_four_queues(draw: Draw) -> None:
    """The documentation's example, an application that answers late, a queue that is off, contradictions."""
    messages = draw.rows(MESSAGES, instance="SQL1", sent_by_initiator=True, event_id="e")("""
        conversation_id | message_id | event_type | event_time | transaction_id
        example         | d1         | DELIVERED  | 12:00      | -
        example         | d2         | DELIVERED  | 12:00      | -
        example         | d3         | DELIVERED  | 12:00      | -
        late            | l1         | DELIVERED  | 12:00      | -
        late            | l1         | RECEIVED   | 12:25      | -
        off             | o1         | DELIVERED  | 12:00      | -
        off too         | o2         | DELIVERED  | 12:00      | -
        off             | o1         | RECEIVED   | 12:01      | t1
        odd             | x1         | DELIVERED  | 12:00      | -
        odd             | x1         | RECEIVED   | 12:00:01   | -
        odd             | x1         | RECEIVED   | 12:00:02   | -
        off             | to come    | DELIVERED  | 13:00      | -
    """)
    # Example falls behind, so a second reader starts; all is one conversation, so it waits.
    queues = draw.rows(QUEUE_FACTS, instance="SQL1", database="B", event_id="e")("""
        queue   | event_type    | event_time | session_id | row_count | transaction_id | queue_status
        Example | TASK_STARTED  | 12:00:00.6 | 51         | -         | -              | -
        Example | RECEIVE       | 12:00:01.2 | 51         | 1         | t0             | -
        Example | TASK_STARTED  | 12:00:06   | 52         | -         | -              | -
        Example | WAIT_STARTED  | 12:00:06.6 | 52         | -         | -              | -
        Late    | RECEIVE       | 12:25      | -          | 1         | -              | -
        Off     | ROLLBACK      | 12:01:30   | -          | -         | t1             | -
        Off     | QUEUE_ALTERED | 12:05:36   | -          | -         | -              | OFF
        Odd     | WAIT_STARTED  | 10:30      | 52         | -         | -              | -
        Odd     | TASK_EXITED   | 12:01:00   | 51         | -         | -              | -
        Odd     | WAIT_ENDED    | 12:01:01   | 51         | -         | -              | -
        Odd     | RECEIVE       | 12:01:02   | -          | -1        | -              | -
        Lost    | COMMIT        | 10:50      | -          | -         | -              | -
        Lost    | RECEIVE       | 12:01      | -          | 1         | -              | -
    """)
    target = {"instance": "SQL1", "database": "B", "is_initiator": False, "created_at": at(-90)}
    endpoints = draw.rows(ENDPOINTS, **target)("""
        conversation_id | local_service | first_group_id
        example         | Example       | g1
        late            | Late          | g2
        off             | Off           | g3
        off too         | Off           | g4
        odd             | Odd           | g5
    """)
    named = draw.rows(NAMED, instance="SQL1", database="B", is_on=True)("""
        queue_number | queue   | mode     | max_queue_readers
        0            | Example | internal | 5
        1            | Late    | external | -
        2            | Off     | internal | 1
        3            | Odd     | internal | 1
    """)
    monitors = [
        Monitor(
            row.queue_number,
            row.max_queue_readers,
            None if row.max_queue_readers else 600 * SECOND,
            is_on=True,
        )
        for row in named.orderBy("queue_number").collect()
    ]
    services = named.select("instance", "database", F.col("queue").alias("local_service"), "queue_number")
    moves = draw.rows(ENDPOINT_FACTS)("event_type\n BEGIN_DIALOG")
    runs, summaries = activation_of_window(
        Ledger(messages, moves, queues, endpoints, has_queue_events=True),
        MonitoredQueues(monitors, named, services, queues=named.select("instance", "database", "queue")),
        CLOCK,
        as_of=at(60),
        materialize=draw.keep,
    )
    draw.require(runs.where("queue in ('Example', 'Late')"), ACTIVATION)("""
        queue   | ordinal | trigger | reason                 | checks | running_tasks | suppressed_by
        Example | 1       | arrival | arrival_on_empty_queue | 1      | 0             | -
        Example | 2       | arrival | readers_falling_behind | 3      | 0             | -
        Example | 3       | receive | readers_falling_behind | 2      | 1             | -
        Late    | 1       | arrival | arrival_on_empty_queue | 1      | 0             | -
        Late    | 2       | timer   | readers_falling_behind | 120    | 0             | notification_pending
        Late    | 3       | timer   | readers_falling_behind | 1      | 0             | -
        Late    | 4       | timer   | readers_falling_behind | 119    | 0             | notification_pending
        Late    | 5       | timer   | readers_falling_behind | 1      | 0             | -
        Late    | 6       | timer   | readers_falling_behind | 59     | 0             | notification_pending
    """)
    summaries = draw.keep(summaries)
    draw.require(summaries, ACTIVATION_SUMMARY)("""
        queue   | need_seconds | activations | most_ready | ready_at_end | is_on | advice
        Example | 10           | 6           | 3          | 3            | true  | more_readers_wont_help
        Late    | 1500         | 3           | 1          | 0            | true  | answers_late
        Off     | 336          | 71          | 2          | 2            | false | queue_off
        Odd     | 0            | 1           | 1          | 0            | true  | keeps_up
        Lost    | 0            | 0           | 0          | 0            | true  | not_in_catalog
    """)
    oddities = draw("""
        queue | oddity                   | count bigint
        Odd   | exits_without_start      | 1
        Odd   | waits_without_start      | 1
        Odd   | waits_without_end        | 1
        Odd   | received_while_not_ready | 1
        Odd   | negative_row_counts      | 1
        Lost  | queue_not_in_catalog     | 1
    """)
    assert_same(summaries.select("queue", F.explode("oddities").alias("oddity", "count")), oddities)
    off = draw.columns(ACTIVATION_SUMMARY)(
        "queue | off_since | groups_ready | groups_free\n Off | 12:05:36 | 2 | 2"
    )
    assert_same(summaries.where("queue = 'Off'").select(*off.columns), off)


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
