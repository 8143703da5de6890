"""What a complete view no longer shows has ended, was received, or has left."""

from pyspark.sql import SparkSession, functions as F

from pipelines.ingest.snapshots.inferred_ends import infer_endpoint_ends, infer_message_ends, views_of_queues
from pipelines.state.ledger import Ledger
from tests.support.frames import assert_same, frame

VIEWS = """
    instance | database | view                   | taken_at timestamp | queue
    SQL1     | B        | conversation_endpoints | 12:00              | -
    SQL1     | B        | conversation_endpoints | 13:00              | -
    SQL1     | B        | transmission_queue     | 12:00              | -
    SQL1     | B        | transmission_queue     | 13:00              | -
    SQL1     | B        | dbo.Q                  | 12:00              | Q
    SQL1     | B        | dbo.Q                  | 13:00              | Q
"""
ENDPOINTS = """
    conversation_id | database | created_at timestamp | ended_at timestamp
    gone            | B        | 08:00                | -
    shown           | B        | 08:00                | -
    shown at last   | B        | 08:00                | -
    shown lately    | B        | 08:00                | -
    moved           | B        | 08:00                | -
    a minute ago    | B        | 11:59                | -
    over a minute   | B        | 11:58:59.999999      | -
    not yet         | B        | 12:30                | -
    ended           | B        | 08:00                | 11:00
    ended in time   | B        | 08:00                | 12:00
    elsewhere       | C        | 08:00                | -
"""
SEEN = """
    conversation_id | event_type        | event_time timestamp | seen_at timestamp
    gone            | DIALOG_CREATED    | 11:59:30             | -
    shown           | DIALOG_CREATED    | 08:00                | 12:00
    shown           | DIALOG_CREATED    | 08:00                | 13:00
    shown at last   | DIALOG_CREATED    | 08:00                | 13:00
    shown lately    | DIALOG_CREATED    | 08:00                | 11:59:59
    moved           | MOVE_CONVERSATION | 11:59:30             | -
"""
ENDS = """
    conversation_id | event_time timestamp | seen_at timestamp | event_type
    gone            | 11:59:59.999999      | 12:00             | END_CONVERSATION
    shown lately    | 11:59:59.999999      | 12:00             | END_CONVERSATION
    moved           | 12:59:59.999999      | 13:00             | END_CONVERSATION
    a minute ago    | 12:59:59.999999      | 13:00             | END_CONVERSATION
    over a minute   | 11:59:59.999999      | 12:00             | END_CONVERSATION
    not yet         | 12:59:59.999999      | 13:00             | END_CONVERSATION
    ended in time   | 11:59:59.999999      | 12:00             | END_CONVERSATION
"""


BOUND = """
    instance | database | local_service | queue | since timestamp | until timestamp
    SQL1     | B        | S             | Q     | -               | -
    SQL1     | B        | T             | Q     | -               | 11:00
    SQL1     | B        | T             | R     | 11:00           | -
"""


def test_endpoints_that_are_shown_no_more(session: SparkSession) -> None:
    """At the first complete view after the last that shows it, and over a minute after what is logged."""
    side = {"is_initiator": F.lit(False)}
    place = side | {"instance": F.lit("SQL1"), "conversation_handle": F.lit("H")}
    endpoints = frame(session, ENDPOINTS).withColumns(place)
    found = infer_endpoint_ends(endpoints, frame(session, SEEN).withColumns(side), frame(session, VIEWS))
    expected = frame(session, ENDS)
    assert_same(found.select(*expected.columns), expected)
    assert found.where("inferred and event_id like 'absent/%/false'").count() == 7


