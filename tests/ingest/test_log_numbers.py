"""Numbers of the messages of a trace: what captures have to say for a count to hold."""

from pipelines.ingest.log_numbers import number_steps
from tests.support.drawn import Draw

PLACE = {"instance": "SQL1", "database": "B", "is_initiator": True}
STEPS = (
    "instance string, database string, conversation_id string, is_initiator boolean, event_time timestamp, "
    "sequence bigint, step string"
)
SHOWN = (
    "instance string, database string, conversation_id string, is_initiator boolean, seen_at timestamp, "
    "send_sequence bigint, receive_sequence bigint"
)


def test_a_count_holds_if_the_next_capture_agrees(draw: Draw) -> None:
    """Rows at the moment of a capture come after it; a sequence that no view says is none."""
    steps = draw.rows(STEPS, **PLACE)("""
        conversation_id | event_time | sequence | step
        begins          | 12:00      | 2        | begun
        begins          | 12:00      | 1        | sent
        begins          | 12:00      | 3        | sent
        begins          | 12:01      | 4        | arrived
        goes on         | 12:00      | 1        | sent
        goes on         | 12:10      | 2        | sent
        goes on         | 12:15      | 3        | sent
        no capture      | 12:00      | 1        | begun
        no capture      | 12:00      | 2        | sent
        no begin        | 12:00      | 1        | sent
        too few         | 12:00      | 1        | begun
        too few         | 12:00      | 2        | sent
        too many        | 12:00      | 1        | begun
        too many        | 12:00      | 2        | sent
        too many        | 12:00      | 3        | sent
        restarted       | 12:00      | 9        | begun
        restarted       | 12:01      | 10       | sent
        restarted       | 12:02      | 2        | sent
        not said        | 12:00      | 1        | begun
        not said        | 12:00      | 2        | sent
    """)
    shown = draw.rows(SHOWN, **PLACE)("""
        conversation_id | seen_at | send_sequence | receive_sequence
        begins          | 12:05   | 2             | 0
        goes on         | 11:00   | 7             | 0
        goes on         | 12:10   | 8             | 0
        goes on         | 12:20   | 10            | 0
        no begin        | 12:10   | 1             | 0
        too few         | 12:10   | 2             | 0
        too many        | 12:10   | 1             | 0
        restarted       | 12:10   | 2             | 0
        not said        | 12:10   | -             | -
    """)
    draw.require(number_steps(steps, shown), "sequence bigint, number bigint")("""
        conversation_id | sequence | number
        begins          | 1        | 0
        begins          | 3        | 1
        goes on         | 1        | 7
        goes on         | 2        | 8
        goes on         | 3        | 9
    """)


def test_what_an_endpoint_sends_and_what_it_gets_are_counted_alone(draw: Draw) -> None:
    steps = draw.rows(STEPS, instance="SQL1", database="B")("""
        conversation_id | is_initiator | event_time | sequence | step
        c               | true         | 12:00      | 1        | begun
        c               | true         | 12:01      | 2        | sent
        c               | false        | 12:01      | 3        | begun
        c               | false        | 12:01      | 4        | arrived
        c               | false        | 12:02      | 5        | sent
        c               | true         | 12:02      | 6        | arrived
    """)
    shown = draw.rows(SHOWN, instance="SQL1", database="B")("""
        conversation_id | is_initiator | seen_at | send_sequence | receive_sequence
        c               | true         | 12:10   | 1             | 2
        c               | false        | 12:10   | 1             | 1
    """)
    draw.require(number_steps(steps, shown), "is_initiator boolean, is_sent boolean, number bigint")("""
        is_initiator | is_sent | sequence bigint | number
        true         | true    | 2               | 0
        false        | false   | 4               | 0
        false        | true    | 5               | 0
    """)
