"""Open messages with their endpoints, and messages that no schedule has."""

from pipelines.schedules.messages import needed_endpoints, unresolved, with_receiver, with_sender
from tests.support.drawn import Draw
from tests.support.frames import assert_same

ENDPOINTS = (
    "conversation_id string, is_initiator boolean, exists boolean, instance string, database string, "
    "queue string, contract string, local_service string, remote_service string, "
    "conversation_handle string, conversation_group_id string, priority int"
)


def test_endpoints_that_matter(draw: Draw) -> None:
    """The receiver of each message, the sender only of those that are on their way; each once."""
    messages = draw("""
        conversation_id | sent_by_initiator boolean | waits boolean | is_forwarded boolean
        queued          | true                      | false         | false
        queued          | true                      | false         | false
        waits           | true                      | true          | false
        passing         | false                     | false         | true
    """)
    expected = draw("""
        conversation_id | is_initiator boolean
        queued          | false
        waits           | false
        waits           | true
        passing         | true
        passing         | false
    """)
    assert_same(needed_endpoints(messages), expected)


def test_the_two_endpoints_of_a_message(draw: Draw) -> None:
    """An endpoint that is created after as_of does not exist; the sender's instance is known before."""
    endpoints = draw.rows(ENDPOINTS, database="D", contract="Gold")("""
        conversation_id | is_initiator | exists | instance | queue | conversation_group_id | priority
        c1              | true         | true   | SQL1     | P     | g1                    | 9
        c1              | false        | true   | SQL2     | Q     | g2                    | 1
        c2              | true         | false  | SQL3     | P     | g3                    | 5
        c2              | false        | false  | SQL4     | Q     | g4                    | 5
    """)
    messages = draw("""
        message_id | conversation_id | sent_by_initiator boolean
        forth      | c1              | true
        back       | c1              | false
        to come    | c2              | true
        unknown    | c3              | true
    """)
    expected = draw.lines("""
        message_id string                     | forth | back | to come | unknown
        receiver_exists boolean               | true  | true | false   | false
        receiver_instance string              | SQL2  | SQL1 | -       | -
        receiver_database string              | D     | D    | -       | -
        receiver_queue string                 | Q     | P    | -       | -
        receiver_conversation_group_id string | g2    | g1   | -       | -
        receiver_priority int                 | 1     | 9    | -       | -
        receiver_contract string              | Gold  | Gold | -       | -
    """)
    assert_same(with_receiver(messages, endpoints).select(*expected.columns), expected)
    expected = draw.lines("""
        message_id string      | forth | back | to come | unknown
        sender_exists boolean  | true  | true | false   | false
        sender_instance string | SQL1  | SQL2 | -       | -
        sender_database string | D     | D    | -       | -
        sender_priority int    | 9     | 1    | -       | -
        sender_contract string | Gold  | Gold | -       | -
        home_instance string   | SQL1  | SQL2 | SQL3    | -
    """)
    assert_same(with_sender(messages, endpoints).select(*expected.columns), expected)


def test_why_no_schedule_has_a_message(draw: Draw) -> None:
    received = draw("""
        message_id  | instance | database | queue | receiver_exists boolean | unknown_handle | shown_instance | shown_database | shown_queue
        in a queue  | SQL1     | B        | Q     | true                    | -              | -              | -              | -
        no service  | SQL1     | B        | -     | true                    | -              | -              | -              | -
        no endpoint | -        | -        | -     | false                   | -              | SQL1           | A              | -
        no handle   | -        | -        | -     | false                   | h1             | SQL1           | C              | R
    """)  # noqa: E501
    on_their_way = draw("""
        message_id  | waits boolean | sender_exists boolean | unknown_handle | shown_instance | shown_database | shown_queue
        sent        | true          | true                  | -              | -              | -              | -
        no endpoint | true          | false                 | -              | -              | -              | -
        no handle   | true          | false                 | h1             | SQL1           | A              | -
        passing     | false         | false                 | -              | -              | -              | -
    """)  # noqa: E501
    expected = draw("""
        kind         | id          | reason                 | instance | database | queue
        receive      | no service  | service_not_in_catalog | SQL1     | B        | -
        receive      | no endpoint | endpoint_unknown       | -        | -        | -
        receive      | no handle   | handle_unknown         | SQL1     | C        | R
        transmission | no endpoint | endpoint_unknown       | -        | -        | -
        transmission | no handle   | handle_unknown         | SQL1     | A        | -
    """)
    assert_same(unresolved(received, on_their_way), expected)
