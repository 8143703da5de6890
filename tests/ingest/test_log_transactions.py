"""How the transactions ended in which a log has rows."""

from pyspark.sql import functions as F

from pipelines.ingest.log_transactions import with_outcomes
from pipelines.storage.inputs.mapped_rows import SourceMapping
from tests.support.drawn import Draw

ROWS = """
    event_id     | event_time timestamp | instance | transaction | sequence | pending_reason | payload
    committed    | 12:00                | SQL1     | t1          | 5        | -              | -
    rolled back  | 12:00                | SQL1     | t2          | 5        | -              | -
    used again   | 12:00                | SQL1     | t3          | 5        | -              | -
    by sequence  | 12:00                | SQL1     | t4          | 5        | -              | -
    over before  | 12:00                | SQL1     | t5          | 5        | -              | -
    restarted    | 12:00                | SQL1     | t6          | 5        | -              | -
    lost         | 12:00                | SQL1     | t7          | 5        | -              | -
    elsewhere    | 12:00                | SQL2     | t1          | 5        | -              | -
    waits anyway | 12:00                | SQL1     | t1          | 5        | handle_unknown | -
    alone        | 12:00                | SQL1     | -           | -        | -              | -
"""
ENDS = """
    instance | transaction | ended_at timestamp | ended_sequence bigint | is_rollback boolean
    SQL1     | t1          | 12:00              | -                     | false
    SQL1     | t2          | 12:01              | -                     | true
    SQL1     | t3          | 11:59              | -                     | false
    SQL1     | t3          | 12:01              | -                     | true
    SQL1     | t3          | 12:02              | -                     | false
    SQL1     | t4          | 11:59              | 6                     | true
    SQL1     | t5          | 11:59              | 5                     | true
    SQL1     | t6          | 10:59              | 90                    | true
    SQL1     | t6          | 12:01              | 6                     | false
    SQL1     | t7          | 12:01              | 4                     | false
"""


def test_the_first_end_after_a_row_is_that_of_its_transaction(draw: Draw) -> None:
    """A row whose transaction shows no end waits, and is kept as it was written.

    A restarted server begins to number its rows and transactions again.
    """
    mapping = SourceMapping("logs/trace", {}, table="message_events")
    rows = draw(ROWS)
    found = with_outcomes(rows, draw(ENDS), mapping)
    is_kept = F.isnotnull("payload").alias("is_kept")
    draw.require(found.select("event_id", "is_rolled_back", "pending_reason", is_kept))("""
        event_id     | is_rolled_back boolean | pending_reason | is_kept boolean
        committed    | false                  | -              | false
        rolled back  | true                   | -              | false
        used again   | true                   | -              | false
        by sequence  | true                   | -              | false
        over before  | false                  | no_outcome     | true
        restarted    | false                  | -              | false
        lost         | false                  | no_outcome     | true
        elsewhere    | false                  | no_outcome     | true
        waits anyway | false                  | handle_unknown | false
        alone        | false                  | -              | false
    """)
    nothing_ended = with_outcomes(rows, None, mapping)
    assert nothing_ended.where("is_rolled_back").isEmpty()
    draw.require(nothing_ended.where("pending_reason is null"))("event_id\n alone")
