"""What a database shows of its own endpoints wins over the far side's state, and over a log's end."""

from pyspark.sql import SparkSession, functions as F

from pipelines.ingest.snapshots.contradictions import overrule_ends
from tests.support.frames import assert_same, frame

OWN_ROWS = """
    conversation_id | event_type     | event_time timestamp | seen_at timestamp | state | conversation_handle
    same moment     | DIALOG_CREATED | 08:00                | 12:00             | CO    | H
    later           | DIALOG_CREATED | 08:00                | 11:00             | SO    | H
    later           | DIALOG_CREATED | 08:00                | 13:00             | ER    | H
    before          | DIALOG_CREATED | 08:00                | 11:00             | CO    | H
    also ended      | DIALOG_CREATED | 08:00                | 13:00             | DO    | H
    also far ended  | DIALOG_CREATED | 08:00                | 13:00             | DI    | H
    not said        | DIALOG_CREATED | 08:00                | 13:00             | -     | H
    log, a minute   | DIALOG_CREATED | 08:00                | 12:01             | CO    | H
    log, longer     | DIALOG_CREATED | 08:00                | 12:01:00.000001   | SI    | H
    restored        | DIALOG_CREATED | 08:00                | 13:00             | CO    | H
    said again      | DIALOG_CREATED | 08:00                | 12:30             | CO    | H
"""
ENDS = """
    conversation_id | event_type                  | event_time timestamp | seen_at timestamp | handle | wins
    same moment     | END_CONVERSATION            | 11:59:59.999999      | 12:00             | -      | yes
    later           | END_CONVERSATION            | 11:59:59.999999      | 12:00             | -      | yes
    before          | END_CONVERSATION            | 11:59:59.999999      | 12:00             | -      | -
    also ended      | END_CONVERSATION            | 11:59:59.999999      | 12:00             | -      | -
    also far ended  | END_CONVERSATION            | 11:59:59.999999      | 12:00             | -      | -
    not said        | END_CONVERSATION            | 11:59:59.999999      | 12:00             | -      | -
    log, a minute   | END_CONVERSATION_WITH_ERROR | 12:00                | -                 | H      | -
    log, longer     | END_CONVERSATION_WITH_ERROR | 12:00                | -                 | H      | yes
    restored        | END_CONVERSATION            | 11:59:59.999999      | 12:00             | H      | yes
    restored        | END_CONVERSATION            | 13:29:59.999999      | 13:30             | H      | -
    said again      | END_CONVERSATION            | 11:59:59.999999      | 12:00             | -      | yes
    said again      | END_CONVERSATION            | 12:59:59.999999      | 13:00             | -      | yes
"""


def test_ends_that_the_own_database_contradicts(session: SparkSession) -> None:
    """Judged again, with what the first judgement left, the ends are the same."""
    sides = {"is_initiator": F.lit(False), "inferred": F.lit(None).cast("boolean")}
    own = frame(session, OWN_ROWS).withColumns(sides)
    drawn = frame(session, ENDS).withColumns(sides).withColumn("state", F.lit(None).cast("string"))
    ends = drawn.withColumnRenamed("handle", "conversation_handle").drop("wins")
    judged = overrule_ends(own.unionByName(ends), lambda rows: rows)
    expected = drawn.select(
        "conversation_id",
        F.concat(F.when(F.col("wins") == "yes", "OVERRULED_").otherwise(""), "event_type").alias(
            "event_type"
        ),
    )
    for found in (judged, overrule_ends(judged, lambda rows: rows)):
        of_ends = found.where("event_type <> 'DIALOG_CREATED'")
        assert_same(of_ends.select("conversation_id", "event_type"), expected)
        assert_same(found.where("event_type = 'DIALOG_CREATED'").select(*own.columns), own)
