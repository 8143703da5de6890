"""Both schedules in the same columns."""

from pipelines.questions.open_messages import RECEIVE, TRANSMISSION, with_common_columns
from schemas.outputs import RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from tests.support.drawn import Draw


def test_a_message_in_a_queue(draw: Draw) -> None:
    rows = draw.rows(RECEIVE_SCHEDULE, instance="S", database="B", queue="Q", conversation_group_id="g")("""
        message_id | group_priority | priority | arrived_at | contract
        m          | 9              | 5        | 12:40      | Gold
    """)
    draw.require(with_common_columns(rows, RECEIVE), RECEIVE_SCHEDULE)("""
        kind    | queue | unit | counts_as int | level int | since timestamp | contract | waits_for | status
        receive | Q     | g    | 9             | 5         | 12:40           | Gold     | -         | -
    """)


def test_a_message_to_send_and_a_forwarded_one(draw: Draw) -> None:
    rows = draw.rows(TRANSMISSION_SCHEDULE, instance="S", database="A", from_service="I", message_id="m")("""
        conversation_id | sent_by_initiator | priority | transmit_priority | forwarded | waits_for
        c               | true              | 3        | 4                 | false     | S.B.Q
        d               | false             | -        | 5                 | true      | -
    """)
    draw.require(with_common_columns(rows, TRANSMISSION), TRANSMISSION_SCHEDULE)("""
        queue | unit   | level int | sent_level int | state        | local_service | held_by | waits_for
        -     | ctrue  | 4         | 3              | transmission | I             | A       | S.B.Q
        -     | dfalse | 5         | -              | forwarded    | I             | A       | -
    """)
