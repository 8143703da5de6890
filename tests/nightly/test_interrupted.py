"""A run that breaks off after any commit is run again: the tables are as if nothing had happened.

Each test tries every second commit; tests/commands/test_kill.py ends processes at any moment.
"""

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.storage.warehouse import Warehouse
from tests.support.broken_off import BrokenOffError, dying
from tests.support.factories import at
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import changed, contents

pytestmark = [pytest.mark.slow, pytest.mark.long]


WRITES = (Warehouse, "replace", "append")
"""By way of these two everything is written."""


def test_a_night_that_breaks_off_after_every_commit(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first night of a project: it creates the tables. Each attempt comes two commits further."""
    alone = project_in(tmp_path / "alone", expect=[{"unresolved": 0}])
    alone.add(a_bit_of_everything())
    alone.run(session, at(60))
    expected = contents(alone, leave_out={"path"})
    # Only snapshots have a catalog with a history, and only traces show what was sent.
    assert [name for name, rows in expected.items() if not rows] == ["catalog_history", "sends"]

    project = project_in(tmp_path / "broken_off", expect=[{"unresolved": 0}])
    project.add(a_bit_of_everything())
    warehouse = project.folder / "warehouse"
    broken_off, allowed = 0, 0
    while not ((warehouse / "runs").exists() and project.table("runs")):
        folded = (warehouse / "batches").exists()
        try:
            with dying(monkeypatch, *WRITES, after=allowed):
                project.run(session, at(60))
        except BrokenOffError:
            broken_off += 1
            # What is folded is not folded again: the commits of the schedules are counted again.
            allowed = allowed + 2 if folded == (warehouse / "batches").exists() else 0
    assert broken_off > 6
    assert changed(expected, contents(project, leave_out={"path"})) == {}
    assert [row["status"] for row in project.table("runs")] == ["succeeded"]


COMMITS = 7
"""Of a fold that moves rows."""


def test_a_fold_that_broke_off_is_done_again(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second fold moves what was closed. Dead after some of its commits, it leaves the same ledger."""
    project = project_in(tmp_path)
    project.add(a_bit_of_everything())
    project.take_in(session)
    project.add(night_after())
    warehouse, before = tmp_path / "warehouse", tmp_path / "before"
    shutil.copytree(warehouse, before)
    with dying(monkeypatch, *WRITES, after=COMMITS) as left:
        project.take_in(session)
    assert left == [0]
    expected = contents(project)
    for table in ("message_events", "endpoint_events", "endpoints"):
        moved = [row for row in project.table(table) if row["fold"] == 2 and row["closed_on"]]
        assert moved, table
    for after in range(1, COMMITS, 2):
        shutil.rmtree(warehouse)
        shutil.copytree(before, warehouse)
        with dying(monkeypatch, *WRITES, after=after), pytest.raises(BrokenOffError):
            project.take_in(session)
        project.take_in(session)
        assert changed(expected, contents(project)) == {}, f"broken off after {after} commits"
