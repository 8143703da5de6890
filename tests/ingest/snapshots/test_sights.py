"""A message that several snapshots in a row show is stored once."""

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.ingest.snapshots.sights import store_once, with_neighbors
from schemas.events import MESSAGES
from tests.support.drawn import Draw

SEEN = """
    message_id | seen_at | shown_queue | transmission_status | database
    always     | 12:00   | Q           | -                   | B
    always     | 12:01   | Q           | -                   | B
    always     | 12:02   | Q           | -                   | B
    always     | 12:03   | Q           | -                   | B
    always     | 12:04   | Q           | -                   | B
    missed     | 12:00   | Q           | -                   | B
    missed     | 12:01   | Q           | -                   | B
    missed     | 12:03   | Q           | -                   | B
    missed     | 12:04   | Q           | -                   | B
    changes    | 12:01   | Q           | refused             | B
    changes    | 12:02   | Q           | timeout             | B
    changes    | 12:03   | Q           | timeout             | B
    changes    | 12:04   | Q           | refused             | B
    moves      | 12:02   | Q           | -                   | B
    moves      | 12:03   | R           | -                   | B
"""
STORED = """
    message_id | seen_at timestamp | shown_until timestamp | shown_queue | transmission_status
    always     | 12:00             | 12:04                 | Q           | -
    missed     | 12:00             | 12:01                 | Q           | -
    missed     | 12:03             | 12:04                 | Q           | -
    changes    | 12:01             | -                     | Q           | refused
    changes    | 12:02             | 12:03                 | Q           | timeout
    changes    | 12:04             | -                     | Q           | refused
    moves      | 12:02             | -                     | Q           | -
    moves      | 12:03             | -                     | R           | -
    logged     | -                 | -                     | -           | -
"""


BATCHES = [
    [[0, 1, 2, 3, 4]],
    [[0], [1], [2], [3], [4]],
    [[0, 2], [1, 4], [3]],
    [[0, 1, 4], [2, 3]],
    [[1, 3], [0, 2, 4]],
    [[0, 4], [2], [1, 3]],
    [[4], [3], [2], [1], [0]],
]


@pytest.mark.parametrize("batches", BATCHES)
def test_snapshots_in_a_row_are_one_row(session: SparkSession, batches: list[list[int]]) -> None:
    """Whatever the batches: a snapshot that comes last joins the rows of those around it, or splits one."""
    draw = Draw(session)
    seen = draw.rows(MESSAGES, event_type="DELIVERED", instance="SQL1", conversation_id="c")(SEEN)
    event_id = F.concat_ws("/", F.lit("snapshot"), F.unix_micros("seen_at"), "message_id")
    seen = seen.withColumn("event_id", event_id)
    stored = draw.rows(MESSAGES, event_type="DELIVERED", instance="SQL1", batch=0)("message_id\n logged")
    moments = seen.select(
        "instance", "database", F.explode(F.array(F.lit("Q"), F.lit("R"))).alias("place"), "seen_at"
    ).distinct()
    for number, minutes in enumerate(batches, 1):
        until = [minute for each in batches[:number] for minute in each]
        taken = with_neighbors(moments.where(F.minute("seen_at").isin(until)))
        rows = seen.where(F.minute("seen_at").isin(minutes))
        rows = rows.withColumn("batch", F.lit(number).cast("bigint"))
        views = taken.where(F.minute("seen_at").isin(minutes))
        stored = draw.keep(store_once(stored.unionByName(rows), views, number))
    draw.require(stored)(STORED)
