"""What a database shows of its own endpoints wins over the far side's state, and over a log's end."""

from pyspark.sql import functions as F

from pipelines.ingest.snapshots.contradictions import overrule_ends
from schemas.events import ENDPOINT_FACTS
from tests.support.drawn import Draw
from tests.support.frames import assert_same

OWN_ROWS = """
    conversation_id | event_type     | event_time | seen_at         | state | conversation_handle
    same moment     | DIALOG_CREATED | 08:00      | 12:00           | CO    | H
    later           | DIALOG_CREATED | 08:00      | 11:00           | SO    | H
    later           | DIALOG_CREATED | 08:00      | 13:00           | ER    | H
    before          | DIALOG_CREATED | 08:00      | 11:00           | CO    | H
    also ended      | DIALOG_CREATED | 08:00      | 13:00           | DO    | H
    also far ended  | DIALOG_CREATED | 08:00      | 13:00           | DI    | H
    not said        | DIALOG_CREATED | 08:00      | 13:00           | -     | H
    log, a minute   | DIALOG_CREATED | 08:00      | 12:01           | CO    | H
    log, longer     | DIALOG_CREATED | 08:00      | 12:01:00.000001 | SI    | H
    restored        | DIALOG_CREATED | 08:00      | 13:00           | CO    | H
    restored, DI    | DIALOG_CREATED | 08:00      | 13:00           | DI    | H
    log, then DI    | DIALOG_CREATED | 08:00      | 13:00           | DI    | H
    said again      | DIALOG_CREATED | 08:00      | 12:30           | CO    | H
"""
ENDS = """
    conversation_id | event_type                  | event_time      | seen_at | conversation_handle | wins
    same moment     | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | yes
    later           | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | yes
    before          | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    also ended      | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    also far ended  | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    not said        | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | -
    log, a minute   | END_CONVERSATION_WITH_ERROR | 12:00           | -       | H                   | -
    log, longer     | END_CONVERSATION_WITH_ERROR | 12:00           | -       | H                   | yes
    restored        | END_CONVERSATION            | 11:59:59.999999 | 12:00   | H                   | yes
    restored        | END_CONVERSATION            | 13:29:59.999999 | 13:30   | H                   | -
    restored, DI    | END_CONVERSATION            | 11:59:59.999999 | 12:00   | H                   | yes
    log, then DI    | END_CONVERSATION            | 12:00           | -       | H                   | -
    said again      | END_CONVERSATION            | 11:59:59.999999 | 12:00   | -                   | yes
    said again      | END_CONVERSATION            | 12:59:59.999999 | 13:00   | -                   | yes
"""


def test_ends_that_the_own_database_contradicts(draw: Draw) -> None:
    """Judged again, with what the first judgement left, the ends are the same."""
    own = draw.rows(ENDPOINT_FACTS, is_initiator=False)(OWN_ROWS)
    drawn = draw.rows(ENDPOINT_FACTS, is_initiator=False)(ENDS)
    judged = overrule_ends(draw.keep(own.unionByName(drawn.drop("wins"))), draw.keep)
    wins = F.when(F.col("wins") == "yes", "OVERRULED_").otherwise("")
    expected = drawn.withColumn("event_type", F.concat(wins, "event_type")).drop("wins")
    for found in (judged, overrule_ends(draw.keep(judged), draw.keep)):
        assert_same(found, own.unionByName(expected).select(*found.columns))
