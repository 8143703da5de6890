"""What is known of the two endpoints of a conversation."""

from pipelines.ingest.sides import arrivals, conversation_sides, without_target
from tests.support.drawn import Draw
from tests.support.frames import assert_same

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


def test_both_sides_of_each_conversation(draw: Draw) -> None:
    """Arrivals are those of the initiator's messages that were logged, also by earlier batches."""
    events = draw("""
        conversation_id | event_type                    | is_initiator boolean | event_time timestamp
        c1              | BEGIN_DIALOG                  | true                 | 08:00
        c1              | DIALOG_CREATED                | false                | 08:01
        c1              | MOVE_CONVERSATION             | true                 | 11:00
        c1              | END_CONVERSATION              | true                 | 10:00
        c1              | END_CONVERSATION_WITH_ERROR   | true                 | 09:00
        c2              | BEGIN_DIALOG                  | true                 | 08:00
        c2              | BEGIN_DIALOG                  | true                 | 08:05
        c3              | DIALOG_CREATED                | false                | 08:00
        c3              | DIALOG_CREATED                | false                | 07:00
        c3              | END_CONVERSATION_WITH_CLEANUP | false                | 09:00
        c4              | MOVE_CONVERSATION             | false                | 08:00
    """)
    known = draw("conversation_id | first_arrived_at timestamp\n c1 | 08:25\n c4 | 08:15\n c5 | -")
    expected = draw.lines("""
        conversation_id string       | c1    | c2    | c3    | c4    | c5
        initiator_known boolean      | true  | true  | false | false | false
        target_known boolean         | true  | false | true  | false | false
        created_again boolean        | false | true  | true  | false | false
        initiator_ended_at timestamp | 09:00 | -     | -     | -     | -
        target_ended_at timestamp    | -     | -     | 09:00 | -     | -
        first_arrived_at timestamp   | 08:20 | -     | -     | 08:15 | 08:30
        last_event_at timestamp      | 11:00 | 08:05 | 09:00 | 08:00 | -
    """)
    assert_same(conversation_sides(events, draw(MESSAGE_EVENTS), known), expected)


def test_arrivals_of_the_initiators_messages(draw: Draw) -> None:
    draw.require(arrivals(draw(MESSAGE_EVENTS)))("""
        conversation_id | event_type | event_time timestamp
        c1              | RECEIVED   | 08:20
        c1              | DELIVERED  | 08:30
        c5              | DELIVERED  | 08:30
    """)


def test_conversations_whose_target_is_inferred(draw: Draw) -> None:
    sides = draw("""
        conversation_id | initiator_known boolean | target_known boolean | first_arrived_at timestamp
        inferred        | true                    | false                | 08:00
        nothing arrived | true                    | false                | -
        both known      | true                    | true                 | 08:00
        no initiator    | false                   | false                | 08:00
    """)
    assert_same(without_target(sides), draw("conversation_id\n inferred"))
