"""When messages were received: the log knows the moment, captures an interval."""

from pyspark.sql import functions as F

from pipelines.replay.messages import first_receipts
from pipelines.replay.request import Period
from pipelines.replay.tables import calibration, find_verdicts
from pipelines.state.ledger import Ledger
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import CATALOG_HISTORY
from tests.support.drawn import Draw
from tests.support.factories import at

OF_DATABASE = {"instance": "SQL1", "database": "B"}


def test_a_receive_that_captures_show_is_in_the_middle_between_two(draw: Draw) -> None:
    """A full capture of 12:40 shows the endpoint `open`. `outside` was received after the period."""
    messages = draw.rows(MESSAGES, **OF_DATABASE, event_type="RECEIVED", sent_by_initiator=True)("""
        message_id | conversation_id | event_time | inferred | not_before | seen_at
        logged     | open            | 12:01      | -        | -          | -
        both       | open            | 12:02      | -        | -          | -
        both       | open            | 12:09      | true     | 12:00      | 12:10
        shown      | open            | 12:09      | true     | 12:00      | 12:10
        dropped    | gone            | 12:24      | true     | 12:20      | 12:25
        outside    | open            | 12:39      | true     | 12:30      | 12:40
        older      | open            | 12:09      | true     | -          | 12:10
    """)
    receivers = draw.rows(ENDPOINTS, **OF_DATABASE, is_initiator=False, queue="Q", local_service="S")("""
        conversation_id | created_at | ended_at
        open            | 10:00      | -
        gone            | 10:00      | 12:39
    """)
    seen = {"event_type": F.lit("DIALOG_CREATED"), "seen_at": F.lit(at(40)), "state": F.lit("CO")}
    sights = draw.rows(ENDPOINT_FACTS)("conversation_id\nopen")
    sights = sights.withColumns({**seen, "is_initiator": F.lit(False)})
    complete = draw("""
        instance | database | taken_at timestamp
        SQL1     | B        | 12:40
    """)
    of_services = {**OF_DATABASE, "kind": "service", "attribute": "queue", "name": "S", "value": "Q"}
    bindings = draw.rows(CATALOG_HISTORY, **of_services)("valid_from | valid_to\n- | -")
    ledger = Ledger(messages, sights, draw.rows(QUEUE_FACTS)("event_id"), receivers, has_queue_events=False)
    found = first_receipts(ledger, receivers, complete, bindings, Period(at(0), at(30)))
    draw.require(found)("""
        message_id | first_received_at timestamp | width bigint
        logged     | 12:01                       | -
        both       | 12:02                       | -
        shown      | 12:05                       | 600000000
        dropped    | -                           | 300000000
    """)


def test_captures_that_are_too_far_apart_do_not_tell_whether_the_replay_follows(draw: Draw) -> None:
    """The difference may be a tenth, here a second; so may the interval."""
    key = ["instance", "database", "queue", "level"]
    columns = "level int, messages bigint, width bigint, p50 bigint, p95 bigint"
    logged = draw.rows(columns, messages=1)("""
        instance | database | queue | level | width   | p50      | p95
        SQL1     | B        | Tight | 9     | 1000000 | 10000000 | 10000000
        SQL1     | B        | Wide  | 9     | 1000001 | 10000000 | 10000000
        SQL1     | B        | Wide  | 5     | -       | 10000000 | 10000000
        SQL1     | B        | Open  | 9     | 60000   | -        | -
        SQL1     | B        | Off   | 9     | 9000000 | 10000000 | 10000000
        SQL1     | B        | Off   | 5     | -       | 10000000 | 10000000
        SQL1     | B        | None  | 9     | -       | -        | -
    """)
    replayed = logged.withColumn("p95", F.when(F.expr("queue = 'Off'"), 1).otherwise(F.col("p95")))
    verdicts = find_verdicts(calibration(logged, replayed, key))
    draw.require(verdicts)("""
        queue | verdict
        Tight | calibrated
        Wide  | too_wide
        Open  | too_wide
        Off   | off
        None  | unknown
    """)
