"""Housekeeping: what it says it will do it does, and nothing that a reader or a later run needs goes away."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random

import pytest
from delta.tables import DeltaTable as WritableTable
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from jobs import ingest, ledger, maintain, publish, rules, schedules
from pipelines.settings.load import Settings, load_settings
from schemas import TABLES
from schemas.ledger import LEDGER_BATCHES
from schemas.outputs import UNRESOLVED
from storage.small_frame import small_frame
from storage.warehouse import Warehouse
from tests.factories import Events, at, catalog
from tests.harness import SOURCES, Project, one_log
from tests.jobs.test_nightly_properties import DAYS, nights, stretched
from tests.jobs.warehouses import changed, contents
from tests.test_against_model import project_of, random_logs, require_equal

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


def files(project: Project, table: str) -> list[str]:
    """The files that the table's rows are in."""
    return DeltaTable(str(project.folder / "warehouse" / table)).file_uris()


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


KEPT_APART_BY_FOLD = ("endpoints", "messages", "transactions", "queue_sessions", "queue_changes", "rollbacks")


def test_folds_go_on_from_what_was_put_together(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four nights; every fifth event of all days comes in the last one, after housekeeping.

    The third fold is broken off before its last write: what it left is not put together with the rest
    until it was done again, and what the first two left is.
    """
    monkeypatch.setattr(maintain, "TABLES", {name: TABLES[name] for name in KEPT_APART_BY_FOLD})
    log = replace(stretched(one_log(random_logs(12, 23)), 3), as_of=DAYS[2])
    project = project_of(tmp_path, log)
    settings, random = load_settings(project.config), Random(23)
    last: dict[str, list[dict[str, object]]] = {source: [] for source in SOURCES}
    rules.run(spark, settings)
    for events in nights(log.events, random):
        for source, rows in events.items():
            late = [row for row in rows if random.random() < 0.2]
            last[source] += late
            events[source] = [row for row in rows if row not in late]
        fold(spark, project, events)
    WritableTable.forPath(spark, Warehouse(spark, settings.warehouse).path(LEDGER_BATCHES)).delete(
        "ledger_batch = 3"
    )
    broken_off = of_fold(project, 3)
    assert spread(project, last=2)
    maintain.run(spark, settings, keep_hours=0)
    assert not spread(project, last=2)
    assert of_fold(project, 3) == broken_off

    fold(spark, project, last)
    schedules.run(spark, settings, log.as_of)
    require_equal(project, log)
    before = contents(project, leave_out=["ledger_batch"])
    maintain.run(spark, settings, keep_hours=0)
    assert changed(before, contents(project, leave_out=["ledger_batch"])) == {}
    for table in KEPT_APART_BY_FOLD:
        assert len(files(project, table)) == len({day_of(row) for row in project.table(table)}), table


def fold(spark: SparkSession, project: Project, events: Events) -> None:
    """Take events in, and fold them."""
    project.add(events)
    settings = load_settings(project.config)
    ingest.run(spark, settings, run_id="run", started_at=at())
    ledger.run(spark, settings)


def spread(project: Project, *, last: int) -> set[tuple[str, object]]:
    """Tables and days whose rows are of several folds up to the last one; null is the day of open rows."""
    found: dict[tuple[str, object], set[int]] = {}
    for table in KEPT_APART_BY_FOLD:
        for row in project.table(table):
            if row["ledger_batch"] <= last:
                found.setdefault((table, day_of(row)), set()).add(row["ledger_batch"])
    return {place for place, folds in found.items() if len(folds) > 1}


def of_fold(project: Project, fold: int) -> dict[str, list[str]]:
    """The rows that are said to be of a fold."""
    return {
        table: sorted(str(row) for row in project.table(table) if row["ledger_batch"] == fold)
        for table in KEPT_APART_BY_FOLD
    }


def day_of(row: dict[str, object]) -> object:
    """The day of a row's partition; null for an open row, and where the table has none."""
    return row.get("closed_on", row.get("event_date"))


def test_what_readers_may_be_at_is_kept(spark: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    settings = load_settings(project.config)
    night(spark, settings, at())

    assert maintain.run(spark, settings) == [f"unresolved: join {FILES_A_WRITE} files in 1 partitions"]
    assert len(files(project, "unresolved")) == 1
    assert on_disk(project)["unresolved"] == 2 * FILES_A_WRITE + 1
    first = DeltaTable(str(project.folder / "warehouse" / "unresolved"), version=1)
    assert first.to_pyarrow_table().num_rows == len(MESSAGES)
