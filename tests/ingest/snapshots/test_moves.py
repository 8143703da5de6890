"""Moves that nobody logged: a snapshot shows an endpoint in another group than its events."""

from pyspark.sql import functions as F

from pipelines.ingest.snapshots.moves import moves_between_snapshots
from schemas.events import ENDPOINT_FACTS
from tests.support.drawn import Draw

EVENTS = """
    conversation_id | event_type        | event_time | conversation_group_id | seen_at timestamp
    same            | DIALOG_CREATED    | 08:00      | g1                    | -
    same            | DIALOG_CREATED    | 09:00      | g1                    | 12:00
    moved           | DIALOG_CREATED    | 08:00      | g1                    | -
    moved           | DIALOG_CREATED    | 09:00      | g2                    | 12:00
    moved           | DIALOG_CREATED    | 09:00      | g1                    | 13:00
    logged          | DIALOG_CREATED    | 08:00      | g1                    | -
    logged          | MOVE_CONVERSATION | 10:00      | g3                    | -
    logged          | MOVE_CONVERSATION | 11:00      | g2                    | -
    logged          | DIALOG_CREATED    | 09:00      | g2                    | 12:00
    logged later    | DIALOG_CREATED    | 08:00      | g1                    | -
    logged later    | MOVE_CONVERSATION | 12:00      | g2                    | -
    logged later    | DIALOG_CREATED    | 09:00      | g2                    | 12:00
    shown twice     | DIALOG_CREATED    | 11:00      | g1                    | 12:00
    shown twice     | DIALOG_CREATED    | 11:00      | g2                    | 13:00
    shown once      | DIALOG_CREATED    | 11:00      | g1                    | 12:00
    ended           | DIALOG_CREATED    | 08:00      | g1                    | -
    ended           | END_CONVERSATION  | 11:00      | -                     | 12:00
"""
MOVES = """
    conversation_id | event_time      | conversation_group_id | seen_at | event_type
    moved           | 11:59:59.999999 | g2                    | 12:00   | MOVE_CONVERSATION
    moved           | 12:59:59.999999 | g1                    | 13:00   | MOVE_CONVERSATION
    logged later    | 11:59:59.999999 | g2                    | 12:00   | MOVE_CONVERSATION
    shown twice     | 11:59:59.999999 | g1                    | 12:00   | MOVE_CONVERSATION
    shown twice     | 12:59:59.999999 | g2                    | 13:00   | MOVE_CONVERSATION
"""


def test_a_snapshot_shows_another_group(draw: Draw) -> None:
    """Than the creation and the moves before it gave; then each snapshot of the endpoint says where it is."""
    side = {"is_initiator": False, "instance": "SQL1", "database": "B", "conversation_handle": "H"}
    events = draw.rows(ENDPOINT_FACTS, **side)(EVENTS)
    found = moves_between_snapshots(events.withColumn("event_id", F.concat("conversation_id", "event_time")))
    draw.require(found, ENDPOINT_FACTS)(MOVES)
    has_id = found.where("inferred and event_id like concat('moved/%/', conversation_id, '/false')")
    assert has_id.select("event_id").distinct().count() == 5
