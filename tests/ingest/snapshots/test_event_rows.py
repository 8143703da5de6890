"""Rows of accepted events have all columns of their table, in its order."""

import pytest
from pyspark.sql import functions as F

from pipelines.ingest.snapshots.event_rows import event_rows, view_event_rows
from pipelines.server.snapshots.views import TASKS
from schemas.events import QUEUE_FACTS, accepted_names
from tests.support.drawn import Draw
from tests.support.frames import assert_same


def test_columns_that_are_not_named_are_null(draw: Draw) -> None:
    rows = draw("queue | row_count bigint\n Q | 3")
    found = event_rows(rows, QUEUE_FACTS, "queue", "row_count", event_id=F.lit("e"))
    expected = draw.rows(QUEUE_FACTS)("event_id | queue | row_count\n e | Q | 3")
    assert_same(found, expected.select(*accepted_names("queue_events")))


def test_a_column_that_the_table_lacks_is_a_mistake(draw: Draw) -> None:
    with pytest.raises(AssertionError):
        event_rows(draw("queue\nQ"), QUEUE_FACTS, queues=F.lit("Q"))


def test_columns_of_a_view_go_into_its_events(draw: Draw) -> None:
    """Under the event's name; a value that is given goes before, and no other column is there."""
    rows = draw("""
        spid bigint | queue_id bigint | queue | instance | database | own_instance | own_database | taken_at timestamp
        51          | 7               | Q     | SQL1     | B        | MILL1        | B            | 12:00
    """)  # noqa: E501
    found = view_event_rows(rows, TASKS, queue=F.col("queue"), instance=F.lit("given"))
    draw.require(found, QUEUE_FACTS)("""
        queue | session_id | instance | database | own_instance | seen_at | queue_status
        Q     | 51         | given    | B        | MILL1        | 12:00   | -
    """)
