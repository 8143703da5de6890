"""Files of captures over several nights: changed, touched, renamed, compressed, twice there; and refusals."""

import gzip
import os
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.config.errors import PipelineError
from pipelines.ingest.ingest import NewInput, find_new_input
from pipelines.settings.load import load_settings
from pipelines.storage.warehouse import Warehouse
from tests.support.capture_project import CaptureProject
from tests.support.capture_tools import driver, powershell_5, sqlcmd, studio_json
from tests.support.captures import capture_lines, change_line
from tests.support.factories import NOON, at
from tests.support.read_captures import small_lines
from tests.support.snapshot_views import views

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
LINES = small_lines()
OTHER_ID = "11111111-2222-3333-4444-555555555555"


class Taken(CaptureProject):
    """A project whose first night has taken a capture."""

    def __init__(self, folder: Path, session: SparkSession) -> None:
        super().__init__(folder)
        self.session = session
        self.put_back()
        self.schedule(NOON.isoformat())
        assert len(self.table("receive_schedule")) == 3

    def new_input(self) -> NewInput:
        """What the next night would take."""
        settings = load_settings(self.config)
        return find_new_input(Warehouse(self.session, settings.warehouse), settings)

    def put_back(self) -> None:
        """The folder of captures as the first night found it, the time of the file included."""
        for path in self.captures.iterdir():
            path.unlink()
        os.utime(self.add(LINES, "x.txt"), (1_000_000_000, 1_000_000_000))


@pytest.fixture(scope="module")
def after_a_night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Taken:
    return Taken(tmp_path_factory.mktemp("taken") / "p", session)


@pytest.fixture
def taken(after_a_night: Taken) -> Taken:
    after_a_night.put_back()
    return after_a_night


SAME = {
    "touched": ("x.txt", driver(LINES)),
    "renamed": ("other.jsonl", driver(LINES)),
    "compressed": ("x.txt.gz", gzip.compress(driver(LINES))),
    "compressed in place": ("x.txt", gzip.compress(driver(LINES))),
    "notes": ("x.txt", sqlcmd(LINES)),
    "UTF-16": ("x.txt", powershell_5(LINES)),
    "as JSON": ("x.json", studio_json(LINES)),
}
"""Files with the capture that was taken."""


def test_the_same_capture_is_not_taken_again(taken: Taken) -> None:
    """In the place of the taken file, or as copies beside it."""
    for what, (name, content) in SAME.items():
        taken.put_back()
        (taken.captures / "x.txt").unlink()
        os.utime(taken.add_bytes(content, name), (2_000_000_000, 2_000_000_000))
        assert taken.new_input().is_empty, what
    taken.put_back()
    for number, (name, content) in enumerate(SAME.values()):
        taken.add_bytes(content, f"copy {number} of {name}")
    assert taken.new_input().is_empty


def changed(lines: list[str]) -> list[str]:
    """The same capture with another level of a message."""
    return change_line(lines, 4, lambda line: {**line, "row": {**line["row"], "priority": 9}})


@pytest.mark.parametrize("name", ["x.txt", "y.txt"])
def test_a_taken_capture_that_has_changed(taken: Taken, name: str) -> None:
    (taken.captures / "x.txt").unlink()
    taken.add(changed(LINES), name)
    [error] = taken.refuse(at(day=1))
    assert error.startswith(f"error: captures/{name}: ")
    assert "has changed since it was taken at " in error


def test_a_taken_capture_that_has_gone_is_no_fault(taken: Taken) -> None:
    """Its catalog and rules stay known beside those of the next one."""
    (taken.captures / "x.txt").unlink()
    later = NOON + timedelta(days=1)
    taken.add(capture_lines({"B": views()}, taken_at=later, id="2" * 8), "y.txt")
    assert [each.taken_at for each in taken.new_input().snapshots.snapshots] == [later]
    assert "Gold" in {version.name for version in load_settings(taken.config).rule_history}


