"""A DDL log beside captures: what holds between two captures is known."""

import json
from datetime import datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from tests.support.capture_project import CaptureProject
from tests.support.captures import Captured, capture_lines
from tests.support.factories import NOON
from tests.support.snapshot_views import ready, shown, views

QUEUES = ("InitiatorQueue", "TargetQueue", "NewQueue")
LOG = [
    (20, "ALTER QUEUE dbo.TargetQueue WITH STATUS = OFF"),
    (30, "ALTER SERVICE TargetService ON QUEUE dbo.NewQueue"),
    (50, "ALTER QUEUE dbo.TargetQueue WITH STATUS = ON"),
]
"""Statements at minutes after noon, UTC; the server's clock is an hour ahead."""


def minute(number: int) -> datetime:
    return NOON + timedelta(minutes=number)


def capture(taken_at: datetime, *, queue: str) -> list[str]:
    """The target's service is bound to `queue`, where its message waits: ALTER SERVICE moves messages."""
    switches = {"is_receive_enabled": True, "is_enqueue_enabled": True, "is_activation_enabled": False}
    given = views(
        conversation_endpoints=[shown(1, side) for side in (True, False)],
        service_queues=[
            {"object_id": 11 + number, "name": name, "max_readers": 0, **switches}
            for number, name in enumerate(QUEUES)
        ],
        services=[
            {"service_id": 1, "name": "InitiatorService", "service_queue_id": 11},
            {"service_id": 2, "name": "TargetService", "service_queue_id": 11 + QUEUES.index(queue)},
        ],
    )
    return capture_lines(
        {
            "B": Captured(
                {**given, "dbo.TargetQueue": [], "dbo.NewQueue": [], f"dbo.{queue}": [ready(1, False, 0)]}
            )
        },
        taken_at=taken_at,
        id=f"{taken_at}",
        utc_offset_minutes=60,
    )


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """Captures at noon and at 13:00, and nights at 12:00, 12:25, 12:40 and 13:00; PostTime is local."""
    log = {"path": "ddl.jsonl", "format": "ddl-log", "instance": "SQL1"}
    project = CaptureProject(tmp_path_factory.mktemp("ddl-log") / "project", rules=[log])
    rows = [
        {
            "PostTime": f"{minute(60 + at):%Y-%m-%dT%H:%M:%S}.000",
            "DatabaseName": "B",
            "CommandText": text,
        }
        for at, text in LOG
    ]
    (project.folder / "ddl.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    project.add(capture(NOON, queue="TargetQueue"), "12.jsonl")
    project.add(capture(minute(60), queue="NewQueue"), "13.jsonl")
    for at in (0, 25, 40, 60):
        project.run(minute(at))
    return project


def test_the_history_has_the_moments_of_the_statements(project: CaptureProject) -> None:
    facts = [
        (row["name"], row["value"], row["valid_from"], row["valid_to"], row["source"])
        for row in project.table("catalog_history")
        if row["name"] in ("TargetQueue", "TargetService") and row["attribute"] in ("on", "queue")
    ]
    assert sorted(facts, key=str) == sorted(
        [
            ("TargetQueue", "on", None, minute(20), "snapshot"),
            ("TargetQueue", "off", minute(20), minute(50), "ddl-log"),
            ("TargetQueue", "on", minute(50), None, "ddl-log"),
            ("TargetService", "TargetQueue", None, minute(30), "snapshot"),
            ("TargetService", "NewQueue", minute(30), None, "ddl-log"),
        ],
        key=str,
    )


def test_the_queue_is_off_between_the_statements(project: CaptureProject) -> None:
    rows = project.table("receive_schedule")
    by_as_of = {row["as_of"]: (row["state"], row["held_since"], row["held_source"]) for row in rows}
    assert by_as_of[NOON] == ("ready", None, None)
    assert by_as_of[minute(25)] == ("queue_off", minute(20), "log")
    assert by_as_of[minute(60)] == ("ready", None, None)


def test_each_as_of_has_the_binding_of_its_time(project: CaptureProject) -> None:
    changes = project.ask("changes", "--since", "2026-11-20T12:25:00Z", "--as-of", f"{minute(40):%FT%TZ}")
    assert [(each["name"], each["old"], each["new"]) for each in changes["catalog"]] == [
        ("TargetService", "TargetQueue", "NewQueue")
    ]
