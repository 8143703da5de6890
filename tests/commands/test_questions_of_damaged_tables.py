"""No question is answered from a warehouse that has lost tables or commits, and no job writes it."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import run
from tests.support.factories import at
from tests.support.harness import Project
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = [pytest.mark.slow, pytest.mark.spark]

AS_OF = "2026-11-20T13:00:00Z"
QUESTIONS: dict[str, tuple[str, ...]] = {
    "next": ("--queue", "SQL1.B.TargetQueue"),
    "waiting": (),
    "explain": ("--conversation", "c1"),
    "coverage": (),
    "lint_rules": (),
    "leaks": (),
    "rejected": (),
    "conformance": (),
    "replay": ("--from", "2026-11-20T12:00:00Z", "--to", AS_OF, "--readers", "1"),
    "report": (),
    "activation": ("--as-of", AS_OF, "--queue", "SQL1.B.TargetQueue"),
    "whatif": ("--rules", "rules.yaml"),
}
WRITERS: dict[str, tuple[str, ...]] = {
    "nightly": ("--as-of", AS_OF, "--quiet"),
    "fold": (),
    "schedules": ("--as-of", AS_OF),
    "rules": (),
    "maintain": (),
    "reassign": ("--from", AS_OF, "--to", "2026-11-21T13:00:00Z"),
}
LOST = [
    ("message_events",),
    ("endpoints",),
    ("receive_schedule",),
    ("batches",),
    ("files", "batches"),
    ("runs",),
    ("runs", "message_events"),
    ("runs", "batches", "files"),
]


@pytest.fixture(scope="module")
def published(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = project_in(tmp_path_factory.mktemp("published"))
    project.add(a_bit_of_everything())
    project.run(session, at(60))
    return project


def answer(project: Project, job: str, options: tuple[str, ...]) -> tuple[int, str]:
    """Exit code and error of a job on the project."""
    given = [str(project.folder / each) if each == "rules.yaml" else each for each in options]
    if job == "report":
        given = ["--out", str(project.folder / "report.html")]
    done = run(job, "--config", project.config, *given)
    return done.code, done.err


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and path.name != "_writer.lock"}


@pytest.mark.parametrize("lost", LOST, ids="-".join)
def test_tables_that_are_gone(published: Project, tmp_path: Path, lost: tuple[str, ...]) -> None:
    warehouse = published.folder / "warehouse"
    for name in lost:
        shutil.move(warehouse / name, tmp_path / name)
    before = files_of(warehouse)
    try:
        found = {job: answer(published, job, options) for job, options in (QUESTIONS | WRITERS).items()}
    finally:
        for name in lost:
            shutil.rmtree(warehouse / name, ignore_errors=True)
            shutil.move(tmp_path / name, warehouse / name)
    assert {job for job, (code, _) in found.items() if code != 1} == set()
    said = (
        [f"{warehouse}/runs is gone"] if "runs" in lost else [f"{warehouse}/{name} is gone" for name in lost]
    )
    unsaid = {job: err for job, (_, err) in found.items() if any(each not in err for each in said)}
    assert unsaid == {}
    assert before <= files_of(warehouse)


@pytest.mark.parametrize("table", ["endpoint_events", "receive_schedule", "activation_summary"])
def test_a_commit_that_is_gone(published: Project, table: str) -> None:
    warehouse = published.folder / "warehouse"
    log = warehouse / table / "_delta_log"
    version = max(int(file.stem) for file in log.glob("*.json"))
    last = {file: file.read_bytes() for file in log.glob(f"*{version:020}.*")}
    for file in last:
        file.unlink()
    try:
        found = {job: answer(published, job, options) for job, options in QUESTIONS.items()}
    finally:
        for file, content in last.items():
            file.write_bytes(content)
    unsaid = {
        job: (code, err)
        for job, (code, err) in found.items()
        if code != 1 or f"{warehouse}/{table} is at version {version - 1}, but the run of" not in err
    }
    assert unsaid == {}


@pytest.mark.parametrize("table", ["message_events", "runs"])
def test_a_commit_that_a_power_failure_emptied(published: Project, table: str) -> None:
    """The engines take it for a commit that did nothing."""
    warehouse = published.folder / "warehouse"
    last = max((warehouse / table / "_delta_log").glob("*.json"))
    content = last.read_bytes()
    last.write_bytes(b"")
    try:
        found = {job: answer(published, job, options) for job, options in (QUESTIONS | WRITERS).items()}
    finally:
        last.write_bytes(content)
    said = f"{warehouse}/{table}: its log is damaged (its commit {last.name} is empty)"
    assert {job: end for job, end in found.items() if end[0] != 1 or said not in end[1]} == {}


def test_what_is_whole_is_answered(published: Project) -> None:
    found = {job: answer(published, job, options) for job, options in QUESTIONS.items()}
    assert {job: said for job, said in found.items() if said[0] not in (0, 4)} == {}
