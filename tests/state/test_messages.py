"""Messages: which are undecided, what their events say of them, and which are being forwarded."""

import pytest
from pyspark.sql import functions as F

from pipelines.state.ledger import Ledger
from pipelines.state.messages import (
    describe_messages,
    dropped_at,
    forwarding,
    of_unknown_endpoint,
    order_of_events,
    undecided,
)
from schemas.events import MESSAGES
from tests.support.drawn import Draw
from tests.support.factories import at
from tests.support.frames import assert_same
from tests.support.harness import same


@pytest.mark.parametrize("has_queue_events", [True, False])
def test_messages_without_a_committed_receive(draw: Draw, has_queue_events: bool) -> None:
    """Without queue events no transaction is known, and every RECEIVED counts. A kept copy waits nowhere.

    A number that was sent more than a minute after it arrived was given to another message.
    """
    kept = draw.rows(MESSAGES, event_type="SENT", event_time=at(0), inferred=True)("message_id\n kept")
    events = draw.rows(MESSAGES, instance="SQL1")("""
        message_id  | event_type       | transaction_id | instance | event_time | seen_at
        sent        | SENT             | -              | SQL1     | 12:00      | 12:30
        sent        | SENT             | -              | SQL1     | 12:00      | 12:40
        arrived     | SENT             | -              | SQL1     | 12:00      | -
        arrived     | DELIVERED        | -              | SQL2     | 12:00      | -
        received    | DELIVERED        | -              | SQL1     | 12:00      | -
        received    | RECEIVED         | committed      | SQL1     | 12:00      | -
        at once     | RECEIVED         | -              | SQL1     | 12:00      | -
        in flight   | DELIVERED        | -              | SQL1     | 12:00      | 12:40
        in flight   | RECEIVED         | rolled back    | SQL1     | 12:01      | -
        in flight   | RECEIVED         | open           | SQL1     | 12:03      | -
        in flight   | RECEIVED         | open           | SQL1     | 12:02      | -
        rolled back | RECEIVED         | rolled back    | SQL1     | 12:00      | -
        twice       | RECEIVED         | rolled back    | SQL1     | 12:00      | -
        twice       | RECEIVED         | committed      | SQL1     | 12:00      | -
        elsewhere   | RECEIVED         | open           | SQL2     | 12:00      | -
        gone        | SENT             | -              | SQL1     | 12:00      | -
        gone        | LEFT             | -              | SQL1     | 12:00      | -
        again       | RECEIVED         | -              | SQL2     | 12:00      | -
        again       | SENT             | -              | SQL1     | 12:02      | 12:40
        both        | DELIVERED        | -              | SQL2     | 12:00      | 12:10
        both        | SENT             | -              | SQL1     | 12:12      | 12:40
        on its way  | DELIVERED        | -              | SQL2     | 12:00      | -
        on its way  | SENT             | -              | SQL1     | 12:01      | 12:40
        forwarded   | FORWARD_ACCEPTED | -              | SQL1     | 12:00      | -
    """).unionByName(kept)
    transactions = draw("""
        instance | transaction_id | is_open boolean
        SQL1     | open           | true
        SQL1     | rolled back    | false
    """)
    found = undecided(Ledger(events, events, events, events, has_queue_events), transactions)
    expected = draw("""
        message_id  | taken_at timestamp | sent boolean | arrived boolean | shown_at timestamp
        sent        | -                  | true         | false           | 12:40
        arrived     | -                  | false        | true            | -
        in flight   | 12:02              | false        | true            | -
        rolled back | -                  | false        | true            | -
        again       | -                  | true         | false           | 12:40
        both        | -                  | true         | true            | 12:40
        on its way  | -                  | false        | true            | 12:40
    """)
    if not has_queue_events:
        expected = expected.where("message_id not in ('in flight', 'rolled back')")
    assert_same(found, expected)


def test_the_earliest_event_that_has_it_tells_what_a_message_is(draw: Draw) -> None:
    """At one moment SENT comes before DELIVERED, and that before RECEIVED; then the event_id decides."""
    events = draw.rows(MESSAGES, conversation_id="c", sent_by_initiator=True)("""
        message_id | event_type | event_time | event_id | message_type | size_bytes | queuing_order
        alike      | SENT       | 12:00      | a        | Order        | 10         | -
        alike      | DELIVERED  | 12:01      | b        | Order        | 10         | 7
        time       | DELIVERED  | 12:01      | a        | Second       | 20         | 8
        time       | SENT       | 12:00      | b        | First        | -          | -
        rank       | RECEIVED   | 12:00      | a        | Third        | 30         | -
        rank       | DELIVERED  | 12:00      | b        | Second       | 20         | -
        rank       | SENT       | 12:00      | c        | First        | 10         | -
        id         | DELIVERED  | 12:02      | b        | Second       | 20         | 9
        id         | DELIVERED  | 12:02      | a        | First        | 10         | 6
        passing    | FORWARDED  | 12:03      | a        | Order        | 10         | -
        other      | SENT       | 12:00      | a        | Order        | 10         | -
    """)
    ids = draw("message_id\n alike\n time\n rank\n id\n passing")
    draw.require(describe_messages(events, same, ids=ids), MESSAGES)("""
        message_id | message_type | size_bytes | queuing_order | sent_at timestamp | arrived_at timestamp
        alike      | Order        | 10         | 7             | 12:00             | 12:01
        time       | First        | 20         | 8             | 12:00             | 12:01
        rank       | First        | 10         | -             | 12:00             | 12:00
        id         | First        | 10         | 6             | -                 | 12:02
        passing    | Order        | 10         | -             | -                 | -
    """)


