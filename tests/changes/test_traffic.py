"""Conversations and messages between 12:00 and 13:00, from events of a few rows."""

from pyspark.sql import DataFrame, functions as F

from pipelines.changes.traffic import arrived_messages, count_conversations, count_traffic, count_unread
from pipelines.state.endpoints import SIDE
from schemas.events import MESSAGES
from schemas.ledger import ENDPOINTS
from schemas.outputs import CATALOG_HISTORY
from tests.support.drawn import Draw
from tests.support.factories import at

SINCE, AS_OF = at(0), at(60)
COUNTS = "arrived_at_least bigint, received_at_least bigint, arrived_at_most bigint"
QUEUE = {"instance": "SQL1", "database": "B", "queue": "Q", "is_initiator": False}


def test_conversations_count_once_a_database(draw: Draw) -> None:
    """Of `both` two endpoints are in SQL1.A; of `half` one has not ended."""
    endpoints = draw.rows(ENDPOINTS, instance="SQL1")("""
        conversation_id | is_initiator | database | created_at | ended_at
        new             | true         | A        | 12:30      | -
        new             | false        | B        | 12:30      | -
        at since        | true         | A        | 12:00      | -
        at as_of        | true         | A        | 13:00      | 13:00
        both            | true         | A        | 12:10      | 12:20
        both            | false        | A        | 12:11      | 12:21
        half            | true         | A        | 11:00      | 12:20
        half            | false        | A        | 11:00      | -
        later           | true         | B        | 11:00      | 13:01
        before          | true         | B        | 11:00      | 12:00
    """)
    draw.require(count_conversations(endpoints, SINCE, AS_OF))("""
        instance | database | begun bigint | gone bigint
        SQL1     | A        | 3            | 2
        SQL1     | B        | 1            | 0
    """)


def messages(draw: Draw, events: str, endpoints: str) -> DataFrame:
    """Complete views of endpoints are of 12:30, without `gone`, and 12:50; transaction `undone` is undone."""
    undone = draw("""
        instance | transaction_id | is_open boolean
        SQL1     | undone         | false
    """)
    complete = draw("""
        instance | database | taken_at timestamp
        SQL1     | B        | 11:00
        SQL1     | B        | 12:30
        SQL1     | B        | 12:50
        SQL1     | A        | 12:20
    """)
    of_messages = draw.rows(MESSAGES, instance="SQL1", database="B", sent_by_initiator=True)(events)
    of_services = {"instance": "SQL1", "database": "B", "kind": "service", "attribute": "queue"}
    bindings = draw.rows(CATALOG_HISTORY, **of_services)("""
        name  | value | valid_from | valid_to
        S     | Q     | -          | -
        Moved | Q     | -          | 12:12
        Moved | R     | 12:12      | -
    """)
    receivers = draw.rows(ENDPOINTS, **QUEUE, local_service="S")(endpoints)
    is_there = {"seen_at": at(30), "event_type": "DIALOG_CREATED"}
    shown = receivers.select(*SIDE).withColumns({name: F.lit(value) for name, value in is_there.items()})
    shown = shown.where("conversation_id != 'gone'").withColumn("state", F.lit("CO"))
    return arrived_messages(of_messages, undone, receivers, shown, complete, bindings, SINCE)


def test_what_arrives_and_is_received(draw: Draw) -> None:
    """A message that a view at 12:15 lacks was received if its endpoint is still there at 12:30.

    Not m7, whose service had another queue by then.
    """
    found = messages(
        draw,
        """
        message_id|conversation_id|event_type|event_time|transaction_id|inferred|seen_at|queuing_order
        m1        |open           |SENT      |11:00     |-             |-       |-      |-
        m1        |open           |DELIVERED |11:01     |-             |-       |-      |7
        m1        |open           |RECEIVED  |12:10     |done          |-       |-      |-
        m2        |open           |DELIVERED |12:20     |-             |-       |-      |9
        m2        |open           |RECEIVED  |12:25     |undone        |-       |-      |-
        m3        |open           |DELIVERED |12:05     |-             |-       |-      |8
        m3        |open           |RECEIVED  |12:14     |-             |true    |12:15  |-
        m4        |gone           |DELIVERED |12:06     |-             |-       |-      |-
        m4        |gone           |RECEIVED  |12:14     |-             |true    |12:15  |-
        m5        |open           |DELIVERED |12:55     |-             |-       |-      |12
        m5        |open           |RECEIVED  |12:56     |-             |true    |12:57  |-
        m6        |open           |SENT      |12:07     |-             |-       |-      |-
        m7        |moved          |DELIVERED |11:30     |-             |-       |-      |-
        m7        |moved          |RECEIVED  |12:14     |-             |true    |12:15  |-
        """,
        """
        conversation_id | created_at | ended_at | local_service
        open            | 10:00      | -        | S
        gone            | 10:00      | -        | S
        moved           | 10:00      | -        | Moved
        """,
    )
    draw.require(count_traffic(found, SINCE, AS_OF), COUNTS)("""
        instance | database | queue | arrived_at_least | received_at_least | arrived_at_most
        SQL1     | B        | Q     | 4                       | 2                        | 5
    """)


def test_the_most_is_not_known_without_an_order_at_both_moments(draw: Draw) -> None:
    found = messages(
        draw,
        """
        message_id | conversation_id | event_type | event_time | queuing_order
        m1         | open            | DELIVERED  | 11:01      | -
        m2         | open            | DELIVERED  | 12:20      | 9
        """,
        """
        conversation_id | created_at | ended_at
        open            | 10:00      | -
        """,
    )
    draw.require(count_traffic(found, SINCE, AS_OF), COUNTS)("""
        instance | database | queue | arrived_at_least | received_at_least | arrived_at_most
        SQL1     | B        | Q     | 1                       | 0                        | -
    """)


def test_unread_messages_that_are_gone_with_their_endpoint(draw: Draw) -> None:
    """Of these only `lost` and `absent` were there at 12:00, are gone, and were received by no fact."""
    found = messages(
        draw,
        """
        message_id | conversation_id | event_type | event_time | inferred | seen_at
        lost       | ended           | DELIVERED  | 11:00      | -        | -
        absent     | ended           | DELIVERED  | 11:00      | -        | -
        absent     | ended           | RECEIVED   | 12:14      | true     | 12:15
        taken      | ended           | DELIVERED  | 11:00      | -        | -
        taken      | ended           | RECEIVED   | 12:10      | -        | -
        late       | ended           | DELIVERED  | 12:05      | -        | -
        earlier    | ended           | DELIVERED  | 11:00      | -        | -
        earlier    | ended           | RECEIVED   | 11:59      | true     | 12:00
        read       | kept            | DELIVERED  | 11:00      | -        | -
        read       | kept            | RECEIVED   | 12:14      | true     | 12:15
        waits      | open            | DELIVERED  | 11:00      | -        | -
        """,
        """
        conversation_id | created_at | ended_at
        ended           | 10:00      | 12:29
        kept            | 10:00      | 12:49
        open            | 10:00      | -
        """,
    )
    draw.require(count_unread(found, SINCE, AS_OF))("""
        instance | database | unread_gone bigint
        SQL1     | B        | 2
    """)
