"""Whose the messages of a snapshot are, and the ids that events know them by."""

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.ingest.snapshots.identity import (
    Rows,
    name_messages,
    name_messages_by_views,
    own_id,
    place_in_conversation,
    with_handles,
)
from tests.support.frames import assert_same, frame
from tests.support.harness import same

TIMER = "http://schemas.microsoft.com/SQL/ServiceBroker/DialogTimer"
MESSAGES = """
    database | conversation_handle | event_type | message_sequence_number bigint | message_type | queuing_order bigint
    B        | H1                  | DELIVERED  | 0                              | Order        | 7
    B        | H1                  | SENT       | 1                              | Order        | -
    B        | H2                  | DELIVERED  | -                              | Bill         | 8
    B        | H9                  | DELIVERED  | 2                              | Order        | 9
    C        | H1                  | DELIVERED  | 3                              | Order        | 7
"""  # noqa: E501
ENDPOINTS = """
    instance | database | conversation_handle | conversation_id | is_initiator boolean
    SQL1     | B        | H1                  | c1              | false
    SQL1     | A        | H1                  | c0              | true
    SQL1     | A        | H2                  | c2              | true
    SQL2     | B        | H9                  | c9              | true
    SQL1     | B        | -                   | c8              | false
"""
FOUND = """
    database | conversation_handle | event_type | conversation_id | sent_by_initiator boolean
    B        | H1                  | DELIVERED  | c1              | true
    B        | H1                  | SENT       | c1              | false
    B        | H2                  | DELIVERED  | c2              | false
    B        | H9                  | DELIVERED  | H9/unknown      | true
    C        | H1                  | DELIVERED  | c0              | false
"""


def messages(session: SparkSession) -> DataFrame:
    """Messages of SQL1 as a view shows them."""
    unknown = F.concat("conversation_handle", F.lit("/unknown"))
    columns = {"instance": F.lit("SQL1"), "conversation_id": unknown, "message_id": unknown}
    return frame(session, MESSAGES).withColumns(columns | {"sent_by_initiator": F.lit(True)})


def test_a_handle_says_whose_a_message_is(session: SparkSession) -> None:
    """The endpoint of the view's database first, then one of the instance; a receiver's far side sent it."""
    found = with_handles(messages(session), frame(session, ENDPOINTS))
    expected = frame(session, FOUND)
    assert_same(found.select(*expected.columns), expected)
    assert found.columns == messages(session).columns


def rows(session: SparkSession, events: DataFrame, *, creations: str) -> Rows:
    kind = F.lit(creations)
    return Rows(events, frame(session, ENDPOINTS).withColumn("event_type", kind))


LOGGED = """
    message_id | conversation_id | sent_by_initiator boolean | message_sequence_number bigint | message_type | queuing_order bigint
    m1         | c1              | true                      | 0                              | Order        | -
    m0         | c1              | true                      | 0                              | Order        | -
    m2         | c1              | true                      | 1                              | Order        | -
    m3         | c2              | false                     | -                              | Bill         | 8
    m4         | c0              | false                     | 4                              | Order        | -
"""  # noqa: E501
NAMED = """
    database | conversation_handle | event_type | message_id
    B        | H1                  | DELIVERED  | m0
    B        | H1                  | SENT       | c1/target/1
    B        | H2                  | DELIVERED  | m3
    B        | H9                  | DELIVERED  | H9/unknown/2
    C        | H1                  | DELIVERED  | c0/target/3
"""


def test_a_message_that_events_know_has_their_id(session: SparkSession) -> None:
    """By conversation, direction and number, or type and queuing_order; the least of several ids."""
    seen = rows(session, messages(session), creations="DIALOG_CREATED")
    logged = Rows(frame(session, LOGGED), seen.conversations.limit(0))
    found = name_messages(seen, logged)
    expected = frame(session, NAMED)
    assert_same(found.select(*expected.columns), expected)
    by_log = Rows(messages(session), seen.conversations.limit(0))
    known = name_messages(by_log, Rows(frame(session, LOGGED), seen.conversations))
    assert_same(known.select(*expected.columns), expected)


def test_messages_of_first_snapshots(session: SparkSession) -> None:
    """No events know ids; two endpoints with one handle give a message one conversation."""
    seen = rows(session, messages(session), creations="DIALOG_CREATED")
    own = frame(session, NAMED.replace("| m0", "| c1/initiator/0").replace("| m3", "| c2/target/Bill/8"))
    for are_of_one_moment in (True, False):
        found = name_messages_by_views(seen, same, are_of_one_moment=are_of_one_moment)
        assert_same(found.select(*own.columns), own)
    one_each = Rows(messages(session).where("database = 'B'"), seen.conversations.where("database <> 'A'"))
    found = name_messages_by_views(one_each, same, are_of_one_moment=True)
    assert sorted(row.message_id for row in found.collect()) == [
        "H2/unknown/Bill/8",
        "H9/unknown/2",
        "c1/initiator/0",
        "c1/target/1",
    ]
    ends = rows(session, messages(session), creations="END_CONVERSATION")
    found = name_messages_by_views(ends, same, are_of_one_moment=True)
    assert {row.conversation_id for row in found.collect()} == {
        "H1/unknown",
        "H2/unknown",
        "H9/unknown",
    }


def test_the_place_of_a_message_and_an_id_of_its_own(session: SparkSession) -> None:
    drawn = frame(
        session,
        f"""
        conversation_id | sent_by_initiator boolean | message_sequence_number bigint | message_type | queuing_order bigint | place | id
        c1              | true                      | 4                              | Order        | 7                    | 4     | c1/initiator/4
        c1              | false                     | -                              | Order        | 7                    | Order/7 | c1/target/Order/7
        c1              | true                      | -                              | Order        | -                    | Order/ | c1/initiator/Order/
        c1              | true                      | 0                              | {TIMER}      | 7                    | {TIMER}/7 | c1/initiator/{TIMER}/7
        H1/unknown      | true                      | 4                              | Order        | 7                    | 4     | H1/unknown/4
        """,  # noqa: E501
    )
    found = drawn.withColumns({"place": place_in_conversation(), "id": own_id()})
    assert_same(found, drawn)
