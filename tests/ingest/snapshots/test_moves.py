"""Moves that nobody logged: a snapshot shows an endpoint in another group than its events."""

from pyspark.sql import SparkSession, functions as F

from pipelines.ingest.snapshots.moves import moves_between_snapshots
from tests.support.frames import assert_same, frame

EVENTS = """
    conversation_id | event_type        | event_time timestamp | conversation_group_id | seen_at timestamp
    same            | DIALOG_CREATED    | 08:00                | g1                    | -
    same            | DIALOG_CREATED    | 09:00                | g1                    | 12:00
    moved           | DIALOG_CREATED    | 08:00                | g1                    | -
    moved           | DIALOG_CREATED    | 09:00                | g2                    | 12:00
    moved           | DIALOG_CREATED    | 09:00                | g1                    | 13:00
    logged          | DIALOG_CREATED    | 08:00                | g1                    | -
    logged          | MOVE_CONVERSATION | 10:00                | g3                    | -
    logged          | MOVE_CONVERSATION | 11:00                | g2                    | -
    logged          | DIALOG_CREATED    | 09:00                | g2                    | 12:00
    logged later    | DIALOG_CREATED    | 08:00                | g1                    | -
    logged later    | MOVE_CONVERSATION | 12:00                | g2                    | -
    logged later    | DIALOG_CREATED    | 09:00                | g2                    | 12:00
    shown twice     | DIALOG_CREATED    | 11:00                | g1                    | 12:00
    shown twice     | DIALOG_CREATED    | 11:00                | g2                    | 13:00
    shown once      | DIALOG_CREATED    | 11:00                | g1                    | 12:00
    ended           | DIALOG_CREATED    | 08:00                | g1                    | -
    ended           | END_CONVERSATION  | 11:00                | -                     | 12:00
"""
MOVES = """
    conversation_id | event_time timestamp | conversation_group_id | seen_at timestamp | event_type
    moved           | 11:59:59.999999      | g2                    | 12:00             | MOVE_CONVERSATION
    moved           | 12:59:59.999999      | g1                    | 13:00             | MOVE_CONVERSATION
    logged later    | 11:59:59.999999      | g2                    | 12:00             | MOVE_CONVERSATION
    shown twice     | 11:59:59.999999      | g1                    | 12:00             | MOVE_CONVERSATION
    shown twice     | 12:59:59.999999      | g2                    | 13:00             | MOVE_CONVERSATION
"""


def test_a_snapshot_shows_another_group(session: SparkSession) -> None:
    """Than the creation and the moves before it gave; then each snapshot of the endpoint says where it is."""
    constant = {"is_initiator": F.lit(False), "instance": F.lit("SQL1"), "database": F.lit("B")}
    events = frame(session, EVENTS).withColumns(constant | {"conversation_handle": F.lit("H")})
    found = moves_between_snapshots(events.withColumn("event_id", F.concat("conversation_id", "event_time")))
    expected = frame(session, MOVES)
    assert_same(found.select(*expected.columns), expected)
    ids = {row.event_id.rpartition("/")[0].rpartition("/")[2] for row in found.collect()}
    assert ids == {"moved", "logged later", "shown twice"}
    assert found.select("event_id").distinct().count() == found.where("inferred").count() == 5
