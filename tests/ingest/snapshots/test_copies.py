"""Two databases that hold one endpoint, or have one broker id, are refused before anything is written."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.ingest.snapshots.copies import find_copies, open_endpoints
from tests.field.running import run
from tests.support.capture_project import CaptureProject
from tests.support.captures import capture_lines
from tests.support.factories import NOON, Row, at
from tests.support.frames import assert_same, frame
from tests.support.snapshot_views import Server, ready, shown, views

IDS = "{:08}-3C1D-4E0A-9C64-2A5D0D7B11F3"
GUID = "AAAAAAAA-0000-4000-8000-00000000000{}"


def test_endpoints_that_databases_show_open(session: SparkSession) -> None:
    """Neither those whose end the same snapshot shows, nor initiators that only a message shows."""
    events = frame(
        session,
        """
        conversation_id | is_initiator boolean | database | event_type       | seen_at timestamp | conversation_handle | event_id
        open            | true                 | A        | BEGIN_DIALOG     | 12:00             | H1                  | e/H1
        open            | true                 | A        | BEGIN_DIALOG     | 13:00             | H1                  | e/H1
        open            | true                 | B        | BEGIN_DIALOG     | 12:00             | H1                  | e/H1
        open            | false                | B        | DIALOG_CREATED   | 12:00             | H2                  | e/H2
        ended           | true                 | A        | BEGIN_DIALOG     | 12:00             | H3                  | e/H3
        ended           | true                 | A        | END_CONVERSATION | 12:00             | H3                  | e/H3/DO
        ended           | true                 | B        | BEGIN_DIALOG     | 12:00             | H3                  | e/H3
        far end         | true                 | A        | BEGIN_DIALOG     | 12:00             | H4                  | e/H4
        far end         | true                 | A        | END_CONVERSATION | 12:00             | -                   | e/H4/DI
        of messages     | true                 | A        | BEGIN_DIALOG     | 12:00             | H5                  | snapshot/1/endpoint
        of messages     | false                | A        | DIALOG_CREATED   | 12:00             | H6                  | snapshot/1/endpoint
        """,  # noqa: E501
    )
    expected = frame(
        session,
        """
        conversation_id | is_initiator boolean | instance | database
        open            | true                 | SQL1     | A
        open            | true                 | SQL1     | B
        open            | false                | SQL1     | B
        ended           | true                 | SQL1     | B
        far end         | true                 | SQL1     | A
        of messages     | false                | SQL1     | A
        """,
    )
    found = open_endpoints(events.withColumn("instance", F.lit("SQL1")))
    assert_same(found, expected)
    places = [("SQL1", "A"), ("SQL1", "B")]
    assert find_copies(found.unionByName(found), places) == {(places[0], places[1]): 1}


def add(
    project: CaptureProject,
    number: int,
    databases: dict[str, dict[str, Any]],
    *,
    server: str = "SQL1",
    taken_at: datetime = NOON,
) -> None:
    """Write a capture of these databases' views."""
    lines = capture_lines(databases, server=server, taken_at=taken_at, id=IDS.format(number))
    project.add(lines, f"{number}.jsonl")


def held(name: str, endpoints: list[Row], guid: str | None = None) -> dict[str, Any]:
    row = {"name": name, "is_honor_broker_priority_on": True, "service_broker_guid": guid}
    return views(conversation_endpoints=endpoints, databases=[row])


def refusals(project: CaptureProject) -> list[str]:
    return [line.partition("; leave out")[0] for line in project.refuse()]


@pytest.mark.slow
@pytest.mark.usefixtures("session")
def test_databases_at_any_two_moments(tmp_path: Path) -> None:
    """The copy is seen in another night, on another server, at an earlier moment.

    Both ends of a conversation are no copies. Of databases with one broker id none needs an endpoint.
    """
    project = CaptureProject(tmp_path)
    one = held("One", [shown(1, True), shown(2, False, state="CD"), shown(3, False)])
    two = held("Two", [shown(1, False), shown(2, False), shown(3, False, state="DO")])
    add(project, 1, {"One": one, "Two": two})
    project.fold()
    copy = {"Copy": held("Copy", [shown(1, True), shown(3, False, state="CD"), shown(4, False)])}
    add(project, 2, copy, server="SQL2", taken_at=at(-3600))
    assert refusals(project) == [
        "error: snapshots: SQL1.One and SQL2.Copy hold the same conversations (1 endpoint open in both)"
    ]
    for number, name in enumerate(("A", "B", "C", "D"), start=2):
        guid = GUID.format(2 if name == "D" else 1)
        add(project, number, {name: held(name, [], guid)}, taken_at=at(60 * number))
    assert refusals(project) == [
        f"error: snapshots: SQL1.{one} and SQL1.{other} hold the same conversations (both with "
        f"service_broker_guid {GUID.format(1)})"
        for one, other in (("A", "B"), ("A", "C"), ("B", "C"))
    ]


@pytest.mark.usefixtures("session")
def test_views_by_hand(tmp_path: Path) -> None:
    """The endpoint of a queue's rows is known by its handle where no view has endpoints."""
    server = Server(tmp_path)
    queue = {"dbo.TargetQueue": [ready(1, False, 0, service_name="S", service_contract_name="C")]}
    server.snapshot(queue, NOON, database="Live")
    server.snapshot(queue, at(60), database="Copy")
    night = run("nightly", "--config", server.path, "--as-of", "latest")
    assert night.code == 3
    assert "SQL1.Copy and SQL1.Live hold the same conversations (1 endpoint open in both)" in night.err
