"""What the log and snapshots say of readers in a window from noon on."""

from pyspark.sql import DataFrame

from pipelines.activation.evidence import Evidence, evidence_of_window
from pipelines.activation.write import SNAPSHOT_MONITORS
from pipelines.state.ledger import Ledger
from pipelines.storage.collect import micros
from schemas.events import MESSAGES, QUEUE_FACTS
from tests.support.drawn import Draw, in_micros
from tests.support.factories import at
from tests.support.frames import assert_same

FACTS = ", ".join(f"{column.name} {column.type}" for column in QUEUE_FACTS.columns)


def evidence(draw: Draw, messages: str, queues: str, monitors: DataFrame | None = None) -> Evidence:
    """Queue events name the queue 0, and conversation c1 has its target there."""
    message_events = draw.rows(MESSAGES, instance="SQL1", sent_by_initiator=True)(messages)
    queue_events = draw.rows(f"{FACTS}, queue_number int", instance="SQL1", queue_number=0)(queues)
    receivers = draw("conversation_id | is_initiator boolean | queue_number int\n c1 | false | 0")
    ledger = Ledger(message_events, queue_events, queue_events, queue_events, has_queue_events=True)
    return evidence_of_window(ledger, receivers, queue_events, monitors, start=micros(at(0)))


def test_what_the_log_and_snapshots_have_of_the_window(draw: Draw) -> None:
    """What was before, and what only snapshots show, is not in the log; snapshots can show a queue off."""
    messages = """
        instance | event_type | event_time | seen_at
        message  | RECEIVED   | 12:00      | -
        message  | DELIVERED  | 12:00      | -
        snapshot | RECEIVED   | 12:00      | 12:10
        sent     | SENT       | 12:00      | -
    """
    queues = """
        instance | event_type             | event_time      | seen_at | queue_status
        receive  | RECEIVE                | 12:00           | -       | -
        group    | GET_CONVERSATION_GROUP | 12:00           | -       | -
        commit   | COMMIT                 | 12:00           | -       | -
        rollback | ROLLBACK               | 12:00           | -       | -
        other    | QUEUE_ALTERED          | 12:02           | -       | OFF
        before   | RECEIVE                | 11:59:59.999999 | -       | -
        snapshot | QUEUE_ALTERED          | 12:01           | 12:20   | OFF
        snapshot | QUEUE_ALTERED          | 12:01           | 12:30   | off
        snapshot | QUEUE_ALTERED          | 12:02           | 12:20   | OFF
        snapshot | QUEUE_ALTERED          | 12:03           | 12:20   | ON
    """
    found = evidence(draw, messages, queues)
    expected = draw("""
        instance | has_queue_events boolean | has_receives boolean | has_outcomes boolean
        message  | false                    | true                 | false
        receive  | true                     | true                 | false
        group    | true                     | true                 | false
        commit   | true                     | false                | true
        rollback | true                     | false                | true
        other    | true                     | false                | false
    """)
    assert_same(found.logged, expected)
    off = draw("queue_number int | off_since timestamp | off_seen_at timestamp\n 0 | 12:01 | 12:30")
    assert_same(found.seen_off, in_micros(off, "off_since"))
    assert found.notified is None


def test_monitors_that_notified_and_were_not_answered(draw: Draw) -> None:
    """A procedure takes up to 10 seconds to its RECEIVE; of other queues no event is known."""
    monitors = draw.columns(SNAPSHOT_MONITORS)(
        """
        queue_number | state    | taken_at | last_activated_time | activated_from | activated_until | tasks_running
        0            | Notified | 12:30    | 12:20               | 12:20          | 12:20           | 2
        1            | NOTIFIED | 12:30    | 12:29:51            | 12:20          | 12:29:51        | 1
        2            | NOTIFIED | 12:30    | 12:29:50            | 12:29:50       | 12:29:50        | 1
        3            | NOTIFIED | 12:30    | -                   | -              | -               | -
        4            | INACTIVE | 12:30    | 12:20               | 12:20          | 12:20           | 1
        5            | -        | 12:30    | 12:20               | 12:20          | 12:20           | 1
        6            | NOTIFIED | 12:30    | 14:20               | -              | -               | 1
    """  # noqa: E501
    )
    messages = """
        event_type | event_time      | conversation_id
        RECEIVED   | 12:19:59.999999 | c1
        DELIVERED  | 12:25           | c1
        RECEIVED   | 12:25           | c2
    """
    queues = """
        event_type | event_time | seen_at
        RECEIVE    | 12:19      | -
        RECEIVE    | 12:25      | 12:30
        COMMIT     | 12:25      | -
    """
    expected = draw("""
        queue_number int | notified_at timestamp | notified_since timestamp | tasks_running bigint
        0                | 12:30                 | 12:20                    | 2
        2                | 12:30                 | 12:29:50                 | 1
        3                | 12:30                 | -                        | -
        6                | 12:30                 | 14:20                    | 1
    """)
    found = evidence(draw, messages, queues, monitors).notified
    assert found is not None
    assert_same(found, expected)
    by_message = f"{messages}\n RECEIVED | 12:20 | c1"
    by_statement = f"{queues}\n RECEIVE | 12:20 | -"
    for answered in (
        evidence(draw, by_message, queues, monitors),
        evidence(draw, messages, by_statement, monitors),
    ):
        assert answered.notified is not None
        assert_same(answered.notified, expected.where("queue_number <> 0"))
