"""A table that lost its last commit is not taken for whole."""

import re
import shutil
from datetime import datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import activation, rules
from pipelines.config.errors import WarehouseError
from pipelines.ladder.reassign import reassign
from pipelines.nightly.night import describe
from pipelines.storage.maintain import maintain
from tests.support.factories import at
from tests.support.harness import Project
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import changed, contents

pytestmark = pytest.mark.long


def lose_last_commit(table: Path) -> tuple[int, dict[Path, bytes]]:
    """Take the last commit out of a table's log: its version, and what was taken."""
    version = max(int(file.stem) for file in table.glob("_delta_log/*.json"))
    lost = {file: file.read_bytes() for file in table.glob(f"_delta_log/{version:020}.*")}
    for file in lost:
        file.unlink()
    return version, lost


def said(project: Project, table: str, now: str, version: int) -> str:
    return (
        f"warehouse: {project.folder}/warehouse/{table} is {now}, but the run of 2026-11-20T13:00:00Z that "
        rf"finished at 20\S+Z left it at version {version}: commits are lost\. Put back what is missing, or "
        r"rebuild the warehouse \(docs/operations\.md, Rebuild a warehouse\)"
    )


def test_lost_commits_are_named_and_put_back(session: SparkSession, tmp_path: Path) -> None:
    project, as_of, next_day = project_in(tmp_path), at(60), at(60, day=1)
    project.add(a_bit_of_everything())
    project.run(session, as_of)
    (published,) = project.table("runs", ["as_of", "versions"])
    assert published["as_of"] == as_of
    warehouse = project.folder / "warehouse"
    before = contents(project)

    version, lost = lose_last_commit(warehouse / "endpoints")
    assert dict(published["versions"])["endpoints"] == version
    shutil.move(warehouse / "files", tmp_path / "files")
    project.add(night_after())
    kept = files_of(warehouse)
    for run in (
        lambda: project.run(session, next_day),
        lambda: describe_again(session, project),
        lambda: maintain(str(warehouse), keep_days=0, keep_hours=0),
        lambda: reassign(project.warehouse(session), project.settings(), at(), next_day, apply=True),
        lambda: write_rules_of(project),
        lambda: write_activation_of(project, as_of),
    ):
        with pytest.raises(WarehouseError) as caught:
            run()
        behind, gone = str(caught.value).splitlines()
        assert re.fullmatch(said(project, "endpoints", f"at version {version - 1}", version), behind)
        assert re.fullmatch(said(project, "files", "gone", dict(published["versions"])["files"]), gone)
    # Nothing was written: what is there still goes with what is put back.
    assert files_of(warehouse) - {warehouse / "_writer.lock"} == kept

    shutil.move(tmp_path / "files", warehouse / "files")
    for file, content in lost.items():
        file.write_bytes(content)
    assert changed(before, contents(project)) == {}
    project.run(session, next_day)
    assert [row["status"] for row in project.table("runs")] == ["succeeded"] * 2


def files_of(warehouse: Path) -> set[Path]:
    return {path for path in warehouse.rglob("*") if path.is_file()}


def write_rules_of(project: Project) -> None:
    rules.main(["--config", project.config])


def write_activation_of(project: Project, as_of: datetime) -> None:
    activation.main(["--config", project.config, "--as-of", as_of.isoformat()])


def describe_again(session: SparkSession, project: Project) -> None:
    describe(project.warehouse(session), project.settings(), at(60))
