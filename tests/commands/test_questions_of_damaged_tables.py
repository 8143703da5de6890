"""No question is answered from a warehouse that has lost tables or commits, and no job writes it."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.field.running import Case

pytestmark = pytest.mark.slow

AS_OF = "2026-11-20T13:00:00Z"
QUEUE = ("--queue", "SQL1.B.TargetQueue")
Jobs = dict[str, tuple[str, ...]]
QUESTIONS: Jobs = {
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
WRITERS: Jobs = {
    "nightly": ("--as-of", AS_OF, "--quiet"),
    "fold": (),
    "schedules": ("--as-of", AS_OF),
    "rules": (),
    "maintain": (),
    "reassign": ("--from", AS_OF, "--to", "2026-11-21T13:00:00Z"),
}


def unsaid(case: Case, jobs: Jobs, *said: str) -> dict[str, tuple[int, str]]:
    """The jobs that do not end with 1 and an error that says all this."""
    found = {
        job: case.job(job, *[each.format(folder=case.folder) for each in options])
        for job, options in jobs.items()
    }
    return {
        job: (done.code, done.err)
        for job, done in found.items()
        if done.code != 1 or any(each not in done.err for each in said)
    }


@contextmanager
def lost(case: Case, away: Path, *names: str) -> Iterator[None]:
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


def test_tables_that_are_gone(published: Case, tmp_path: Path) -> None:
    """tests/storage/test_integrity.py has other tables."""
    names = ("message_events", "receive_schedule")
    warehouse = published.folder / "warehouse"

    def files() -> set[Path]:
        return {path for path in warehouse.rglob("*") if path.is_file() and path.name != "_writer.lock"}

    with lost(published, tmp_path, *names):
        before = files()
        said = [f"{warehouse}/{name} is gone" for name in names]
        assert unsaid(published, QUESTIONS | WRITERS, *said) == {}
        assert before <= files()


def test_a_commit_that_is_gone(published: Case, tmp_path: Path) -> None:
    folder = published.folder / "warehouse" / "endpoint_events"
    version = max(int(file.stem) for file in folder.glob("_delta_log/*.json"))
    names = [f"{folder.name}/_delta_log/{file.name}" for file in folder.glob(f"_delta_log/{version:020}.*")]
    with lost(published, tmp_path, *names):
        said = f"{folder} is at version {version - 1}, but the run of"
        assert unsaid(published, QUESTIONS, said) == {}


def test_a_commit_that_a_power_failure_emptied(published: Case, tmp_path: Path) -> None:
    """The engines take it for a commit that did nothing."""
    folder = published.folder / "warehouse" / "message_events"
    last = max(folder.glob("_delta_log/*.json"))
    jobs = {job: (QUESTIONS | WRITERS)[job] for job in ("waiting", "lint_rules", "nightly", "maintain")}
    with lost(published, tmp_path, f"message_events/_delta_log/{last.name}"):
        last.write_bytes(b"")
        said = f"{folder}: its log is damaged (its commit {last.name} is empty)"
        assert unsaid(published, jobs, said) == {}
        last.unlink()
