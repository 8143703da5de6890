"""Queues that are off, locked groups, and the order of messages in a queue and in their group."""

from collections.abc import Callable

from pyspark.sql import DataFrame

from pipelines.config.queue_filter import QueueName, queue_text
from pipelines.schedules.groups import ready_conversations
from pipelines.schedules.ready import (
    groups_locked,
    queues_off,
    received_messages,
    with_arrival_order,
    with_rank,
    with_state,
)
from schemas.events import QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.frames import assert_same
from tests.support.harness import same

IN_B = {"instance": "SQL1", "database": "B"}
OFF = "instance string, database string, queue string, name string, off_since timestamp, off_source string"


def test_a_queue_is_off_by_its_last_change_or_by_the_catalog(draw: Draw) -> None:
    """Since the first event that says so after the last that says on.

    Logged events come before those of snapshots, which have been true since before they were taken.
    """
    catalog = draw.rows("instance string, database string, queue string, is_on boolean", **IN_B)("""
        queue      | is_on
        on         | true
        off        | false
        turned on  | false
        turned off | true
        twice      | true
        limited    | false
        not said   | -
    """)
    events = draw.rows(QUEUE_FACTS, **IN_B)("""
        queue      | event_type    | event_time | event_id | queue_status | seen_at
        turned on  | QUEUE_ALTERED | 12:00      | a        | ON           | -
        turned off | QUEUE_ALTERED | 12:00      | a        | ON           | -
        turned off | QUEUE_ALTERED | 12:01      | a        | off          | -
        twice      | QUEUE_ALTERED | 12:00      | a        | OFF          | -
        twice      | QUEUE_ALTERED | 12:00      | b        | ON           | -
        limited    | QUEUE_ALTERED | 12:01      | a        | -            | -
        on         | RECEIVE       | 12:01      | a        | OFF          | -
        again      | QUEUE_ALTERED | 12:00      | a        | OFF          | -
        again      | QUEUE_ALTERED | 12:01      | a        | ON           | -
        again      | QUEUE_ALTERED | 12:02      | a        | OFF          | -
        again      | QUEUE_ALTERED | 12:03      | a        | OFF          | -
        again      | QUEUE_ALTERED | 12:04      | a        | -            | -
        at once    | QUEUE_ALTERED | 12:00      | a        | ON           | -
        at once    | QUEUE_ALTERED | 12:00      | b        | OFF          | -
        seen       | QUEUE_ALTERED | 12:00      | a        | OFF          | 12:01
        seen       | QUEUE_ALTERED | 12:02      | a        | OFF          | 12:03
        both       | QUEUE_ALTERED | 12:00      | a        | OFF          | 12:01
        both       | QUEUE_ALTERED | 12:02      | a        | OFF          | -
        seen on    | QUEUE_ALTERED | 12:00      | a        | OFF          | -
        seen on    | QUEUE_ALTERED | 12:02      | a        | ON           | 12:03
        seen on    | QUEUE_ALTERED | 12:04      | a        | OFF          | 12:05
    """)
    expected = draw("""
        instance | database | queue      | name                | off_since timestamp | off_source
        SQL1     | B        | off        | SQL1.B.off          | -                   | catalog
        SQL1     | B        | turned off | SQL1.B.[turned off] | 12:01               | log
        SQL1     | B        | limited    | SQL1.B.limited      | -                   | catalog
        SQL1     | B        | again      | SQL1.B.again        | 12:02               | log
        SQL1     | B        | at once    | SQL1.B.[at once]    | 12:00               | log
        SQL1     | B        | seen       | SQL1.B.seen         | 12:01               | snapshot
        SQL1     | B        | both       | SQL1.B.both         | 12:02               | log
        SQL1     | B        | seen on    | SQL1.B.[seen on]    | 12:05               | snapshot
    """)
    assert_same(queues_off(catalog, events), expected)


def test_a_queue_is_named_as_answers_print_it(draw: Draw) -> None:
    queues: list[QueueName] = [
        ("SQL1", "Sales", "Orders"),
        ("SQL1.example", "[Sales", "Orders]"),
        ("", "a b", "tab\there"),
        ("no\u00a0break", "line\u2028end", "\u3000"),
        ("\x1c", "zero\u200bwidth", "'so'\\x"),
    ]
    columns = "instance string, database string, queue string, is_on boolean"
    catalog = draw.session.createDataFrame([(*queue, False) for queue in queues], columns)
    found = queues_off(catalog, draw.rows(QUEUE_FACTS)("queue\n -"))
    assert sorted(row["name"] for row in found.collect()) == sorted(map(queue_text, queues))


