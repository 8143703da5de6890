"""Logs beside captures: these name what a trace numbers, and a DDL log tells what held between two."""

import json
from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from tests.field.test_logs import trace
from tests.support.capture_project import CaptureProject
from tests.support.captures import Captured, capture_lines
from tests.support.factories import NOON
from tests.support.snapshot_views import conversation, ready, shown, views

pytestmark = [pytest.mark.slow, pytest.mark.long]

QUEUES = ("InitiatorQueue", "TargetQueue", "NewQueue")
SERVER = {"ServerName": "sql1", "DatabaseID": 9}
BEGIN = SERVER | {"EventClass": 124, "EventSubClass": 11, "RoleName": "initiator"}
STARTED = SERVER | {"EventClass": 163, "EventSubClass": 1, "ObjectID": 12}
TRACE = [
    BEGIN | {"StartTime": f"{NOON:%Y-%m-%d} 12:30:00", "GUID": conversation(1)},
    # No capture shows this one.
    BEGIN | {"StartTime": f"{NOON:%Y-%m-%d} 12:31:00", "GUID": conversation(5)},
    STARTED | {"StartTime": f"{NOON:%Y-%m-%d} 12:32:00"},
]
"""Rows between 11:30 and 11:32 UTC, as the server's clock is an hour ahead."""
DDL = [
    (20, "ALTER QUEUE dbo.TargetQueue WITH STATUS = OFF"),
    (30, "ALTER SERVICE TargetService ON QUEUE dbo.NewQueue"),
    (50, "ALTER QUEUE dbo.TargetQueue WITH STATUS = ON"),
]
"""Statements at minutes after noon, UTC."""


def minute(number: int) -> datetime:
    return NOON + timedelta(minutes=number)


def capture(taken_at: datetime, *, queue: str = "NewQueue", offset: int = 60) -> list[str]:
    """The target's service is bound to `queue`, where its message waits: ALTER SERVICE moves messages."""
    switches = {"is_receive_enabled": True, "is_enqueue_enabled": True, "is_activation_enabled": False}
    given = views(
        databases=[{"name": "B", "is_honor_broker_priority_on": True, "database_id": 9}],
        conversation_endpoints=[shown(1, side) for side in (True, False)],
        service_queues=[
            {"object_id": 11 + number, "name": name, "max_readers": 0, **switches}
            for number, name in enumerate(QUEUES)
        ],
        services=[
            {"service_id": 1, "name": "InitiatorService", "service_queue_id": 11},
            {"service_id": 2, "name": "TargetService", "service_queue_id": 11 + QUEUES.index(queue)},
        ],
        **{"dbo.TargetQueue": [], "dbo.NewQueue": []} | {f"dbo.{queue}": [ready(1, False, 0)]},
    )
    id = f"{taken_at}"
    return capture_lines({"B": Captured(given)}, taken_at=taken_at, id=id, utc_offset_minutes=offset)


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """Captures and nights at noon and 13:00, schedules of 12:25; times of both logs are local."""
    trace_of = {"name": "trace", "path": "trace", "format": "csv", "mapping": "sql-trace"}
    ddl = {"path": "ddl.jsonl", "format": "ddl-log", "instance": "SQL1"}
    folder = tmp_path_factory.mktemp("logs") / "project"
    project = CaptureProject(folder, inputs={"logs": [trace_of]}, rules=[ddl])
    (folder / "trace").mkdir()
    (folder / "trace" / "1.csv").write_text(trace(*TRACE))
    rows = [
        {"PostTime": f"{minute(60 + at):%FT%T}.000", "DatabaseName": "B", "CommandText": text}
        for at, text in DDL
    ]
    (folder / "ddl.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.add(capture(NOON, queue="TargetQueue"), "12.jsonl")
    project.add(capture(minute(60)), "13.jsonl")
    project.run(NOON)
    project.schedule(minute(25).isoformat())
    project.run(minute(60))
    return project


def test_captures_name_what_a_trace_says_by_number(project: CaptureProject) -> None:
    [task] = [row for row in project.table("queue_events") if row["event_type"] == "TASK_STARTED"]
    names = (task["instance"], task["database"], task["queue"], task["event_time"].isoformat()[11:16])
    assert names == ("SQL1", "B", "TargetQueue", "11:32")
    events = [row for row in project.table("endpoint_events") if row["event_type"] == "BEGIN_DIALOG"]
    [begin] = [row for row in events if row["seen_at"] is None]
    assert (begin["conversation_id"], begin["event_time"].isoformat()[11:16]) == (conversation(1), "11:30")
    assert begin["remote_service"] == "TargetService"
    assert begin["conversation_group_id"] is not None
    [row] = [row for row in project.table("batches") if row["source"] == "logs/trace"]
    assert (row["events"], dict(row["counts"])) == (2, {"incomplete_124_11": 1})


def test_the_history_has_the_moments_of_the_statements(project: CaptureProject) -> None:
    facts = {
        (row["name"], row["value"], row["valid_from"], row["valid_to"], row["source"])
        for row in project.table("catalog_history")
        if row["name"] in ("TargetQueue", "TargetService") and row["attribute"] in ("on", "queue")
    }
    assert facts == {
        ("TargetQueue", "on", None, minute(20), "snapshot"),
        ("TargetQueue", "off", minute(20), minute(50), "ddl-log"),
        ("TargetQueue", "on", minute(50), None, "ddl-log"),
        ("TargetService", "TargetQueue", None, minute(30), "snapshot"),
        ("TargetService", "NewQueue", minute(30), None, "ddl-log"),
    }
    changes = project.ask("changes", "--since", f"{NOON:%FT%TZ}", "--as-of", f"{minute(60):%FT%TZ}")
    assert [(each["name"], each["old"], each["new"]) for each in changes["catalog"]] == [
        ("TargetService", "TargetQueue", "NewQueue")
    ]


def test_the_queue_is_off_between_the_statements(project: CaptureProject) -> None:
    rows = project.table("receive_schedule")
    assert {row["as_of"]: (row["state"], row["held_since"], row["held_source"]) for row in rows} == {
        NOON: ("ready", None, None),
        minute(25): ("queue_off", minute(20), "log"),
        minute(60): ("ready", None, None),
    }


def test_a_time_between_captures_with_two_offsets_needs_a_zone(project: CaptureProject) -> None:
    project.add(capture(minute(360), offset=0), "18.jsonl")
    late = STARTED | {"StartTime": f"{NOON:%Y-%m-%d} 15:00:00"}
    (project.folder / "trace" / "2.csv").write_text(trace(late))
    found = project.nightly(minute(420).isoformat())
    assert found.code == 2
    assert "inputs.logs/trace: captures do not show the offset of SQL1 at" in found.err
    assert "add zone: Europe/Berlin" in found.err
