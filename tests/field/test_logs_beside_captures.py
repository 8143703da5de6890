"""A trace beside captures: they name its ids, give its conversations names, and show the server's clock."""

from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.field.test_logs import trace
from tests.support.capture_project import CaptureProject
from tests.support.captures import Captured, capture_lines
from tests.support.factories import NOON
from tests.support.snapshot_views import conversation, shown, views

SERVER = {"ServerName": "sql1", "DatabaseID": 9}
BEGIN = {"EventClass": 124, "EventSubClass": 11, "RoleName": "initiator"}
LOG = [
    SERVER | BEGIN | {"StartTime": f"{NOON:%Y-%m-%d} 12:30:00", "GUID": conversation(1)},
    # No capture shows this one.
    SERVER | BEGIN | {"StartTime": f"{NOON:%Y-%m-%d} 12:31:00", "GUID": conversation(5)},
    SERVER
    | {"EventClass": 163, "EventSubClass": 1, "StartTime": f"{NOON:%Y-%m-%d} 12:32:00", "ObjectID": 12},
]
"""Rows between 11:30 and 11:32 UTC, as the server's clock is an hour ahead."""


def capture(hours: int, offset: int) -> list[str]:
    """A capture some hours after noon, with the server's offset."""
    given = views(conversation_endpoints=[shown(1, side) for side in (True, False)])
    own = {"name": "B", "is_honor_broker_priority_on": True, "database_id": 9}
    return capture_lines(
        {"B": Captured({**given, "databases": [own]})},
        taken_at=NOON + timedelta(hours=hours),
        id=f"{hours}",
        utc_offset_minutes=offset,
    )


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    log = {"name": "trace", "path": "trace", "format": "csv", "mapping": "sql-trace"}
    project = CaptureProject(tmp_path_factory.mktemp("trace") / "project", inputs={"logs": [log]})
    (project.folder / "trace").mkdir()
    (project.folder / "trace" / "1.csv").write_text(trace(*LOG))
    project.add(capture(0, 60), "12.jsonl")
    project.run()
    return project


def test_captures_name_what_a_trace_says_by_number(project: CaptureProject) -> None:
    [task] = [row for row in project.table("queue_events") if row["event_type"] == "TASK_STARTED"]
    names = (task["instance"], task["database"], task["queue"], task["event_time"].isoformat()[11:16])
    assert names == ("SQL1", "B", "TargetQueue", "11:32")


def test_a_beginning_has_the_names_that_a_capture_shows(project: CaptureProject) -> None:
    [begin] = [
        row
        for row in project.table("endpoint_events")
        if row["event_type"] == "BEGIN_DIALOG" and row["seen_at"] is None
    ]
    assert (begin["conversation_id"], begin["event_time"].isoformat()[11:16]) == (conversation(1), "11:30")
    assert begin["remote_service"] == "TargetService"
    assert begin["conversation_group_id"] is not None
    [row] = [row for row in project.table("batches") if row["source"] == "logs/trace"]
    counts: dict[str, Any] = dict(row["counts"])
    assert (row["events"], counts) == (2, {"incomplete_124_11": 1})


def test_a_time_between_captures_with_two_offsets_needs_a_zone(project: CaptureProject) -> None:
    project.add(capture(6, 0), "18.jsonl")
    late = SERVER | {"EventClass": 163, "EventSubClass": 1, "ObjectID": 12}
    (project.folder / "trace" / "2.csv").write_text(trace(late | {"StartTime": f"{NOON:%Y-%m-%d} 15:00:00"}))
    found = project.nightly((NOON + timedelta(hours=7)).isoformat())
    assert found.code == 2
    assert "inputs.logs/trace: captures do not show the offset of SQL1 at" in found.err
    assert "add zone: Europe/Berlin" in found.err
