"""The groups with ready messages at a queue's peak, and the transactions that hold them."""

from dataclasses import replace

from pipelines.activation.backlog import count_groups, groups_at_peaks, holders_at_peaks, members_at_peaks
from pipelines.activation.ready import PERIODS
from pipelines.state.ledger import Ledger
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw, in_micros
from tests.support.factories import at
from tests.support.frames import assert_same

MEMBERS = "conversation_id string, is_initiator boolean, queue_number int, conversation_group_id string"
FACTS = ", ".join(f"{column.name} {column.type}" for column in QUEUE_FACTS.columns)


def test_members_are_in_the_group_of_that_moment(draw: Draw) -> None:
    receivers = draw.rows(f"{MEMBERS}, created_at timestamp, first_group_id string", first_group_id="g1")("""
        conversation_id | is_initiator | queue_number | created_at
        moved then      | false        | 0            | 12:00
        moved later     | false        | 0            | 12:00
        moved before    | false        | 0            | 12:10
        never moved     | false        | 1            | 12:00
        no peak         | false        | 2            | 12:00
    """).drop("conversation_group_id")
    events = draw.rows(ENDPOINT_FACTS, event_type="MOVE_CONVERSATION", is_initiator=False, event_id="e")("""
        conversation_id | event_type        | event_time      | conversation_group_id
        moved then      | MOVE_CONVERSATION | 12:20           | g2
        moved later     | MOVE_CONVERSATION | 12:20:00.000001 | g2
        moved before    | MOVE_CONVERSATION | 12:09           | g2
        never moved     | END_CONVERSATION  | 12:20           | g2
    """)
    peaks = in_micros(draw("queue_number int | moment timestamp\n 0 | 12:20\n 1 | 12:30"), "moment")
    expected = draw.columns(f"{MEMBERS}, moment timestamp")("""
        conversation_id | is_initiator | queue_number | moment | conversation_group_id
        moved then      | false        | 0            | 12:20  | g2
        moved later     | false        | 0            | 12:20  | g1
        moved before    | false        | 0            | 12:20  | g1
        never moved     | false        | 1            | 12:30  | g1
    """)
    assert_same(members_at_peaks(receivers, events, peaks), in_micros(expected, "moment"))


def test_groups_that_had_ready_messages_at_the_peak(draw: Draw) -> None:
    # 0    5    10 peak
    # [====|====)         c1
    #      |    [====     c2
    # [====|====|====)    c3
    # [====|====|=====    c3, again
    periods = draw.rows(PERIODS, queue_number=0, is_initiator=False)("""
        conversation_id | ready_from | ready_until
        c1              | 0          | 10
        c2              | 10         | -
        c3              | 0          | 11
        c3              | 0          | -
        c4              | 11         | -
        c5              | 0          | -
        never ready     | -          | -
    """)
    members = draw.rows(f"{MEMBERS}, moment bigint", queue_number=0, is_initiator=False, moment=10)("""
        conversation_id | conversation_group_id
        c1              | g1
        c2              | g2
        c3              | g2
        c4              | g3
        c5              | g4
        never ready     | g5
    """)
    expected = draw("""
        queue_number int | conversation_group_id | moment bigint | conversations bigint
        0                | g2                    | 10            | 2
        0                | g4                    | 10            | 1
    """)
    peaks = draw("queue_number int | moment bigint\n 0 | 10")
    assert_same(groups_at_peaks(periods, members, peaks), expected)


def test_a_group_is_free_when_all_transactions_that_held_it_are_over(draw: Draw) -> None:
    """A transaction holds the groups that it named by then, and those from which it received."""
    groups = draw.rows(f"{MEMBERS}, moment timestamp, conversations bigint", moment=at(20))("""
        queue_number | conversation_group_id | conversations
        0            | free                  | 1
        0            | over                  | 10
        0            | received              | 100
        0            | named                 | 1000
        1            | named                 | 10000
    """).select("queue_number", "conversation_group_id", "moment", "conversations")
    members = draw.rows(f"{MEMBERS}, moment timestamp", queue_number=0, is_initiator=False, moment=at(20))("""
        conversation_id | conversation_group_id
        c1              | received
        c2              | over
        c3              | free
        c4              | no peak
    """)
    messages = draw.rows(MESSAGES, instance="SQL1", sent_by_initiator=True)("""
        conversation_id | event_type | event_time      | transaction_id | sent_by_initiator
        c1              | RECEIVED   | 12:20           | t1             | true
        c2              | RECEIVED   | 12:10           | t2             | true
        c3              | RECEIVED   | 12:20:00.000001 | t1             | true
        c3              | RECEIVED   | 12:10           | -              | true
        c3              | DELIVERED  | 12:10           | t1             | true
        c3              | RECEIVED   | 12:10           | t1             | false
        c4              | RECEIVED   | 12:10           | t1             | true
    """)
    queues = draw.rows(f"{FACTS}, queue_number int", instance="SQL1", queue_number=0)("""
        conversation_group_id | event_type             | event_time      | transaction_id
        named                 | RECEIVE                | 12:20           | t1
        over                  | GET_CONVERSATION_GROUP | 12:10           | t3
        free                  | GET_CONVERSATION_GROUP | 12:20:00.000001 | t1
        free                  | WAIT_STARTED           | 12:10           | t1
        free                  | RECEIVE                | 12:10           | -
        -                     | COMMIT                 | 12:20           | t2
        -                     | ROLLBACK               | 12:10           | t3
        -                     | COMMIT                 | 12:20:00.000001 | t1
    """)
    groups, members = in_micros(groups, "moment"), in_micros(members, "moment")
    ledger = Ledger(messages, queues, queues, queues, has_queue_events=True)
    holders = holders_at_peaks(groups, members, ledger, queues)
    draw.require(holders)("""
        queue_number int | conversation_group_id | instance | transaction_id
        0                | received              | SQL1     | t1
        0                | over                  | SQL1     | t2
        0                | over                  | SQL1     | t3
        0                | named                 | SQL1     | t1
    """)
    # Without queue events, no receiving transaction is known.
    named = holders_at_peaks(groups, members, replace(ledger, has_queue_events=False), queues)
    draw.require(named)("conversation_group_id | transaction_id\n over | t3\n named | t1")
    expected = draw("""
        queue_number int | groups_ready bigint | groups_free bigint | conversations bigint
        0                | 4                   | 2                  | 1111
        1                | 1                   | 1                  | 10000
    """)
    assert_same(count_groups(groups, holders, queues), expected)