def test_a_capture_that_was_moved_is_read_once(taken: Taken) -> None:
    (taken.captures / "x.txt").rename(taken.captures / "y.txt")
    assert len(taken.new_input().snapshots.moved) == 1
    taken.fold()
    assert not taken.new_input().snapshots.moved
    assert len(taken.table("message_events")) == 3


def test_a_taken_capture_is_not_opened_again(taken: Taken) -> None:
    """Path, length and time are the same, so the content is not looked at."""
    path = taken.captures / "x.txt"
    state, content = path.stat(), path.read_bytes()
    path.write_bytes(content.replace(b'"complete":true', b'"complete":nope'))
    assert path.stat().st_size == state.st_size
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert taken.new_input().is_empty


def refusal(project: CaptureProject) -> list[str]:
    """Why the settings are refused, without the path of the project."""
    with pytest.raises(PipelineError) as caught:
        load_settings(project.config)
    return str(caught.value).replace(f"{project.folder}/", "").splitlines()


def test_captures_that_contradict_each_other(tmp_path: Path) -> None:
    """One capture with other content, and two of one moment; another database of that moment is no fault."""
    project = CaptureProject(tmp_path / "p")
    project.add(LINES, "a.jsonl")
    project.add_bytes(powershell_5(LINES), "copy.txt")
    assert len(load_settings(project.config).snapshots) == 1
    project.add(capture_lines({"C": views()}, id=OTHER_ID), "c.jsonl")
    assert len(load_settings(project.config).snapshots) == 2
    project.add(changed(LINES), "b.jsonl")
    [error] = refusal(project)
    assert error.startswith("captures/b.jsonl: captures/a.jsonl has the same capture, ")
    project.add(small_lines(id=OTHER_ID), "b.jsonl")
    (project.captures / "c.jsonl").unlink()
    [error] = refusal(project)
    assert error.startswith("captures/b.jsonl: captures/a.jsonl is another capture of SQL1.B at ")


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


def test_other_files_are_named_or_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    project = CaptureProject(tmp_path / "p")
    project.add(LINES, "A.JSONL.GZ")
    for name in (".part.jsonl", "_old.jsonl", "notes.docx"):
        project.add_bytes(b"nothing", name)
    (project.captures / "older").mkdir()
    project.add(LINES[:3], "older/x.jsonl")
    assert len(load_settings(project.config).snapshots) == 1
    [told] = [record.getMessage() for record in caplog.records if "captures" in record.getMessage()]
    assert "notes.docx" in told
    assert not any(name in told for name in (".part.jsonl", "_old.jsonl", "older"))


def test_folders_of_days_are_read_with_their_folder_or_as_entries_of_their_own(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p")
    for day, name in ((20, "2026-11-20"), (21, "2026-11-21"), (22, "2026-11-22x")):
        (project.captures / name).mkdir()
        lines = capture_lines({"B": views()}, taken_at=at(day), id=str(day) * 4)
        project.add(lines, f"{name}/x.jsonl.gz")
    assert [each.declared.taken_at for each in load_settings(project.config).snapshots] == [at(20), at(21)]
    settings = Path(project.config)
    content = yaml.safe_load(settings.read_text())
    content["snapshots"].append({"path": "captures/2026-11-21", "instance": "OTHER"})
    content["snapshots"].append({"path": "captures/2026-11-22x/x.jsonl.gz", "instance": "FILE"})
    settings.write_text(yaml.safe_dump(content))
    found = load_settings(settings).snapshots
    assert [(each.declared.instance, each.declared.taken_at) for each in found] == [
        ("SQL1", at(20)),
        ("OTHER", at(21)),
        ("FILE", at(22)),
    ]


def test_no_capture(tmp_path: Path) -> None:
    project = CaptureProject(tmp_path / "p", snapshots=[{"path": "nowhere"}])
    assert refusal(project)[0].startswith("nowhere: ")
    (project.folder / "nowhere").mkdir()
    assert refusal(project)[0].startswith("nowhere: ")