def test_what_the_latest_snapshot_says_of_a_message(draw: Draw) -> None:
    """Why it waits, its place and type. A queue goes before a transmission queue: the message has arrived."""
    of_event = {"conversation_id": "c", "event_time": at(0), "event_id": "e", "instance": "SQL1"}
    events = draw.rows(MESSAGES, **of_event)("""
        message_id | event_type | seen_at | database | shown_queue | transmission_status      | message_type
        moved      | DELIVERED  | 12:10   | A        | Q           | -                        | Error
        moved      | DELIVERED  | 12:20   | A        | R           | not a transmission queue | Order
        moved      | DELIVERED  | 12:30   | A        | S           | -                        | Reply
        arrived    | SENT       | 12:20   | A        | -           | -                        | Reply
        arrived    | DELIVERED  | 12:10   | B        | Q           | -                        | Order
        waits      | SENT       | 12:10   | A        | -           | unreachable              | Order
        waits      | SENT       | 12:20   | A        | -           | again                    | -
        logged     | DELIVERED  | -       | A        | -           | not a snapshot           | Order
    """)
    draw.require(describe_messages(events, same, shown_until=at(20)), MESSAGES)("""
        message_id | shown_instance | shown_database | shown_queue | last_shown_at timestamp | why_still_here | message_type
        moved      | SQL1           | A              | R           | 12:20                   | -              | Order
        arrived    | SQL1           | B              | Q           | 12:10                   | -              | Order
        waits      | SQL1           | A              | -           | 12:20                   | again          | Order
        logged     | -              | -              | -           | -                       | -              | Order
    """)  # noqa: E501
    for shown_until, why in ((None, "again"), (at(19), "unreachable"), (at(9), "-")):
        found = describe_messages(events.where("message_id = 'waits'"), same, shown_until=shown_until)
        draw.require(found)(f"why_still_here\n {why}")


def test_a_handle_that_no_endpoint_has(draw: Draw) -> None:
    events = draw.rows(MESSAGES, event_type="DELIVERED", event_time=at(0), event_id="e")("""
        message_id | conversation_id | conversation_handle
        unknown    | h1/unknown      | h1
        known      | c1              | h1
        logged     | c1              | -
    """)
    found = describe_messages(events, same)
    draw.require(found)("message_id | unknown_handle\n unknown | h1\n known | -\n logged | -")
    draw.require(events.where(of_unknown_endpoint()))("message_id\n unknown")


def test_the_order_of_the_events_of_a_message(draw: Draw) -> None:
    in_order = draw("""
        event_time timestamp | event_type       | event_id
        12:00                | SENT             | f
        12:00                | DELIVERED        | e
        12:00                | RECEIVED         | d
        12:00                | FORWARDED        | b
        12:00                | FORWARD_ACCEPTED | c
        12:00                | LEFT             | a
        12:01                | SENT             | a
    """)
    assert_same(in_order.repartition(3).orderBy(order_of_events()), in_order, in_order=True)


def test_messages_that_an_instance_accepted_and_did_not_pass_on(draw: Draw) -> None:
    events = draw.rows(MESSAGES)("""
        message_id | instance | database | event_type       | event_time | event_id
        kept       | Hub      | late     | FORWARD_ACCEPTED | 12:02      | a
        kept       | Hub      | second   | FORWARD_ACCEPTED | 12:01      | b
        kept       | Hub      | first    | FORWARD_ACCEPTED | 12:01      | a
        kept       | Next     | n        | FORWARD_ACCEPTED | 12:03      | a
        passed on  | Hub      | h        | FORWARD_ACCEPTED | 12:01      | a
        passed on  | Hub      | h        | FORWARDED        | 12:00      | b
        only that  | Hub      | h        | FORWARDED        | 12:01      | a
        delivered  | Hub      | h        | DELIVERED        | 12:01      | a
    """)
    expected = draw("""
        message_id | instance | accepted_at timestamp | database
        kept       | Hub      | 12:01                 | first
        kept       | Next     | 12:03                 | n
    """)
    assert_same(forwarding(events), expected)


def test_what_the_ends_of_its_endpoints_drop(draw: Draw) -> None:
    """The receiver's end and CLEANUP drop all, WITH ERROR all but the Error message of the server.

    What a transmission queue shows afterwards was not dropped.
    """
    columns = "receiver timestamp, error timestamp, cleanup timestamp, shown timestamp, dropped timestamp"
    expected = draw.columns(f"message_type string, {columns}")("""
        message_type               | receiver | error | cleanup | shown | dropped
        Order                      | -        | -     | -       | -     | -
        Order                      | 12:10    | 12:20 | -       | -     | 12:10
        Order                      | -        | 12:20 | 12:30   | 12:20 | 12:20
        http://x/ServiceBroker/Err | -        | 12:20 | -       | -     | 12:20
        Own/Error                  | -        | 12:20 | -       | -     | 12:20
        x/ServiceBroker/Error      | -        | 12:20 | -       | -     | -
        x/ServiceBroker/Error      | -        | 12:20 | 12:30   | 12:10 | 12:30
        Order                      | 12:10    | -     | -       | 12:11 | -
        Order                      | 12:10    | 12:20 | -       | 12:15 | -
    """)
    dropped = dropped_at(*map(F.col, ("receiver", "error", "cleanup", "shown")))
    assert_same(expected.withColumn("dropped", dropped), expected)
