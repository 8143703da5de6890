"""What is known of the two endpoints of a conversation."""

from pyspark.sql import SparkSession

from pipelines.ingest.sides import arrivals, conversation_sides, without_target
from tests.support.frames import assert_same, frame

ENDPOINT_EVENTS = """
    conversation_id | event_type                   | is_initiator boolean | event_time timestamp
    c1              | BEGIN_DIALOG                 | true                 | 08:00
    c1              | DIALOG_CREATED               | false                | 08:01
    c1              | MOVE_CONVERSATION            | true                 | 11:00
    c1              | END_CONVERSATION             | true                 | 10:00
    c1              | END_CONVERSATION_WITH_ERROR  | true                 | 09:00
    c2              | BEGIN_DIALOG                 | true                 | 08:00
    c2              | BEGIN_DIALOG                 | true                 | 08:05
    c3              | DIALOG_CREATED               | false                | 08:00
    c3              | DIALOG_CREATED               | false                | 07:00
    c3              | END_CONVERSATION_WITH_CLEANUP | false               | 09:00
    c4              | MOVE_CONVERSATION            | false                | 08:00
"""
MESSAGE_EVENTS = """
    conversation_id | event_type       | sent_by_initiator boolean | event_time timestamp | seen_at timestamp
    c1              | RECEIVED         | true                      | 08:20                | -
    c1              | DELIVERED        | true                      | 08:30                | -
    c1              | SENT             | true                      | 08:10                | -
    c2              | DELIVERED        | false                     | 08:10                | -
    c2              | DELIVERED        | true                      | 08:10                | 12:00
    c4              | FORWARD_ACCEPTED | true                      | 08:10                | -
    c5              | DELIVERED        | true                      | 08:30                | -
"""
KNOWN = """
    conversation_id | first_arrived_at timestamp
    c1              | 08:25
    c4              | 08:15
    c5              | -
"""


def test_both_sides_of_each_conversation(session: SparkSession) -> None:
    """Arrivals are those of the initiator's messages that were logged, also by earlier batches."""
    drawn = (frame(session, drawing) for drawing in (ENDPOINT_EVENTS, MESSAGE_EVENTS, KNOWN))
    found = conversation_sides(*drawn)
    flags = """
        conversation_id | initiator_known boolean | target_known boolean | created_again boolean
        c1              | true                    | true                 | false
        c2              | true                    | false                | true
        c3              | false                   | true                 | true
        c4              | false                   | false                | false
        c5              | false                   | false                | false
    """
    times = """
        conversation_id | initiator_ended_at timestamp | target_ended_at timestamp | first_arrived_at timestamp | last_event_at timestamp
        c1              | 09:00                        | -                         | 08:20                      | 11:00
        c2              | -                            | -                         | -                          | 08:05
        c3              | -                            | 09:00                     | -                          | 09:00
        c4              | -                            | -                         | 08:15                      | 08:00
        c5              | -                            | -                         | 08:30                      | -
    """  # noqa: E501
    assert_same(found.select(*found.columns[:4]), frame(session, flags))
    assert_same(found.drop(*found.columns[1:4]), frame(session, times))


def test_arrivals_of_the_initiators_messages(session: SparkSession) -> None:
    events = frame(session, MESSAGE_EVENTS)
    expected = events.where("date_format(event_time, 'HH:mm') in ('08:20', '08:30')")
    assert expected.count() == 3
    assert_same(arrivals(events), expected)


def test_conversations_whose_target_is_inferred(session: SparkSession) -> None:
    sides = frame(
        session,
        """
        conversation_id | initiator_known boolean | target_known boolean | first_arrived_at timestamp
        inferred        | true                    | false                | 08:00
        nothing arrived | true                    | false                | -
        both known      | true                    | true                 | 08:00
        no initiator    | false                   | false                | 08:00
        """,
    )
    assert_same(without_target(sides), frame(session, "conversation_id\ninferred"))
