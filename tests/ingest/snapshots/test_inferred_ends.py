"""What a complete view no longer shows has ended, was received, or has left."""

from pyspark.sql import functions as F

from pipelines.ingest.snapshots.inferred_ends import infer_endpoint_ends, infer_message_ends, views_of_queues
from pipelines.state.ledger import Ledger
from schemas.events import ENDPOINT_FACTS, MESSAGES as EVENTS, QUEUE_FACTS
from tests.support.drawn import Draw
from tests.support.frames import assert_same, instant

OF_ENDPOINTS = (
    "instance string, is_initiator boolean, conversation_handle string, created_at timestamp, "
    "ended_at timestamp, gone_at timestamp"
)
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
    conversation_id | database | created_at      | ended_at | gone_at
    gone            | B        | 08:00           | -        | 12:00
    shown           | B        | 08:00           | -        | -
    shown at last   | B        | 08:00           | -        | -
    shown lately    | B        | 08:00           | -        | 12:00
    moved           | B        | 08:00           | -        | 13:00
    a minute ago    | B        | 11:59           | -        | 13:00
    over a minute   | B        | 11:58:59.999999 | -        | 12:00
    not yet         | B        | 12:30           | -        | 13:00
    ended           | B        | 08:00           | 11:00    | -
    ended in time   | B        | 08:00           | 12:00    | 12:00
    elsewhere       | C        | 08:00           | -        | -
"""
SEEN = """
    conversation_id | event_type        | event_time | seen_at
    gone            | DIALOG_CREATED    | 11:59:30   | -
    shown           | DIALOG_CREATED    | 08:00      | 12:00
    shown           | DIALOG_CREATED    | 08:00      | 13:00
    shown at last   | DIALOG_CREATED    | 08:00      | 13:00
    shown lately    | DIALOG_CREATED    | 08:00      | 11:59:59
    moved           | MOVE_CONVERSATION | 11:59:30   | -
"""
BOUND = """
    instance | database | local_service | queue | since timestamp | until timestamp
    SQL1     | B        | S             | Q     | -               | -
    SQL1     | B        | T             | Q     | -               | 11:00
    SQL1     | B        | T             | R     | 11:00           | -
"""


def test_endpoints_that_are_shown_no_more(draw: Draw) -> None:
    """At the first complete view after the last that shows it, and over a minute after what is logged."""
    place = {"instance": "SQL1", "is_initiator": False, "conversation_handle": "H"}
    drawn = draw.rows(OF_ENDPOINTS, **place)(ENDPOINTS)
    seen = draw.rows(ENDPOINT_FACTS, is_initiator=False)(SEEN)
    found = infer_endpoint_ends(drawn.drop("gone_at"), seen, draw(VIEWS))
    just_before = (F.col("gone_at") - F.expr("INTERVAL 1 MICROSECOND")).alias("event_time")
    end = F.lit("END_CONVERSATION").alias("event_type")
    expected = drawn.select("conversation_id", F.col("gone_at").alias("seen_at"), just_before, end)
    assert_same(found.select(*expected.columns), expected.where("seen_at is not null"))
    assert found.where("inferred and event_id like 'absent/%/false'").count() == 7


def test_a_clock_that_is_wrong_by_centuries(draw: Draw) -> None:
    """Fifty databases are captured in 2026 and 9998: a row for each day between would be 145 million."""
    place = {"instance": "SQL1", "is_initiator": False, "conversation_handle": "H"}
    endpoints = draw.rows(OF_ENDPOINTS, **place)("""
        conversation_id | created_at
        early           | 08:00
        later           | 12:30
        far             | 5000-01-01 00:00
    """)
    views = draw("""
        instance | view                   | taken_at timestamp | queue
        SQL1     | conversation_endpoints | 12:00              | -
        SQL1     | conversation_endpoints | 9998-11-20 12:00   | -
    """)
    databases = F.explode(F.sequence(F.lit(1), F.lit(50))).cast("string").alias("database")
    rows, of_views = (each.drop("database").select("*", databases) for each in (endpoints, views))
    found = infer_endpoint_ends(rows, draw.rows(ENDPOINT_FACTS)("seen_at\n-"), of_views)
    assert found.count() == 3 * 50
    draw.require(found.where("database = '7'"))("""
        conversation_id | seen_at timestamp
        early           | 12:00
        later           | 9998-11-20 12:00
        far             | 9998-11-20 12:00
    """)


MESSAGES = """
    message_id     | event_type | event_time | transaction_id | seen_at  | message_type          | conversation_id
    gone           | DELIVERED  | 08:00      | -              | -        | Order                 | both
    shown          | DELIVERED  | 08:00      | -              | 13:00    | Order                 | both
    shown lately   | DELIVERED  | 08:00      | -              | 11:59:59 | Order                 | both
    late           | DELIVERED  | 11:59      | -              | -        | Order                 | both
    lately         | DELIVERED  | 12:59      | -              | -        | Order                 | both
    received       | DELIVERED  | 08:00      | -              | -        | Order                 | both
    received       | RECEIVED   | 09:00      | -              | -        | Order                 | both
    in flight      | RECEIVED   | 09:00      | open           | -        | Order                 | both
    committed      | RECEIVED   | 09:00      | both outcomes  | -        | Order                 | both
    given back     | RECEIVED   | 09:00      | back           | -        | Order                 | both
    back lately    | RECEIVED   | 09:00      | back lately    | -        | Order                 | both
    back once      | RECEIVED   | 09:00      | back           | -        | Order                 | both
    back once      | RECEIVED   | 09:30      | open           | -        | Order                 | both
    other queue    | DELIVERED  | 08:00      | -              | -        | Order                 | elsewhere
    receiver over  | DELIVERED  | 08:00      | -              | -        | Order                 | target over
    ends with it   | DELIVERED  | 08:00      | -              | -        | Order                 | ends with it
    no receiver    | DELIVERED  | 08:00      | -              | -        | Order                 | nobody
    only shown     | DELIVERED  | 08:00      | -              | 11:59:59 | Order                 | nobody
    sent again     | DELIVERED  | 08:00      | -              | 11:59:59 | Order                 | both
    sent again     | SENT       | 08:00      | -              | 13:00    | Order                 | both
    sent           | SENT       | 08:00      | -              | -        | Order                 | both
    sent, arrived  | SENT       | 08:00      | -              | -        | Order                 | elsewhere
    sent, arrived  | DELIVERED  | 08:30      | -              | -        | Order                 | elsewhere
    passed on      | FORWARDED  | 08:00      | -              | -        | Order                 | both
    target over    | SENT       | 08:00      | -              | -        | Order                 | target over
    number again   | RECEIVED   | 08:00      | -              | -        | Order                 | open
    number again   | SENT       | 10:30      | -              | 11:00    | Order                 | open
    still shown    | RECEIVED   | 08:00      | -              | -        | Order                 | open
    still shown    | SENT       | 10:30      | -              | 13:00    | Order                 | open
    not sent again | RECEIVED   | 10:29      | -              | -        | Order                 | open
    not sent again | SENT       | 10:30      | -              | 11:00    | Order                 | open
    sender over    | SENT       | 08:00      | -              | -        | Order                 | sender over
    cleaned up     | SENT       | 08:00      | -              | -        | Order                 | cleaned up
    with error     | SENT       | 08:00      | -              | -        | Order                 | with error
    error survives | SENT       | 08:00      | -              | -        | x/ServiceBroker/Error | with error
