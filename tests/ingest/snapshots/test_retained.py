"""Rows that RETENTION keeps in queues: which say something new, and since when it can have happened."""

from pyspark.sql import SparkSession, functions as F

from pipelines.ingest.snapshots.retained import place_retained
from schemas.events import MESSAGES
from tests.support.drawn import Draw

# Views of dbo.Q at 12:00, 13:00 and 14:00.
#                12:00     13:00     14:00
# received       received  received
# ready before   ready     received
# came between             received
# ready again              received  ready
# logged after                       received, logged 12:30
# logged then              received, logged 13:30
# sent           sent      sent
EVENTS = """
    message_id   | event_type | event_time | seen_at | shown_until | inferred | event_id
    received     | RECEIVED   | 11:59      | 12:00   | -           | true     | 12/r
    received     | RECEIVED   | 12:59      | 13:00   | -           | true     | 13/r
    ready before | DELIVERED  | 11:30      | 12:00   | 12:15       | -        | 12/b
    ready before | RECEIVED   | 12:59      | 13:00   | -           | true     | 13/b
    came between | RECEIVED   | 12:59      | 13:00   | -           | true     | 13/c
    ready again  | RECEIVED   | 12:59      | 13:00   | -           | true     | 13/a
    ready again  | DELIVERED  | 11:30      | 14:00   | -           | -        | 14/a
    logged after | RECEIVED   | 13:59      | 14:00   | -           | true     | 14/l
    logged after | RECEIVED   | 12:30      | -       | -           | -        | log 1
    logged then  | RECEIVED   | 12:59      | 13:00   | -           | true     | 13/t
    logged then  | RECEIVED   | 13:30      | -       | -           | -        | log 2
    sent         | SENT       | 11:59      | 12:00   | -           | true     | 12/s
    sent         | SENT       | 12:59      | 13:00   | -           | true     | 13/s
    logged       | DELIVERED  | 11:00      | -       | -           | -        | log 3
"""
PLACED = """
    message_id   | event_type | event_time | not_before timestamp | inferred
    received     | RECEIVED   | 11:59      | -                    | true
    ready before | DELIVERED  | 11:30      | -                    | -
    ready before | RECEIVED   | 12:59      | 12:15                | true
    came between | RECEIVED   | 12:59      | 12:00                | true
    ready again  | DELIVERED  | 11:30      | -                    | -
    logged after | RECEIVED   | 12:30      | -                    | -
    logged then  | RECEIVED   | 12:59      | 12:00                | true
    logged then  | RECEIVED   | 13:30      | -                    | -
    sent         | SENT       | 11:59      | -                    | true
    logged       | DELIVERED  | 11:00      | -                    | -
"""
VIEWS = """
    instance | database | view               | taken_at timestamp | queue
    SQL1     | B        | dbo.Q              | 12:00              | Q
    SQL1     | B        | dbo.Q              | 13:00              | Q
    SQL1     | B        | dbo.Q              | 14:00              | Q
    SQL1     | B        | dbo.P              | 12:45              | P
    SQL1     | B        | transmission_queue | 12:45              | -
    SQL1     | C        | dbo.Q              | 12:45              | Q
"""


def test_what_is_received_and_sent_has_the_bounds_that_views_give(session: SparkSession) -> None:
    """After the last view in which it stands ready, and after the last complete view of its queue."""
    draw = Draw(session)
    events = draw.rows(MESSAGES, instance="SQL1", database="B")(EVENTS)
    place = [F.unix_micros("seen_at").cast("string"), F.lit("SQL1/B/dbo.Q"), F.col("event_id")]
    id_of_row = F.concat_ws("/", F.lit("snapshot"), *place)
    is_seen = F.col("seen_at").isNotNull()
    events = events.withColumn("event_id", F.when(is_seen, id_of_row).otherwise(F.col("event_id")))
    found = place_retained(events, events.where("inferred and seen_at is not null"), draw(VIEWS))
    draw.require(found, MESSAGES)(PLACED)
