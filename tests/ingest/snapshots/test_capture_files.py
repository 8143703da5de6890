"""Files of captures over several nights: changed, touched, renamed, compressed, twice there; and refusals."""

import gzip
import os
from datetime import timedelta
from pathlib import Path

import pytest

from tests.support.capture_project import CaptureProject
from tests.support.capture_tools import driver, powershell_5, sqlcmd, studio_json
from tests.support.captures import capture_lines, change_line
from tests.support.factories import NOON, at
from tests.support.read_captures import small_lines
from tests.support.snapshot_views import views

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
LINES = small_lines()
LATER = NOON + timedelta(days=1)


def taken(folder: Path) -> tuple[CaptureProject, Path]:
    """A project whose first night has taken a capture, and the capture's file."""
    project = CaptureProject(folder / "p")
    path = project.add(LINES, "x.txt")
    project.run()
    assert len(project.table("receive_schedule")) == 3
    return project, path


def messages(project: CaptureProject) -> int:
    """The rows that nights have taken in all."""
    return len(project.table("message_events"))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.txt", driver(LINES)),
        ("other.jsonl", driver(LINES)),
        ("x.txt.gz", gzip.compress(driver(LINES))),
        ("x.txt", gzip.compress(driver(LINES))),
        ("x.txt", sqlcmd(LINES)),
        ("x.txt", powershell_5(LINES)),
        ("x.json", studio_json(LINES)),
    ],
    ids=["touched", "renamed", "compressed", "compressed in place", "notes", "UTF-16", "as JSON"],
)
def test_the_same_capture_is_not_taken_again(tmp_path: Path, name: str, content: bytes) -> None:
    project, path = taken(tmp_path)
    before = messages(project)
    path.unlink()
    again = project.add_bytes(content, name)
    os.utime(again, (2_000_000_000, 2_000_000_000))
    for _ in range(2):
        project.run(LATER)
        assert messages(project) == before


def test_a_copy_beside_a_taken_capture(tmp_path: Path) -> None:
    project, _ = taken(tmp_path)
    before = messages(project)
    project.add(LINES, "copy.jsonl")
    project.run(LATER)
    assert messages(project) == before


def test_two_copies_are_taken_once(tmp_path: Path) -> None:
    one, two = CaptureProject(tmp_path / "one"), CaptureProject(tmp_path / "two")
    one.add(LINES)
    two.add(LINES)
    two.add_bytes(powershell_5(LINES), "d.txt")
    for project in (one, two):
        project.run()
    assert messages(one) == messages(two)


def changed(lines: list[str]) -> list[str]:
    """The same capture with another level of a message."""
    return change_line(lines, 4, lambda line: {**line, "row": {**line["row"], "priority": 9}})


def test_a_taken_capture_that_has_changed(tmp_path: Path) -> None:
    project, path = taken(tmp_path)
    path.write_bytes(driver(changed(LINES)))
    [error] = project.refuse(LATER)
    assert error.startswith("error: captures/x.txt: ")
    assert "has changed since it was taken at " in error
    path.write_bytes(driver(LINES))
    project.run(LATER)


def test_a_changed_capture_under_another_name(tmp_path: Path) -> None:
    project, path = taken(tmp_path)
    path.unlink()
    project.add(changed(LINES), "y.txt")
    [error] = project.refuse(LATER)
    assert error.startswith("error: captures/y.txt: ")
    assert "has changed since it was taken at " in error


def test_a_taken_capture_that_has_gone_is_no_fault(tmp_path: Path) -> None:
    """Its catalog and rules stay known."""
    project, path = taken(tmp_path)
    rules = project.table("priority_rules")
    assert rules
    project.add(capture_lines({"B": views()}, taken_at=LATER, id="2" * 8), "y.txt")
    path.unlink()
    project.run(LATER)
    assert [row["name"] for row in rules] == ["Gold"]


def test_a_taken_capture_is_not_opened_again(tmp_path: Path) -> None:
    """Path, length and time are the same, so the content is not looked at."""
    project, path = taken(tmp_path)
    state = path.stat()
    content = path.read_bytes()
    path.write_bytes(content.replace(b'"complete":true', b'"complete":nope'))
    assert path.stat().st_size == state.st_size
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    project.run(LATER)


def test_one_capture_twice_with_other_content(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p")
    project.add(LINES, "a.jsonl")
    project.add(changed(LINES), "b.jsonl")
    [error] = project.refuse()
    assert error.startswith("error: captures/b.jsonl: captures/a.jsonl has the same capture, ")


def test_two_captures_of_one_moment(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p")
    project.add(LINES, "a.jsonl")
    project.add(small_lines(id="11111111-2222-3333-4444-555555555555"), "b.jsonl")
    [error] = project.refuse()
    assert error.startswith("error: captures/b.jsonl: captures/a.jsonl is another capture of SQL1.B at ")


def test_two_captures_of_one_moment_and_other_databases(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p")
    project.add(LINES, "a.jsonl")
    project.add(capture_lines({"C": views()}, id="11111111-2222-3333-4444-555555555555"), "b.jsonl")
    project.run()


def test_each_broken_file_has_a_line(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p")
    project.add(LINES[:10], "a.jsonl")
    project.add([*LINES[:6], "Msg 1205, Level 13", *LINES[6:]], "b.txt")
    project.add(LINES, "c.jsonl")
    project.add_bytes(b"", "d.csv")
    project.add_bytes(gzip.compress(driver(LINES))[:-20], "e.jsonl.gz")
    errors = project.refuse()
    assert [error.split(": ", 2)[1] for error in errors] == [
        "captures/a.jsonl:10",
        "captures/b.txt:7",
        "captures/d.csv",
        "captures/e.jsonl.gz",
    ]
    assert "'Msg 1205, Level 13'" in errors[1]
    assert not (project.folder / "warehouse" / "endpoints").exists()


def test_other_files_are_named_or_left_out(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p")
    project.add(LINES, "A.JSONL.GZ")
    for name in (".part.jsonl", "_old.jsonl", "notes.docx"):
        project.add_bytes(b"nothing", name)
    (project.captures / "older").mkdir()
    project.add(LINES[:3], "older/x.jsonl")
    outcome = project.run()
    told = [line for line in outcome.err.splitlines() if "notes.docx" in line]
    assert len(told) == 1
    for name in (".part.jsonl", "_old.jsonl", "older"):
        assert name not in outcome.err


def test_a_single_file(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p", snapshots=[{"path": "captures/x.dump"}])
    project.add(LINES, "x.dump")
    project.run()
    assert len(project.table("receive_schedule")) == 3


@pytest.mark.parametrize("is_there", [True, False])
def test_no_capture(tmp_path: Path, is_there: bool) -> None:
    project = CaptureProject(tmp_path / "p", snapshots=[{"path": "nowhere"}])
    if is_there:
        (project.folder / "nowhere").mkdir()
    [error] = project.refuse()
    assert error.startswith("error: nowhere: ")


def test_captures_of_several_nights(tmp_path: Path) -> None:
    """Between two captures the earlier one counts."""
    project = CaptureProject(tmp_path / "p")
    project.add(LINES, "a.jsonl")
    project.run(NOON)
    project.add(capture_lines({"B": views()}, taken_at=at(60), id="2" * 8), "b.jsonl")
    project.run(at(30))
    assert len(project.table("receive_schedule")) == 6
    project.run(at(60))
    as_of = {row["as_of"] for row in project.table("receive_schedule")}
    assert as_of == {NOON, at(30)}