"""  # noqa: E501
ENDED = """
    conversation_id | is_initiator | event_type                    | event_time
    target over     | false        | END_CONVERSATION              | 11:00
    ends with it    | false        | END_CONVERSATION              | 11:59:59.999999
    sender over     | true         | END_CONVERSATION              | 11:00
    cleaned up      | true         | END_CONVERSATION_WITH_CLEANUP | 11:00
    with error      | true         | END_CONVERSATION_WITH_ERROR   | 11:00
"""
OUTCOMES = """
    event_type | event_time | transaction_id
    ROLLBACK   | 10:00      | back
    ROLLBACK   | 11:59:30   | back lately
    ROLLBACK   | 10:00      | both outcomes
    COMMIT     | 10:30      | both outcomes
"""
GONE = """
    message_id     | event_type | event_time      | seen_at | not_before
    gone           | RECEIVED   | 11:59:59.999999 | 12:00   | 08:00
    shown lately   | RECEIVED   | 11:59:59.999999 | 12:00   | 11:59:59
    only shown     | RECEIVED   | 11:59:59.999999 | 12:00   | 11:59:59
    sent again     | RECEIVED   | 11:59:59.999999 | 12:00   | 11:59:59
    ends with it   | RECEIVED   | 11:59:59.999999 | 12:00   | 08:00
    late           | RECEIVED   | 12:59:59.999999 | 13:00   | 11:59
    given back     | RECEIVED   | 11:59:59.999999 | 12:00   | 10:00
    back lately    | RECEIVED   | 12:59:59.999999 | 13:00   | 11:59:30
    sent           | LEFT       | 11:59:59.999999 | 12:00   | 08:00
    number again   | LEFT       | 11:59:59.999999 | 12:00   | 11:00
    sender over    | LEFT       | 11:59:59.999999 | 12:00   | 08:00
    error survives | LEFT       | 11:59:59.999999 | 12:00   | 08:00
"""


def test_messages_that_are_shown_no_more(draw: Draw) -> None:
    """Ready ones were received and waiting ones have left, unless something else took them away before."""
    place = {"instance": "SQL1", "database": "B"}
    more = {"sent_by_initiator": True, "message_sequence_number": 0}
    messages = draw.rows(EVENTS, **place, **more)(MESSAGES)
    messages = messages.withColumn("shown_queue", F.when(F.col("seen_at").isNotNull(), "Q"))
    known = messages.where("conversation_id <> 'nobody'")
    endpoints = (
        known.select("conversation_id", *place)
        .distinct()
        .withColumns(
            {
                "is_initiator": F.explode(F.array(F.lit(True), F.lit(False))),
                "local_service": F.when(F.col("conversation_id") == "elsewhere", "T").otherwise("S"),
                "created_at": F.lit(instant("07:00")),
                "ended_at": F.lit(None).cast("timestamp"),
            }
        )
    )
    ended, queues = draw(ENDED, ENDPOINT_FACTS), draw.rows(QUEUE_FACTS, **place)(OUTCOMES)
    ledger = Ledger(messages, ended, queues, endpoints, has_queue_events=True)
    views = draw(VIEWS)
    found = infer_message_ends(ledger, views, views_of_queues(views, draw(BOUND)))
    draw.require(found, EVENTS)(GONE)
