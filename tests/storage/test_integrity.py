"""A warehouse that has lost tables is not taken for one that never had them."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.commands.steps import run_activation, run_rules
from pipelines.config.errors import WarehouseError
from pipelines.ladder.reassign import reassign
from pipelines.nightly.night import describe
from pipelines.storage.integrity import require_as_left
from pipelines.storage.lock import LOCK
from pipelines.storage.maintain import maintain
from pipelines.storage.published import checked_runs
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from tests.support.factories import at, catalog
from tests.support.harness import Project
from tests.support.written import batch, ended_run, warehouse_of

FOLDED = [
    batch(source="endpoint_events", events=1, accepted=1),
    batch(source="message_events", events=1),
    batch(source="queue_events"),
]
REBUILD = "Put back what is missing, or rebuild the warehouse (docs/operations.md, Rebuild a warehouse)"


def refusal(root: Path) -> list[str]:
    with pytest.raises(WarehouseError) as caught:
        require_as_left(str(root), [])
    return str(caught.value).splitlines()


def test_nothing_is_missing_where_nothing_was_written(session: SparkSession, tmp_path: Path) -> None:
    require_as_left(str(tmp_path / "nothing"), [])
    warehouse_of(session, tmp_path / "rules", {"priority_rules": []})
    require_as_left(str(tmp_path / "rules"), [])


@pytest.mark.parametrize("name", ["batches", "receive_schedule"])
def test_no_table_is_there_without_runs(session: SparkSession, tmp_path: Path, name: str) -> None:
    Warehouse(session, str(tmp_path)).create_missing(TABLES[name])
    assert refusal(tmp_path) == [
        f"warehouse: {tmp_path}/runs is gone, but other tables are there: what was published is not known. "
        f"{REBUILD}"
    ]


def test_what_a_fold_wrote_is_missed_before_anything_is_published(
    session: SparkSession, tmp_path: Path
) -> None:
    snapshots = batch(2, "snapshots", events=3, accepted=3)
    warehouse_of(session, tmp_path, {"runs": [], "batches": [*FOLDED, snapshots]})
    assert refusal(tmp_path) == [
        f"warehouse: {tmp_path}/{name} is gone, but batches says that rows were written: they are lost. "
        f"{REBUILD}"
        for name in ("endpoint_events", "endpoints", "files", "snapshots")
    ]


def test_no_command_writes_a_warehouse_that_has_lost_commits(session: SparkSession, tmp_path: Path) -> None:
    project, next_day = Project(tmp_path, catalog=catalog()), at(60, day=1)
    run = ended_run("one", at(60), versions={"runs": 0, "files": 0, "batches": 99})
    warehouse = warehouse_of(session, tmp_path / "warehouse", {"runs": [run], "batches": []})
    root, settings = warehouse.root, project.settings()
    written = files_of(tmp_path)
    for write in (
        lambda: checked_runs(warehouse),
        lambda: project.run(session, next_day),
        lambda: describe(warehouse, settings, at(60)),
        lambda: maintain(root, keep_days=0, keep_hours=0),
        lambda: reassign(warehouse, settings, at(), next_day, apply=True),
        lambda: run_rules(["--config", project.config]),
        lambda: run_activation(["--config", project.config, "--as-of", at(60).isoformat()]),
    ):
        with pytest.raises(WarehouseError) as caught:
            write()
        left = "the run of 2026-11-20T13:00:00Z that finished at 2026-11-20T13:02:40Z left it at version"
        behind, gone = str(caught.value).splitlines()
        assert re.sub(r"at version \d,", "at version N,", behind) == (
            f"warehouse: {root}/batches is at version N, but {left} 99: commits are lost. {REBUILD}"
        )
        assert gone == f"warehouse: {root}/files is gone, but {left} 0: commits are lost. {REBUILD}"
    assert files_of(tmp_path) == written


def files_of(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and path.name != LOCK}
