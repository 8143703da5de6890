"""Rows of accepted events have all columns of their table, in its order."""

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.config.snapshots.views import TASKS
from pipelines.ingest.snapshots.event_rows import event_rows, view_event_rows
from schemas.events import QUEUE_FACTS, accepted_names
from tests.support.frames import assert_same, frame


def test_columns_that_are_not_named_are_null(session: SparkSession) -> None:
    rows = frame(session, "queue | row_count bigint\nQ | 3")
    found = event_rows(rows, QUEUE_FACTS, "queue", "row_count", event_id=F.lit("e"))
    assert found.columns == accepted_names("queue_events")
    assert {(field.name, field.dataType) for field in found.schema} <= {
        (field.name, field.dataType) for field in QUEUE_FACTS.struct
    }
    [row] = found.collect()
    assert {name: value for name, value in row.asDict().items() if value is not None} == {
        "event_id": "e",
        "queue": "Q",
        "row_count": 3,
    }


def test_a_column_that_the_table_lacks_is_a_mistake(session: SparkSession) -> None:
    with pytest.raises(AssertionError):
        event_rows(frame(session, "queue\nQ"), QUEUE_FACTS, queues=F.lit("Q"))


def test_columns_of_a_view_go_into_its_events(session: SparkSession) -> None:
    """Under the event's name; a value that is given goes before, and no other column is there."""
    drawing = "spid bigint | queue_id bigint | queue | instance | database | taken_at timestamp"
    shown = frame(session, f"{drawing}\n51 | 7 | Q | SQL1 | B | 12:00\n52 | 7 | Q | SQL1 | B | 12:00")
    rows = shown.withColumns({"own_instance": F.lit("MILL1"), "own_database": F.lit("B")})
    expected = """
        queue | session_id bigint | instance | database | own_instance | seen_at timestamp | queue_status
        Q     | 51                | given    | B        | MILL1        | 12:00             | -
        Q     | 52                | given    | B        | MILL1        | 12:00             | -
    """
    found = view_event_rows(rows, TASKS, queue=F.col("queue"), instance=F.lit("given"))
    assert_same(found.select(*frame(session, expected).columns), frame(session, expected))