def test_an_off_queue_counts_before_a_group_that_is_named_or_received_from(draw: Draw) -> None:
    named = draw("""
        instance | database | queue | conversation_group_id | locked_since timestamp
        SQL1     | B        | Q     | named                 | 12:01
        SQL1     | B        | Off   | named                 | 12:01
        SQL1     | B        | Q     | both                  | 12:04
    """)
    in_flight = draw("""
        receiver_instance | receiver_database | receiver_queue | receiver_conversation_group_id | taken_at timestamp
        SQL1              | B                 | Q              | both                           | 12:02
        SQL1              | B                 | Q              | in flight                      | 12:05
        SQL1              | B                 | Q              | in flight                      | 12:03
        SQL1              | B                 | -              | nowhere                        | 12:01
    """)  # noqa: E501
    locked = groups_locked(named, in_flight)
    expected = draw("""
        instance | database | queue | conversation_group_id | locked_since timestamp
        SQL1     | B        | Q     | named                 | 12:01
        SQL1     | B        | Off   | named                 | 12:01
        SQL1     | B        | Q     | both                  | 12:02
        SQL1     | B        | Q     | in flight             | 12:03
    """)
    assert_same(locked, expected)
    expected = draw("""
        instance | database | queue | conversation_group_id | state        | held_since timestamp | held_source
        SQL1     | B        | Off   | named                 | queue_off    | 11:00                | snapshot
        SQL1     | B        | Off   | free                  | queue_off    | 11:00                | snapshot
        SQL1     | B        | Never | free                  | queue_off    | -                    | catalog
        SQL1     | B        | Q     | named                 | group_locked | 12:01                | log
        SQL1     | B        | Q     | in flight             | group_locked | 12:03                | log
        SQL1     | B        | Q     | free                  | ready        | -                    | -
        SQL1     | C        | Off   | free                  | ready        | -                    | -
        SQL1     | B        | P     | named                 | ready        | -                    | -
    """)  # noqa: E501
    off = draw("""
        instance | database | queue | name         | off_since timestamp | off_source
        SQL1     | B        | Off   | SQL1.B.Off   | 11:00               | snapshot
        SQL1     | B        | Never | SQL1.B.Never | -                   | catalog
    """)
    found = with_state(expected.drop("state", "held_since", "held_source"), off, locked)
    assert_same(found.select(*expected.columns), expected)


def test_a_message_in_a_queue_is_that_of_its_receiver(draw: Draw) -> None:
    messages = draw.lines("""
        message_id string                     | placed | nowhere
        conversation_id string                | c1     | c2
        sent_by_initiator boolean             | true   | false
        message_sequence_number bigint        | 3      | -
        message_type string                   | Order  | Bill
        arrived_at timestamp                  | 12:00  | 12:01
        queuing_order bigint                  | 7      | -
        unknown_handle string                 | -      | h2
        receiver_exists boolean               | true   | false
        receiver_instance string              | SQL1   | -
        receiver_database string              | B      | -
        receiver_queue string                 | Q      | -
        receiver_conversation_group_id string | g1     | -
        receiver_conversation_handle string   | h1     | -
        receiver_priority int                 | 9      | -
        receiver_contract string              | Gold   | -
        receiver_local_service string         | Stock  | -
        receiver_remote_service string        | Orders | -
        shown_instance string                 | SQL1   | -
        shown_database string                 | B      | -
        shown_queue string                    | Q      | -
        last_shown_at timestamp               | 12:05  | -
    """)
    off = draw.rows(OFF)("queue\n -")
    locked = draw("""
        instance | database | queue | conversation_group_id | locked_since timestamp
        SQL1     | B        | Q     | g1                    | 12:02
    """)
    found = received_messages(messages, off, locked)
    expected = draw.lines("""
        message_id string              | placed       | nowhere
        instance string                | SQL1         | -
        database string                | B            | -
        queue string                   | Q            | -
        conversation_group_id string   | g1           | -
        conversation_id string         | c1           | c2
        is_initiator boolean           | false        | true
        conversation_handle string     | h1           | -
        priority int                   | 9            | -
        message_sequence_number bigint | 3            | -
        message_type string            | Order        | Bill
        arrived_at timestamp           | 12:00        | 12:01
        queuing_order bigint           | 7            | -
        contract string                | Gold         | -
        local_service string           | Stock        | -
        remote_service string          | Orders       | -
        receiver_exists boolean        | true         | false
        unknown_handle string          | -            | h2
        state string                   | group_locked | ready
        held_since timestamp           | 12:02        | -
        held_source string             | log          | -
        shown_instance string          | SQL1         | -
        shown_database string          | B            | -
        shown_queue string             | Q            | -
        last_shown_at timestamp        | 12:05        | -
    """)
    assert {*found.columns} == {*expected.columns, "arrival_order"}
    assert_same(found.select(*expected.columns), expected)


def test_messages_arrive_by_time_then_number_then_id(draw: Draw) -> None:
    """A message without the queue's number comes after those with one; negative numbers are in order."""
    in_order = draw("""
        arrived_at timestamp | queuing_order bigint | message_id
        12:00                | -9223372036854775808 | z
        12:00                | -2                   | y
        12:00                | -1                   | x
        12:00                | 0                    | w
        12:00                | 9                    | v
        12:00                | 10                   | b
        12:00                | 10                   | u
        12:00                | 9223372036854775807  | t
        12:00                | -                    | a
        12:00                | -                    | s
        12:00:00.000001      | 0                    | a
    """)
    found = with_arrival_order(in_order.repartition(3)).orderBy("arrival_order").drop("arrival_order")
    assert_same(found, in_order, in_order=True)


def test_timers_come_first_errors_next_and_all_others_in_their_turn(
    draw: Draw, ready: Callable[[str], DataFrame]
) -> None:
    """The vendor's page "Broker System Messages". Messages of an earlier conversation come before all."""
    messages = ready("""
        conversation_id | message_id  | message_type               | message_sequence_number | arrived_at
        second          | order 0     | Order                      | 0                       | 12:04
        second          | order 1     | Order                      | 1                       | 12:01
        second          | again later | Order                      | 1                       | 12:02
        second          | no number   | Order                      | -                       | 12:01
        second          | timer       | /ServiceBroker/DialogTimer | 5                       | 12:05
        second          | error       | /ServiceBroker/Error       | 4                       | 12:03
        second          | end         | /ServiceBroker/EndDialog   | 3                       | 12:02
        second          | own error   | Own/Error                  | 2                       | 12:02
        first           | alone       | Order                      | 7                       | 12:00
    """)
    found = with_rank(messages, ready_conversations(messages, same))
    draw.require(found)("""
        message_id  | rank bigint
        alone       | 1
        timer       | 2
        error       | 3
        order 0     | 4
        order 1     | 5
        again later | 6
        own error   | 7
        end         | 8
        no number   | 9
    """)
