"""Whose the messages of a snapshot are, and the ids that events know them by."""

from pyspark.sql import functions as F

from pipelines.ingest.snapshots.identity import (
    Rows,
    name_messages,
    name_messages_by_views,
    own_id,
    place_in_conversation,
    with_handles,
)
from schemas.events import ENDPOINT_FACTS, MESSAGES
from tests.support.drawn import Draw
from tests.support.frames import assert_same
from tests.support.harness import same

TIMER = "/ServiceBroker/DialogTimer"
SEEN = """
    database | conversation_handle | event_type | message_sequence_number | message_type | queuing_order | conversation_id | sent_by_initiator | message_id
    B        | H1                  | DELIVERED  | 0                       | Order        | 7             | c1              | true              | m0
    B        | H1                  | SENT       | 1                       | Order        | -             | c1              | false             | c1/target/1
    B        | H2                  | DELIVERED  | -                       | Bill         | 8             | c2              | false             | m3
    B        | H9                  | DELIVERED  | 2                       | Order        | 9             | H9/unknown      | true              | H9/unknown/2
    C        | H1                  | DELIVERED  | 3                       | Order        | 7             | c0              | false             | c0/target/3
"""  # noqa: E501
"""Messages as a view shows them, and what is found of them: conversation, side and id."""


def rows(draw: Draw, creations: str = "DIALOG_CREATED") -> Rows:
    """Messages of SQL1 as a view shows them, and endpoints."""
    unknown = F.concat("conversation_handle", F.lit("/unknown"))
    seen = draw.rows(MESSAGES, instance="SQL1")(SEEN).withColumn("sent_by_initiator", F.lit(True))
    endpoints = draw.rows(ENDPOINT_FACTS, event_type=creations)("""
        instance | database | conversation_handle | conversation_id | is_initiator
        SQL1     | B        | H1                  | c1              | false
        SQL1     | A        | H1                  | c0              | true
        SQL1     | A        | H2                  | c2              | true
        SQL2     | B        | H9                  | c9              | true
        SQL1     | B        | -                   | c8              | false
    """)
    return Rows(seen.withColumns({"conversation_id": unknown, "message_id": unknown}), endpoints)


def test_a_handle_says_whose_a_message_is(draw: Draw) -> None:
    """The endpoint of the view's database first, then one of the instance; a receiver's far side sent it."""
    seen = rows(draw)
    found = with_handles(seen.messages, seen.conversations)
    expected = draw(SEEN, MESSAGES).drop("message_id")
    assert_same(found.select(*expected.columns), expected)
    assert found.columns == seen.messages.columns


def test_a_message_that_events_know_has_their_id(draw: Draw) -> None:
    """By conversation, direction and number, or type and queuing_order; the least of several ids."""
    number = "message_sequence_number"
    logged = draw.rows(MESSAGES)(f"""
        message_id | conversation_id | sent_by_initiator | {number} | message_type | queuing_order
        m1         | c1              | true              | 0        | Order        | -
        m0         | c1              | true              | 0        | Order        | -
        m2         | c1              | true              | 1        | Order        | -
        m3         | c2              | false             | -        | Bill         | 8
        m4         | c0              | false             | 4        | Order        | -
    """)
    seen = rows(draw)
    nobody = seen.conversations.limit(0)
    draw.require(name_messages(seen, Rows(logged, nobody), same), MESSAGES)(SEEN)
    by_log = name_messages(Rows(seen.messages, nobody), Rows(logged, seen.conversations), same)
    draw.require(by_log, MESSAGES)(SEEN)


def test_messages_of_first_snapshots(draw: Draw) -> None:
    """No events know ids; two endpoints with one handle give a message one conversation."""
    seen = rows(draw)
    own = SEEN.replace("| m0", "| c1/initiator/0").replace("| m3", "| c2/target/Bill/8")
    for are_of_one_moment in (True, False):
        found = name_messages_by_views(seen, same, are_of_one_moment=are_of_one_moment)
        draw.require(found, MESSAGES)(own)
    one_each = Rows(seen.messages.where("database = 'B'"), seen.conversations.where("database <> 'A'"))
    found = name_messages_by_views(one_each, same, are_of_one_moment=True)
    draw.require(found)("message_id\n H2/unknown/Bill/8\n H9/unknown/2\n c1/initiator/0\n c1/target/1")
    found = name_messages_by_views(rows(draw, "END_CONVERSATION"), same, are_of_one_moment=True)
    assert found.where("conversation_id not like '%/unknown'").isEmpty()


def test_the_place_of_a_message_and_an_id_of_its_own(draw: Draw) -> None:
    drawn = draw.columns(MESSAGES)(f"""
        conversation_id | sent_by_initiator | message_sequence_number | message_type | queuing_order | place     | id
        c1              | true              | 4                       | Order        | 7             | 4         | c1/initiator/4
        c1              | false             | -                       | Order        | 7             | Order/7   | c1/target/Order/7
        c1              | true              | -                       | Order        | -             | Order/    | c1/initiator/Order/
        c1              | true              | 0                       | {TIMER}      | 7             | {TIMER}/7 | c1/initiator/{TIMER}/7
        H1/unknown      | true              | 4                       | Order        | 7             | 4         | H1/unknown/4
    """)  # noqa: E501
    assert_same(drawn.withColumns({"place": place_in_conversation(), "id": own_id()}), drawn)
