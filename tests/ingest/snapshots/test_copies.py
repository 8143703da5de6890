"""Two databases that hold one endpoint, or have one broker id, are refused before anything is written."""

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.field.running import run
from tests.support.capture_project import CaptureProject
from tests.support.captures import capture_lines
from tests.support.factories import NOON, Row, at
from tests.support.snapshot_views import Server, ready, shown, views

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
IDS = "{:08}-3C1D-4E0A-9C64-2A5D0D7B11F3"
GUID = "AAAAAAAA-0000-4000-8000-00000000000{}"


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


def held(name: str, endpoints: list[Row], guid: str | None = None, **more: list[Row]) -> dict[str, Any]:
    row = {"name": name, "is_honor_broker_priority_on": True, "service_broker_guid": guid}
    return views(conversation_endpoints=endpoints, databases=[row], **more)


def start(line: str) -> str:
    return line.partition("; leave out")[0]


def test_endpoints_of_two_databases_at_any_two_moments(tmp_path: Path) -> None:
    """The copy is seen in another night, on another server, at an earlier moment."""
    project = CaptureProject(tmp_path)
    add(project, 1, {"Live": held("Live", [shown(1, False), shown(2, False)])})
    project.run()
    other = {"Copy": held("Copy", [shown(1, False), shown(2, False, state="CD"), shown(3, False)])}
    add(project, 2, other, server="SQL2", taken_at=at(-3600))
    [line] = project.refuse()
    assert start(line) == (
        "error: snapshots: SQL1.Live and SQL2.Copy hold the same conversations (1 endpoint open in both)"
    )
    assert {row["database"] for row in project.table("endpoints")} == {"Live"}


def test_both_ends_and_ended_endpoints_are_no_copies(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path)
    one = held("One", [shown(1, True), shown(2, False, state="CD"), shown(3, False)])
    two = held("Two", [shown(1, False), shown(2, False), shown(3, False, state="DO")])
    add(project, 1, {"One": one, "Two": two})
    project.run()
    add(project, 2, {"One": one, "Two": two}, taken_at=at(60))
    project.run(at(60))


def test_one_broker_id_in_two_databases(tmp_path: Path) -> None:
    """Each pair has a line; no database is open, and the ids stand in captures of several moments."""
    project = CaptureProject(tmp_path)
    for number, name in enumerate(("A", "B", "C", "D")):
        guid = GUID.format(2 if name == "D" else 1)
        add(project, number, {name: held(name, [], guid)}, taken_at=at(60 * number))
    assert [start(line) for line in project.refuse()] == [
        f"error: snapshots: SQL1.{one} and SQL1.{other} hold the same conversations (both with "
        f"service_broker_guid {GUID.format(1)})"
        for one, other in (("A", "B"), ("A", "C"), ("B", "C"))
    ]


def test_views_by_hand(tmp_path: Path) -> None:
    """The endpoint of a queue's rows is known by its handle where no view has endpoints."""
    server = Server(tmp_path)
    queue = {"dbo.TargetQueue": [ready(1, False, 0, service_name="S", service_contract_name="C")]}
    server.snapshot(queue, NOON, database="Live")
    server.snapshot(queue, at(60), database="Copy")
    night = run("nightly", "--config", server.path, "--as-of", "latest")
    assert night.code == 3
    assert "SQL1.Copy and SQL1.Live hold the same conversations (1 endpoint open in both)" in night.err
