"""A damaged data file is named, whatever the engine says of it, with what to do."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.console.invocation import name_command
from pipelines.storage.damage import MOST_TOLD, find_damage
from tests.support.factories import at
from tests.support.harness import Project, difference
from tests.support.processes import ended
from tests.support.small_project import a_bit_of_everything, project_in

pytestmark = pytest.mark.slow

TO_DO = "Put it back, or rebuild the warehouse (docs/operations.md, Rebuild a warehouse)"


@pytest.fixture(scope="module")
def published(embedded: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = project_in(tmp_path_factory.mktemp("published"))
    project.add(a_bit_of_everything())
    project.run(embedded, at(60))
    return project


def data_file(project: Project, table: str) -> tuple[str, Path]:
    """The path of its data file of open rows in the table's log, and where it is."""
    folder = project.folder / "warehouse" / table
    file = Path(max(DeltaTable(str(folder)).file_uris()).removeprefix("file://"))
    return str(file.relative_to(folder)), file


def spoilt(whole: bytes) -> bytes:
    """Zeros in the footer."""
    return whole[:-200] + bytes(100) + whole[-100:]


DAMAGE: dict[str, tuple[Callable[[bytes], bytes] | None, str]] = {
    "gone": (None, "is gone"),
    "cut": (lambda whole: whole[:50], "has 50 bytes in place of {size:,}"),
    "spoilt": (spoilt, "is no Parquet file any more ("),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_job_names_the_damaged_file(published: Project, damage: str) -> None:
    spoil, said = DAMAGE[damage]
    path, file = data_file(published, "message_events")
    whole = file.read_bytes()
    file.write_bytes(spoil(whole)) if spoil else file.unlink()
    try:
        asked = ["--config", published.config, "--message", "c3/4"]
        done = ended([sys.executable, "-m", "jobs.explain", *asked])
    finally:
        file.write_bytes(whole)
    [last] = done.stderr.splitlines()[-1:]
    begin = f"error: warehouse: {published.folder}/warehouse/message_events: its data file {path} "
    assert last.startswith(begin + said.format(size=len(whole)))
    assert last.endswith(f". {TO_DO}")
    assert done.returncode == 1


def test_what_is_whole_is_not_damaged(published: Project, tmp_path: Path) -> None:
    assert find_damage(str(published.folder / "warehouse")) == []
    assert find_damage(f"file:{published.folder}/warehouse") == []
    assert find_damage(str(tmp_path)) == []


def test_what_an_as_of_had_is_made_again(embedded: SparkSession, published: Project) -> None:
    before = published.table("receive_schedule")
    path, file = data_file(published, "receive_schedule")
    file.unlink()
    folder = f"{published.folder}/warehouse/receive_schedule"
    assert find_damage(str(published.folder / "warehouse")) == [
        f"warehouse: {folder}: its data file {path} is gone. Put it back, or run {name_command('nightly')} "
        "--as-of 2026-11-20T13:00:00Z again, which makes it anew"
    ]
    published.run(embedded, at(60))
    assert find_damage(str(published.folder / "warehouse")) == []
    assert difference(published.table("receive_schedule"), before) == []


def test_a_damaged_log_is_said_in_place_of_files(published: Project) -> None:
    log = published.folder / "warehouse" / "endpoints" / "_delta_log" / f"{0:020}.json"
    whole = log.read_bytes()
    log.write_bytes(whole[:100])
    try:
        [line] = find_damage(str(published.folder / "warehouse"))
    finally:
        log.write_bytes(whole)
    assert line.startswith(f"warehouse: {published.folder}/warehouse/endpoints: its log is damaged (")


def test_ten_files_are_named_at_most(published: Project) -> None:
    tables = ["message_events", "endpoint_events", "queue_events", "endpoints", "batches", "files"]
    files = [
        Path(path.removeprefix("file://"))
        for name in tables
        for path in DeltaTable(str(published.folder / "warehouse" / name)).file_uris()
    ]
    moved = [file.rename(file.with_suffix(".away")) for file in files]
    try:
        lines = find_damage(str(published.folder / "warehouse"))
    finally:
        for file in moved:
            file.rename(file.with_suffix(".parquet"))
    assert len(files) > MOST_TOLD
    assert len(lines) == MOST_TOLD + 1
    assert lines[-1] == f"warehouse: and {len(files) - MOST_TOLD} more files"
