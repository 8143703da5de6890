"""Housekeeping: what it says it will do it does, and nothing that a reader or a later run needs goes away."""

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipelines.commands import upkeep
from pipelines.config.errors import PipelineError, WarehouseError
from pipelines.engine.frames import small_frame
from pipelines.storage.maintain import maintain as maintain_by
from pipelines.storage.published import published_as_of
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS
from schemas.outputs import BATCHES, RUNS, UNRESOLVED
from schemas.reading import as_of_key
from schemas.table import Table
from tests.support.factories import Row, at, catalog
from tests.support.harness import Project
from tests.support.written import batch, ended_run, endpoint, write

pytestmark = pytest.mark.slow

MESSAGES = [("receive", f"m{number}", "endpoint_unknown", "SQL1", "B", "Q") for number in range(2)]
FILES_A_WRITE = 2


def night(warehouse: Warehouse, as_of: datetime, **run: Any) -> None:
    """What a run leaves of a table with an as_of, and of `runs`; the first is written twice (a rerun)."""
    rows = [(as_of, as_of_key(as_of), *message) for message in MESSAGES]
    first, last = (small_frame(warehouse.spark, part, UNRESOLVED.struct) for part in (rows[:1], rows[1:]))
    for _ in range(2):
        warehouse.replace_as_of(UNRESOLVED, first.drop("as_of", "as_of_key"), as_of)
        warehouse.append(UNRESOLVED, last)
    append(warehouse, RUNS, [ended_run(f"run of {as_of}", as_of, **run)])


def append(warehouse: Warehouse, table: Table, rows: Iterable[Row]) -> None:
    values = [[row.get(name) for name in table.names] for row in rows]
    warehouse.append(table, small_frame(warehouse.spark, values, table.struct))


def maintain(warehouse: Warehouse, **options: Any) -> list[str]:
    """On Apache Spark by its session, on the embedded engine by delta-rs."""
    return maintain_by(warehouse.root, spark=warehouse.spark, **options)


def files(project: Project, table: str) -> list[str]:
    """The files that the table's rows are in."""
    return DeltaTable(str(project.folder / "warehouse" / table)).file_uris()


def on_disk(project: Project) -> dict[str, int]:
    """How many data files there are, by table; Delta's own checkpoints do not count."""
    return {
        table.name: len([path for path in table.rglob("*.parquet") if "_delta_log" not in path.parts])
        for table in Path(project.folder, "warehouse").iterdir()
    }


def version(project: Project, table: str) -> int:
    return DeltaTable(str(project.folder / "warehouse" / table)).version()


