"""The messages of monitored queues, their receivers, and the transactions that give messages back."""

from pipelines.activation.messages import monitored_messages, receivers, rolled_back_transactions
from pipelines.storage.collect import micros
from schemas.events import MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from tests.support.drawn import Draw, in_micros, in_time
from tests.support.factories import at
from tests.support.frames import assert_same


def test_endpoints_that_receive_from_monitored_queues(draw: Draw) -> None:
    endpoints = draw.rows(ENDPOINTS, is_initiator=False, instance="SQL1", first_group_id="g1")("""
        conversation_id | database | local_service | created_at      | ended_at
        open            | B        | Stock         | 12:59:59.999999 | -
        ended           | B        | Stock         | 12:00           | 12:59:59.999999
        ends then       | B        | Stock         | 12:00           | 13:00
        created then    | B        | Stock         | 13:00           | -
        not monitored   | B        | Orders        | 12:00           | -
        elsewhere       | C        | Stock         | 12:00           | -
    """)
    services = draw("instance | database | local_service | queue_number int\n SQL1 | B | Stock | 0")
    draw.require(in_time(receivers(endpoints, services, as_of=at(60)), "ended"), ENDPOINTS)("""
        conversation_id | is_initiator | queue_number int | queue_instance | first_group_id | ended timestamp
        open            | false        | 0                | SQL1           | g1             | -
        ended           | false        | 0                | SQL1           | g1             | 12:59:59.999999
        ends then       | false        | 0                | SQL1           | g1             | -
    """)


def test_transactions_that_were_rolled_back_and_never_committed(draw: Draw) -> None:
    events = draw.rows(QUEUE_FACTS)("""
        instance | transaction_id | event_type
        SQL1     | back           | ROLLBACK
        SQL1     | back           | ROLLBACK
        SQL1     | both           | ROLLBACK
        SQL1     | both           | COMMIT
        SQL2     | both           | ROLLBACK
        SQL1     | committed      | COMMIT
        SQL1     | open           | RECEIVE
        SQL1     | -              | ROLLBACK
    """)
    expected = draw("instance | transaction_id\n SQL1 | back\n SQL2 | both")
    assert_same(rolled_back_transactions(events), expected)


def test_messages_that_arrived_in_a_monitored_queue(draw: Draw) -> None:
    """In a window from noon on, of c1 and c2; the earliest event of a message names its receiver."""
    events = draw.rows(MESSAGES, instance="SQL1", sent_by_initiator=True, event_id="e")("""
        message_id | conversation_id | event_type | event_time      | transaction_id | sent_by_initiator
        waits      | c1              | DELIVERED  | 12:02           | -              | true
        waits      | c1              | DELIVERED  | 12:01           | -              | true
        received   | c2              | RECEIVED   | 11:59:59.999999 | -              | true
        received   | c2              | RECEIVED   | 12:00           | committed      | true
        given back | c1              | RECEIVED   | 12:04           | back           | true
        delivered  | c1              | DELIVERED  | 12:03           | back           | true
        sent       | c1              | SENT       | 12:00           | -              | true
        back       | c1              | DELIVERED  | 12:00           | -              | false
        other      | c3              | DELIVERED  | 12:00           | -              | true
        first c1   | c1              | DELIVERED  | 12:01           | -              | true
        first c1   | c3              | RECEIVED   | 12:02           | -              | true
        first c3   | c3              | DELIVERED  | 12:01           | -              | true
        first c3   | c1              | RECEIVED   | 12:02           | -              | true
    """)
    receiving = draw("""
        conversation_id | is_initiator boolean | queue_number int | queue_instance | ended timestamp
        c1              | false                | 0                | SQL1           | -
        c2              | false                | 0                | SQL1           | 12:30
    """)
    rolled_back = draw("instance | transaction_id\n SQL1 | back")
    found = monitored_messages(
        events, in_micros(receiving, "ended"), rolled_back, start=micros(at(0)), materialize=draw.keep
    )
    times = "arrived timestamp, received timestamp, ended timestamp, receives bigint, may_return boolean"
    draw.require(in_time(found, "arrived", "received", "ended"), times)("""
        message_id | conversation_id | arrived         | received        | ended | receives | may_return
        waits      | c1              | 12:01           | -               | -     | 0        | false
        received   | c2              | 11:59:59.999999 | 11:59:59.999999 | 12:30 | 1        | false
        given back | c1              | 12:04           | 12:04           | -     | 1        | true
        delivered  | c1              | 12:03           | -               | -     | 0        | false
        first c1   | c1              | 12:01           | 12:02           | -     | 1        | false
    """)
