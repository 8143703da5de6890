"""Housekeeping: what it says it will do it does, and nothing that a reader or a later run needs goes away."""

from datetime import datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs import maintain, publish
from pipelines.settings.load import Settings, load_settings
from schemas.outputs import UNRESOLVED
from storage.small_frame import small_frame
from storage.warehouse import Warehouse
from tests.factories import at, catalog
from tests.harness import Project

pytestmark = pytest.mark.slow

MESSAGES = [("receive", f"m{number}", "endpoint_unknown") for number in range(4)]
FILES_A_WRITE = 2


def night(spark: SparkSession, settings: Settings, as_of: datetime) -> None:
    """What a run leaves of a table with an as_of, and of `runs`; the first is written twice (a rerun)."""
    rows = small_frame(spark, [(as_of, *message) for message in MESSAGES], UNRESOLVED.struct)
    for _ in range(2):
        Warehouse(spark, settings.warehouse).replace(
            UNRESOLVED,
            rows.repartition(FILES_A_WRITE),
            where=f"as_of = TIMESTAMP'{as_of.isoformat()}'",
        )
    run = publish.Run.begin(as_of)
    publish.write_row(spark, settings, run, "succeeded", {}, {}, None)


def live(project: Project, table: str) -> int:
    """How many files the table's rows are in."""
    return len(DeltaTable(str(project.folder / "warehouse" / table)).file_uris())


def on_disk(project: Project) -> dict[str, int]:
    """How many data files there are, by table; Delta's own checkpoints do not count."""
    return {
        table.name: len([path for path in table.rglob("*.parquet") if "_delta_log" not in path.parts])
        for table in Path(project.folder, "warehouse").iterdir()
    }


def test_housekeeping(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    settings = load_settings(project.config)
    for day in range(4):
        night(spark, settings, at(day=day))
    written = 4 * FILES_A_WRITE
    before = on_disk(project)
    assert before == {"unresolved": 2 * written, "runs": 4}

    plan = maintain.run(spark, settings, keep_days=2, keep_hours=0, dry_run=True)
    assert plan == [
        f"unresolved: remove 1 as_ofs, 2026-11-20 12:00:00 to 2026-11-20 12:00:00; "
        f"join {written} files in 4 partitions; delete {written} unused files",
        "runs: join 4 files in 1 partitions",
    ]
    assert on_disk(project) == before

    assert maintain.run(spark, settings, keep_days=2, keep_hours=0) == plan
    assert on_disk(project) == {"unresolved": 3, "runs": 1}
    assert sorted((row["as_of"], row["id"]) for row in project.table("unresolved")) == [
        (at(day=day), id) for day in (1, 2, 3) for _, id, _ in MESSAGES
    ]
    assert sorted(row["as_of"] for row in project.table("runs")) == [at(day=day) for day in range(4)]
    assert maintain.run(spark, settings, keep_days=2, keep_hours=0) == []

    # From here on every night finds and leaves as many files as the one before it.
    for day in (4, 5):
        night(spark, settings, at(day=day))
        maintain.run(spark, settings, keep_days=2, keep_hours=0)
        assert on_disk(project) == {"unresolved": 3, "runs": 1}


def test_what_readers_may_be_at_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    settings = load_settings(project.config)
    night(spark, settings, at())

    assert maintain.run(spark, settings) == [f"unresolved: join {FILES_A_WRITE} files in 1 partitions"]
    assert live(project, "unresolved") == 1
    assert on_disk(project)["unresolved"] == 2 * FILES_A_WRITE + 1
    first = DeltaTable(str(project.folder / "warehouse" / "unresolved"), version=1)
    assert first.to_pyarrow_table().num_rows == len(MESSAGES)