def test_housekeeping(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    warehouse = project.warehouse(session)
    for day in range(4):
        night(warehouse, at(day=day))
    written = 4 * FILES_A_WRITE
    before = on_disk(project)
    assert before == {"unresolved": 2 * written, "runs": 4}

    plan = maintain(warehouse, keep_days=2, keep_hours=0, dry_run=True)
    assert plan == [
        f"unresolved: remove 1 as_ofs, 2026-11-20T12:00:00Z to 2026-11-20T12:00:00Z; "
        f"join {3 * FILES_A_WRITE} files in 3 partitions; delete {written} unused files",
        "runs: join 4 files in 1 partitions",
    ]
    assert on_disk(project) == before

    assert maintain(warehouse, keep_days=2, keep_hours=0) == plan
    assert on_disk(project) == {"unresolved": 3, "runs": 1}
    assert sorted((row["as_of"], row["id"]) for row in project.table("unresolved")) == [
        (at(day=day), id) for day in (1, 2, 3) for _, id, *_ in MESSAGES
    ]
    assert sorted(row["as_of"] for row in project.table("runs")) == [at(day=day) for day in range(4)]
    before_nothing = version(project, "unresolved")
    assert maintain(warehouse, keep_days=2, keep_hours=0) == []
    assert version(project, "unresolved") == before_nothing

    # From here on every night finds and leaves as many files as the one before it.
    for day in (4, 5):
        night(warehouse, at(day=day))
        maintain(warehouse, keep_days=2, keep_hours=0)
        assert on_disk(project) == {"unresolved": 3, "runs": 1}


def test_tables_stay_what_they_were_declared(session: SparkSession, tmp_path: Path) -> None:
    """What delta-rs has written is read, replaced and checked by the engine as before.

    The third fold was broken off: what it left is not put together with the rest until it was done again.
    """
    warehouse = Warehouse(session, str(tmp_path))
    warehouse.create_missing(RUNS)
    day = at().date()
    for fold in (1, 2, 3):
        rows = [endpoint(f"{fold} {end}", closed_on=end, fold=fold, rule_name="ü 'R'") for end in (None, day)]
        append(warehouse, ENDPOINTS, rows)
    write(warehouse, BATCHES, [batch(1), batch(2)])

    assert maintain(warehouse, keep_hours=0)[0] == "endpoints: compact 1 closed day"
    found = warehouse.read(ENDPOINTS).where("rule_name = \"ü 'R'\" and created_at is not null")
    places = [(row.closed_on, row.fold) for row in found.select("closed_on", "fold").collect()]
    assert sorted(places, key=str) == [
        *((None, fold) for fold in (1, 2, 3)),
        *((day, fold) for fold in (2, 2, 3)),
    ]
    declared = [(field.name, field.dataType) for field in ENDPOINTS.struct.fields]
    assert [(field.name, field.dataType) for field in found.schema.fields] == declared

    where = f"closed_on = DATE'{day}' AND fold = 2"
    warehouse.replace(ENDPOINTS, warehouse.read(ENDPOINTS).where(where).limit(1), where=where)
    assert warehouse.read(ENDPOINTS).count() == 5
    for wrong in ({"priority": 11}, {"contract": None}):
        with pytest.raises(Exception, match=r"(?i)constraint|null"):
            write(warehouse, ENDPOINTS, [endpoint(**wrong)])
    assert warehouse.read(ENDPOINTS).count() == 5


def test_what_readers_may_be_at_is_kept(embedded: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    night(project.warehouse(embedded), at())
    assert maintain(project.warehouse(embedded)) == [
        f"unresolved: join {FILES_A_WRITE} files in 1 partitions"
    ]
    assert len(files(project, "unresolved")) == 1
    assert on_disk(project)["unresolved"] == 2 * FILES_A_WRITE + 1
    before = DeltaTable(f"{project.settings().warehouse}/unresolved", version=2)
    assert before.to_pyarrow_table().num_rows == len(MESSAGES)
    # A table that was written once more has another as_of; more days than there are keep all.
    night(project.warehouse(embedded), at(day=1))
    for days in (800_000, 2_000_000_000, 0):
        maintain(project.warehouse(embedded), keep_days=days, keep_hours=0)
        assert len({row["as_of"] for row in project.table("unresolved")}) == (2 if days else 1), days


def test_what_was_removed_is_not_taken_for_published(session: SparkSession, tmp_path: Path) -> None:
    """The run of the first day comes last, as a backfill does; the newest as_of counts, not the last run.

    That of the third day left no row, and the rows of the ninth are gone.
    """
    project = Project(tmp_path, catalog=catalog())
    warehouse, settings = project.warehouse(session), project.settings()
    night(warehouse, at(day=1), started_at=at(60, day=8), row_counts={"receive_schedule": 0, "unresolved": 2})
    night(warehouse, at(day=4), started_at=at(60, day=4), row_counts={"unresolved": 2})
    runs = [ended_run("empty", at(day=3)), ended_run("gone", at(day=9), row_counts={"unresolved": 2})]
    append(warehouse, RUNS, runs)
    assert published_as_of(warehouse, settings, None) == at(day=4)
    assert published_as_of(warehouse, settings, at(day=1)) == at(day=1)
    maintain(warehouse, keep_days=0, keep_hours=0)
    assert published_as_of(warehouse, settings, None) == at(day=3)
    assert published_as_of(warehouse, settings, at(day=3)) == at(day=3)
    with pytest.raises(PipelineError, match=r"2026-11-21T12:00:00Z was published, but its rows were removed"):
        published_as_of(warehouse, settings, at(day=1))


def test_a_warehouse_of_an_older_version_is_refused(tmp_path: Path) -> None:
    write_deltalake(f"{tmp_path}/batches", pa.table({"batch": [1]}))
    with pytest.raises(WarehouseError, match="An older version wrote the table, or another program changed"):
        maintain_by(str(tmp_path), keep_hours=0)


def test_the_command_starts_no_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "open_session", None)
    project = Project(tmp_path, catalog=catalog())
    options = ["--config", project.config, "--keep-days", "3", "--keep-hours", "0", "--dry-run"]
    assert upkeep.run_maintain(options) == 0
    assert capsys.readouterr().out == "nothing to do\n"