MESSAGES = """
    message_id     | event_type | event_time timestamp | transaction_id | seen_at timestamp | message_type          | conversation_id
    gone           | DELIVERED  | 08:00                | -              | -                 | Order                 | both
    shown          | DELIVERED  | 08:00                | -              | 13:00             | Order                 | both
    shown lately   | DELIVERED  | 08:00                | -              | 11:59:59          | Order                 | both
    late           | DELIVERED  | 11:59                | -              | -                 | Order                 | both
    lately         | DELIVERED  | 12:59                | -              | -                 | Order                 | both
    received       | DELIVERED  | 08:00                | -              | -                 | Order                 | both
    received       | RECEIVED   | 09:00                | -              | -                 | Order                 | both
    in flight      | RECEIVED   | 09:00                | open           | -                 | Order                 | both
    committed      | RECEIVED   | 09:00                | both outcomes  | -                 | Order                 | both
    given back     | RECEIVED   | 09:00                | back           | -                 | Order                 | both
    back lately    | RECEIVED   | 09:00                | back lately    | -                 | Order                 | both
    back once      | RECEIVED   | 09:00                | back           | -                 | Order                 | both
    back once      | RECEIVED   | 09:30                | open           | -                 | Order                 | both
    other queue    | DELIVERED  | 08:00                | -              | -                 | Order                 | elsewhere
    receiver over  | DELIVERED  | 08:00                | -              | -                 | Order                 | target over
    no receiver    | DELIVERED  | 08:00                | -              | -                 | Order                 | nobody
    only shown     | DELIVERED  | 08:00                | -              | 11:59:59          | Order                 | nobody
    sent           | SENT       | 08:00                | -              | -                 | Order                 | both
    sent, arrived  | SENT       | 08:00                | -              | -                 | Order                 | elsewhere
    sent, arrived  | DELIVERED  | 08:30                | -              | -                 | Order                 | elsewhere
    passed on      | FORWARDED  | 08:00                | -              | -                 | Order                 | both
    target over    | SENT       | 08:00                | -              | -                 | Order                 | target over
    sender over    | SENT       | 08:00                | -              | -                 | Order                 | sender over
    cleaned up     | SENT       | 08:00                | -              | -                 | Order                 | cleaned up
    with error     | SENT       | 08:00                | -              | -                 | Order                 | with error
    error survives | SENT       | 08:00                | -              | -                 | x/ServiceBroker/Error | with error
"""  # noqa: E501
ENDED = """
    conversation_id | is_initiator boolean | event_type                    | event_time timestamp
    target over     | false                | END_CONVERSATION              | 11:00
    sender over     | true                 | END_CONVERSATION              | 11:00
    cleaned up      | true                 | END_CONVERSATION_WITH_CLEANUP | 11:00
    with error      | true                 | END_CONVERSATION_WITH_ERROR   | 11:00
"""
OUTCOMES = """
    event_type | event_time timestamp | transaction_id
    ROLLBACK   | 10:00                | back
    ROLLBACK   | 11:59:30             | back lately
    ROLLBACK   | 10:00                | both outcomes
    COMMIT     | 10:30                | both outcomes
"""
GONE = """
    message_id     | event_type | event_time timestamp | seen_at timestamp | not_before timestamp
    gone           | RECEIVED   | 11:59:59.999999      | 12:00             | 08:00
    shown lately   | RECEIVED   | 11:59:59.999999      | 12:00             | 11:59:59
    only shown     | RECEIVED   | 11:59:59.999999      | 12:00             | 11:59:59
    late           | RECEIVED   | 12:59:59.999999      | 13:00             | 11:59
    given back     | RECEIVED   | 11:59:59.999999      | 12:00             | 10:00
    back lately    | RECEIVED   | 12:59:59.999999      | 13:00             | 11:59:30
    sent           | LEFT       | 11:59:59.999999      | 12:00             | 08:00
    sender over    | LEFT       | 11:59:59.999999      | 12:00             | 08:00
    error survives | LEFT       | 11:59:59.999999      | 12:00             | 08:00
"""


def test_messages_that_are_shown_no_more(session: SparkSession) -> None:
    """Ready ones were received and waiting ones have left, unless something else took them away before."""
    place = {"instance": F.lit("SQL1"), "database": F.lit("B")}
    in_queue = {
        "shown_queue": F.when(F.col("seen_at").isNotNull(), "Q"),
        "shown_until": F.lit(None).cast("timestamp"),
        "inferred": F.lit(None).cast("boolean"),
    }
    messages = frame(session, MESSAGES).withColumns(
        place
        | in_queue
        | {"sent_by_initiator": F.lit(True), "message_sequence_number": F.lit(0).cast("bigint")}
    )
    conversations = messages.select("conversation_id").distinct().where("conversation_id <> 'nobody'")
    service = F.when(F.col("conversation_id") == "elsewhere", "T").otherwise("S")
    since = {"created_at": F.to_timestamp(F.lit("2026-11-20 07:00:00")), "local_service": service}
    endpoints = conversations.withColumns(
        place
        | since
        | {
            "ended_at": F.lit(None).cast("timestamp"),
            "is_initiator": F.explode(F.array(F.lit(True), F.lit(False))),
        }
    )
    queues = frame(session, OUTCOMES).withColumns(place)
    ledger = Ledger(messages, frame(session, ENDED), queues, endpoints, has_queue_events=True)
    views = frame(session, VIEWS)
    found = infer_message_ends(ledger, views, views_of_queues(views, frame(session, BOUND)))
    expected = frame(session, GONE)
    assert_same(found.select(*expected.columns), expected)
