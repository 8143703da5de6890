"""No question is answered from a warehouse that has lost tables or commits, and no job writes it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case
from tests.support.factories import at
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow

AS_OF = "2026-11-20T13:00:00Z"
QUEUE = ("--queue", "SQL1.B.TargetQueue")
QUESTIONS: dict[str, tuple[str, ...]] = {
    "next": QUEUE,
    "waiting": (),
    "explain": ("--conversation", "c1"),
    "coverage": (),
    "lint_rules": (),
    "leaks": (),
    "rejected": (),
    "conformance": (),
    "replay": ("--from", "2026-11-20T12:00:00Z", "--to", AS_OF, "--readers", "1"),
    "report": ("--out", "{folder}/report.html"),
    "activation": ("--as-of", AS_OF, *QUEUE),
    "whatif": ("--rules", "{folder}/rules.yaml"),
}
FEW = {job: QUESTIONS[job] for job in ("waiting", "lint_rules", "activation")}
"""Where another test asks all of them."""
WRITERS: dict[str, tuple[str, ...]] = {
    "nightly": ("--as-of", AS_OF, "--quiet"),
    "fold": (),
    "schedules": ("--as-of", AS_OF),
    "rules": (),
    "maintain": (),
    "reassign": ("--from", AS_OF, "--to", "2026-11-21T13:00:00Z"),
}


@pytest.fixture(scope="module")
def case(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    project = project_in(tmp_path_factory.mktemp("published"))
    project.add(a_bit_of_everything())
    project.run(session, at(60))
    return Case(project.folder)


def answers(case: Case, jobs: dict[str, tuple[str, ...]]) -> dict[str, tuple[int, str]]:
    """Exit code and error of each job."""
    found = {
        job: case.job(job, *[each.format(folder=case.folder) for each in options])
        for job, options in jobs.items()
    }
    return {job: (done.code, done.err) for job, done in found.items()}


@contextmanager
def lost(case: Case, away: Path, names: tuple[str, ...]) -> Iterator[None]:
    """Move parts of the warehouse away, and put them back."""
    warehouse = case.folder / "warehouse"
    for number, name in enumerate(names):
        shutil.move(warehouse / name, away / str(number))
    try:
        yield
    finally:
        for number, name in enumerate(names):
            shutil.rmtree(warehouse / name, ignore_errors=True)
            shutil.move(away / str(number), warehouse / name)


@pytest.mark.parametrize(
    ("names", "jobs"),
    [
        (("message_events", "receive_schedule"), QUESTIONS | WRITERS),
        (("files", "batches"), FEW | WRITERS),
        (("runs",), QUESTIONS | WRITERS),
        (("runs", "batches", "files", "message_events"), FEW | WRITERS),
    ],
    ids=["of rows", "of batches", "runs", "runs and others"],
)
def test_tables_that_are_gone(
    case: Case, tmp_path: Path, names: tuple[str, ...], jobs: dict[str, tuple[str, ...]]
) -> None:
    warehouse = case.folder / "warehouse"

    def files() -> set[Path]:
        return {path for path in warehouse.rglob("*") if path.is_file() and path.name != "_writer.lock"}

    with lost(case, tmp_path, names):
        before = files()
        found = answers(case, jobs)
        assert before <= files()
    gone = ["runs"] if "runs" in names else names
    unsaid = {
        job: (code, err)
        for job, (code, err) in found.items()
        if code != 1 or any(f"{warehouse}/{name} is gone" not in err for name in gone)
    }
    assert unsaid == {}


@pytest.mark.parametrize(
    ("table", "jobs"),
    [("endpoint_events", QUESTIONS), ("receive_schedule", FEW), ("activation_summary", FEW)],
    ids=["endpoint_events", "receive_schedule", "activation_summary"],
)
def test_a_commit_that_is_gone(
    case: Case, tmp_path: Path, table: str, jobs: dict[str, tuple[str, ...]]
) -> None:
    folder = case.folder / "warehouse" / table
    version = max(int(file.stem) for file in (folder / "_delta_log").glob("*.json"))
    names = tuple(f"{table}/_delta_log/{file.name}" for file in folder.glob(f"_delta_log/*{version:020}.*"))
    with lost(case, tmp_path, names):
        found = answers(case, jobs)
    said = f"{folder} is at version {version - 1}, but the run of"
    assert {job: end for job, end in found.items() if end[0] != 1 or said not in end[1]} == {}


@pytest.mark.parametrize(
    ("table", "jobs"),
    [("message_events", QUESTIONS | WRITERS), ("runs", FEW | WRITERS)],
    ids=["message_events", "runs"],
)
def test_a_commit_that_a_power_failure_emptied(
    case: Case, tmp_path: Path, table: str, jobs: dict[str, tuple[str, ...]]
) -> None:
    """The engines take it for a commit that did nothing."""
    folder = case.folder / "warehouse" / table
    last = max((folder / "_delta_log").glob("*.json"))
    with lost(case, tmp_path, (str(last.relative_to(case.folder / "warehouse")),)):
        last.write_bytes(b"")
        found = answers(case, jobs)
        last.unlink()
    said = f"{folder}: its log is damaged (its commit {last.name} is empty)"
    assert {job: end for job, end in found.items() if end[0] != 1 or said not in end[1]} == {}
