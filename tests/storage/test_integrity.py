"""A warehouse that has lost tables is not taken for one that never had them."""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import WarehouseError
from pipelines.storage.integrity import require_as_left
from pipelines.storage.published import checked_runs
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.outputs import RUNS
from tests.support.factories import at
from tests.support.written import ended_run, warehouse_of

COUNTS = {"duplicates": 0, "rejected": 0, "bindings": "b"}
FOLDED = [
    {"batch": 1, "source": "endpoint_events", "events": 1, "accepted": 1, **COUNTS},
    {"batch": 1, "source": "message_events", "events": 1, "accepted": 0, **COUNTS},
    {"batch": 1, "source": "queue_events", "events": 0, "accepted": 0, **COUNTS},
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


@pytest.mark.parametrize("name", sorted(TABLES.keys() - {"runs", "priority_rules"}))
def test_no_table_is_there_without_runs(session: SparkSession, tmp_path: Path, name: str) -> None:
    Warehouse(session, str(tmp_path)).create_missing(TABLES[name])
    assert refusal(tmp_path) == [
        f"warehouse: {tmp_path}/runs is gone, but other tables are there: what was published is not known. "
        f"{REBUILD}"
    ]


def test_what_a_fold_wrote_is_missed_before_anything_is_published(
    session: SparkSession, tmp_path: Path
) -> None:
    snapshots = {"batch": 2, "source": "snapshots", "events": 3, "accepted": 3, **COUNTS}
    warehouse_of(session, tmp_path, {"runs": [], "batches": [*FOLDED, snapshots]})
    assert refusal(tmp_path) == [
        f"warehouse: {tmp_path}/{name} is gone, but batches says that rows were written: they are lost. "
        f"{REBUILD}"
        for name in ("endpoint_events", "endpoints", "files", "snapshots")
    ]


def test_what_was_published_is_compared(session: SparkSession, tmp_path: Path) -> None:
    versions = {"runs": 0, "files": 0, "batches": 2}
    run = ended_run("one", at(60), versions=versions)
    warehouse = warehouse_of(session, tmp_path, {"runs": [run], "files": [], "batches": []})
    with pytest.raises(WarehouseError) as caught:
        checked_runs(warehouse)
    [behind] = str(caught.value).splitlines()
    assert behind.startswith(f"warehouse: {tmp_path}/batches is at version ")
    assert behind.endswith(f" left it at version 2: commits are lost. {REBUILD}")
    shutil.rmtree(tmp_path / "files")
    with pytest.raises(WarehouseError) as caught:
        checked_runs(warehouse)
    _, gone = str(caught.value).splitlines()
    assert gone.startswith(f"warehouse: {tmp_path}/files is gone, but the run of 2026-11-20T13:00:00Z that ")
    assert RUNS.name in versions
