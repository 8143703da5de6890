"""Housekeeping: what it says it will do it does, and nothing that a reader or a later run needs goes away."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipelines.commands import maintain as job
from pipelines.config.errors import PipelineError, WarehouseError
from pipelines.engine.frames import small_frame
from pipelines.ingest.ingest import find_new_input, ingest
from pipelines.ladder.write import write_rules
from pipelines.schedules.write import write_schedules
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.maintain import maintain as maintain_by
from pipelines.storage.published import published_as_of
from pipelines.storage.warehouse import Warehouse
from schemas.events import ACCEPTED
from schemas.ledger import ENDPOINTS
from schemas.outputs import BATCHES, RUNS, UNRESOLVED
from schemas.reading import as_of_key
from tests.support.factories import Events, at, catalog
from tests.support.harness import SOURCES, Project, one_log
from tests.support.nights import DAYS, nights, stretched
from tests.support.random_logs import project_of, random_logs, require_equal
from tests.support.warehouses import changed, contents
from tests.support.written import ended_run, endpoint, write

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
    values = [ended_run(f"run of {as_of}", as_of, **run).get(name) for name in RUNS.names]
    warehouse.append(RUNS, small_frame(warehouse.spark, [values], RUNS.struct))


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
    """What delta-rs has written is read, replaced and checked by the engine as before."""
    warehouse = Warehouse(session, str(tmp_path))
    warehouse.create_missing(RUNS)
    day = at().date()
    for fold_number in (1, 2):
        rows = [
            endpoint(f"{fold_number} {end}", closed_on=end, fold=fold_number, rule_name="ü 'R'")
            for end in (None, day)
        ]
        values = [[row.get(name) for name in ENDPOINTS.names] for row in rows]
        warehouse.append(ENDPOINTS, small_frame(session, values, ENDPOINTS.struct))
    batches = [{"batch": number, "source": "s", "bindings": "b"} for number in (1, 2)]
    counted = dict.fromkeys(("events", "accepted", "duplicates", "rejected"), 0)
    write(warehouse, BATCHES, [row | counted for row in batches])

    assert maintain(warehouse, keep_hours=0)[0] == "endpoints: compact 1 closed day"
    found = warehouse.read(ENDPOINTS).where("rule_name = \"ü 'R'\" and created_at is not null")
    places = [(row.closed_on, row.fold) for row in found.select("closed_on", "fold").collect()]
    assert sorted(places, key=str) == sorted([(None, 1), (None, 2), (day, 2), (day, 2)], key=str)
    declared = [(field.name, field.dataType) for field in ENDPOINTS.struct.fields]
    assert [(field.name, field.dataType) for field in found.schema.fields] == declared

    where = f"closed_on = DATE'{day}' AND fold = 2"
    warehouse.replace(ENDPOINTS, warehouse.read(ENDPOINTS).where(where).limit(1), where=where)
    assert warehouse.read(ENDPOINTS).count() == 3
    for wrong in ({"priority": 11}, {"contract": None}):
        with pytest.raises(Exception, match=r"(?i)constraint|null"):
            write(warehouse, ENDPOINTS, [endpoint(**wrong)])
    assert warehouse.read(ENDPOINTS).count() == 3


KEPT_APART_BY_FOLD = (*ACCEPTED, ENDPOINTS.name)


def test_folds_go_on_from_what_was_put_together(session: SparkSession, tmp_path: Path) -> None:
    """Four nights; every fifth event of all days comes in the last one, after housekeeping.

    The third fold is broken off before its last write: what it left is not put together with the rest
    until it was done again, and what the first two left is.
    """
    log = replace(stretched(one_log(random_logs(12, 24)), 3), as_of=DAYS[2])
    project, random = project_of(tmp_path, log), Random(24)
    warehouse = project.warehouse(session)
    last: dict[str, list[dict[str, object]]] = {source: [] for source in SOURCES}
    write_rules(warehouse, project.settings(), None)
    for events in nights(log.events, random):
        for source, rows in events.items():
            late = [row for row in rows if random.random() < 0.2]
            last[source] += late
            events[source] = [row for row in rows if row not in late]
        take_in(warehouse, project, events)
    DeltaTable(f"{warehouse.root}/batches").delete("batch = 3")
    broken_off = of_fold(project, 3)
    assert spread(project, last=2)
    maintain(warehouse, keep_hours=0)
    assert not spread(project, last=2)
    assert of_fold(project, 3) == broken_off

    take_in(warehouse, project, last)
    write_schedules(warehouse, project.settings(), log.as_of, read_completed_batches(warehouse))
    require_equal(project, log)
    before = contents(project, leave_out=["fold"])
    maintain(warehouse, keep_hours=0)
    assert changed(before, contents(project, leave_out=["fold"])) == {}
    for table in KEPT_APART_BY_FOLD:
        assert len(files(project, table)) == len({row["closed_on"] for row in project.table(table)}), table


def take_in(warehouse: Warehouse, project: Project, events: Events) -> None:
    """Add events, and fold them."""
    project.add(events)
    settings = project.settings()
    new = find_new_input(warehouse, settings)
    with warehouse.materializing() as materialize:
        ingest(warehouse, settings, new, run_id="run", started_at=at(), materialize_state=materialize)


def spread(project: Project, *, last: int) -> set[tuple[str, object]]:
    """Tables and closed days whose rows are of several folds up to the last one."""
    found: dict[tuple[str, object], set[int]] = {}
    for table in KEPT_APART_BY_FOLD:
        for row in project.table(table):
            if row["fold"] <= last and row["closed_on"] is not None:
                found.setdefault((table, row["closed_on"]), set()).add(row["fold"])
    return {place for place, folds in found.items() if len(folds) > 1}


def of_fold(project: Project, ingest: int) -> dict[str, list[str]]:
    """The rows that are said to be of a fold."""
    return {
        table: sorted(str(row) for row in project.table(table) if row["fold"] == ingest)
        for table in KEPT_APART_BY_FOLD
    }


def test_what_readers_may_be_at_is_kept(embedded: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    night(project.warehouse(embedded), at())

    lines = maintain(project.warehouse(embedded))
    assert lines == [f"unresolved: join {FILES_A_WRITE} files in 1 partitions"]
    assert len(files(project, "unresolved")) == 1
    assert on_disk(project)["unresolved"] == 2 * FILES_A_WRITE + 1
    before = DeltaTable(f"{project.settings().warehouse}/unresolved", version=2)
    assert before.to_pyarrow_table().num_rows == len(MESSAGES)


def test_what_was_removed_is_not_taken_for_published(session: SparkSession, tmp_path: Path) -> None:
    """The run of the first day comes last, as a backfill does; the newest as_of counts, not the last run.

    That of the third day left no row, and the rows of the ninth are gone.
    """
    project = Project(tmp_path, catalog=catalog())
    warehouse, settings = project.warehouse(session), project.settings()
    night(warehouse, at(day=1), started_at=at(60, day=8), row_counts={"receive_schedule": 0, "unresolved": 2})
    night(warehouse, at(day=4), started_at=at(60, day=4), row_counts={"unresolved": 2})
    runs = [ended_run("empty", at(day=3)), ended_run("gone", at(day=9), row_counts={"unresolved": 2})]
    values = [[run.get(name) for name in RUNS.names] for run in runs]
    warehouse.append(RUNS, small_frame(session, values, RUNS.struct))
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


def test_more_days_than_there_are_keep_all(embedded: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    warehouse = project.warehouse(embedded)
    for day in range(2):
        night(warehouse, at(day=day))
    for days in (800_000, 2_000_000_000, 0):
        maintain(warehouse, keep_days=days, keep_hours=0)
        assert len({row["as_of"] for row in project.table("unresolved")}) == (2 if days else 1), days


def test_the_command_starts_no_engine(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "open_session", None)
    project = Project(tmp_path, catalog=catalog())
    assert job.main(["--config", project.config, "--keep-days", "3", "--keep-hours", "0", "--dry-run"]) == 0
    assert capsys.readouterr().out == "nothing to do\n"
