"""Endpoints that only the messages of a snapshot show."""

from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.snapshots.message_endpoints import endpoints_of_messages, without_known
from pipelines.server.snapshots.places import OWN
from tests.support.drawn import Draw
from tests.support.frames import assert_same, instant

READY = """
    conversation_handle | status int | service_name | service_contract_name | priority bigint | conversation_group_id
    H1                  | 1          | Target       | Gold                  | 9               | g1
    H1                  | 1          | Target       | -                     | 9               | g1
    H2                  | 0          | Target       | Gold                  | 9               | g2
    H3                  | 1          | -            | Gold                  | 9               | g3
    H4                  | 1          | Target       | Gold                  | 11              | g4
    H5                  | 1          | Target       | Gold                  | 9               | g5
"""  # noqa: E501
WAITING = """
    conversation_handle | from_service_name | to_service_name | service_contract_name | priority bigint
    H5                  | Target            | Initiator       | Gold                  | 9
    H6                  | Initiator         | Target          | Gold                  | 1
    H7                  | Initiator         | Target          | -                     | 5
"""
ENDPOINTS = """
    conversation_id | event_type     | is_initiator boolean | conversation_group_id | contract | local_service | remote_service | logged_priority int
    H1              | DIALOG_CREATED | false                | g1                    | Gold     | Target        | ''             | 9
    H5              | DIALOG_CREATED | false                | g5                    | Gold     | Target        | Initiator      | 9
    H6              | BEGIN_DIALOG   | true                 | H6                    | Gold     | Initiator     | Target         | 1
"""  # noqa: E501


def of_view(draw: Draw, drawing: str, view: str) -> DataFrame:
    place = {"instance": F.lit("SQL1"), "database": F.lit("B"), "view": F.lit(view)}
    own = {name: F.lit(None).cast("string") for name in OWN}
    return draw(drawing).withColumns(place | own | {"taken_at": F.lit(instant("12:00"))})


def test_a_handle_stands_for_a_conversation(draw: Draw) -> None:
    """Of the target if it receives, else of the initiator; only with service, contract and level."""
    ready, waiting = of_view(draw, READY, "dbo.Q"), of_view(draw, WAITING, "transmission_queue")
    expected = draw(ENDPOINTS)
    both = endpoints_of_messages(ready, waiting)
    assert_same(both.select(*expected.columns), expected)
    assert both.where("event_id like concat('%/', conversation_id, '/endpoint')").count() == 3
    draw.require(both.select("event_time").distinct())("event_time timestamp\n 11:59:59.999999")
    alone = endpoints_of_messages(ready, None).select(*expected.columns)
    unknown = F.when(F.col("conversation_id") == "H5", "").otherwise(F.col("remote_service"))
    only_ready = expected.where("not is_initiator").withColumn("remote_service", unknown)
    assert_same(alone, only_ready)
    draw.require(endpoints_of_messages(None, waiting.where("priority = 1")))("conversation_id\n H6")


def test_endpoints_that_are_known_by_their_conversation(draw: Draw) -> None:
    """A handle means one endpoint of an instance."""
    conversations = draw("""
        event_id                    | event_type     | instance | conversation_handle | stays boolean
        snapshot/1/SQL1/H1/endpoint | DIALOG_CREATED | SQL1     | H1                  | false
        snapshot/1/SQL2/H1/endpoint | DIALOG_CREATED | SQL2     | H1                  | true
        snapshot/1/SQL1/H2/endpoint | DIALOG_CREATED | SQL1     | H2                  | true
        snapshot/1/SQL1/H1          | DIALOG_CREATED | SQL1     | H1                  | true
        e1/endpoint                 | DIALOG_CREATED | SQL1     | H1                  | true
    """)
    others = draw("""
        event_id                    | event_type       | instance | conversation_handle
        e1                          | DIALOG_CREATED   | SQL1     | H1
        e1                          | DIALOG_CREATED   | SQL1     | H1
        e2                          | END_CONVERSATION | SQL1     | H2
        snapshot/1/SQL2/H1/endpoint | DIALOG_CREATED   | SQL2     | H1
    """)
    assert_same(without_known(conversations, others), conversations.where("stays"))
