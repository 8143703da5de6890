"""A warehouse of the version before goes on: a column that came later is null until a night writes it."""

import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from schemas import TABLES
from tests.support.factories import at
from tests.support.harness import Project
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import contents

pytestmark = pytest.mark.slow

CAME_LATER = {
    "batches": ["newest_data"],
    "endpoints": ["conversation_handle"],
    "message_events": ["size_bytes"],
    "receive_schedule": [
        *("message_sequence_number", "contract", "local_service", "remote_service"),
        *("held_since", "held_source"),
    ],
    "runs": ["newest_data"],
    "transmission_schedule": ["why_still_here", "contract", "waits_for", "waits_since", "waits_source"],
}
FIRST, SECOND = at(60), at(60, day=1)


def test_two_nights(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    project.add(a_bit_of_everything())
    project.run(session, FIRST)
    for table, columns in CAME_LATER.items():
        leave_out(project, table, columns)
    before = contents(project)
    warehouse = project.warehouse(session)
    warehouse.require_this_shape()
    for table, columns in CAME_LATER.items():
        rows = warehouse.read(TABLES[table])
        without = rows.where(" AND ".join(f"{column} IS NULL" for column in columns))
        assert rows.count() == without.count() == len(project.table(table)) > 0

    project.add(night_after())
    project.run(session, SECOND)
    for table, columns in CAME_LATER.items():
        assert set(columns) <= set(project.table(table)[0]), table
        assert len(project.table(table)) >= len(before.get(table, []))
    columns = ["as_of", "message_sequence_number", "contract"]
    found = {tuple(row.values()) for row in project.table("receive_schedule", columns)}
    assert {row for row in found if row[0] == FIRST} == {(FIRST, None, None)}
    assert (SECOND, 1, "Contract") in found


def leave_out(project: Project, table: str, columns: list[str]) -> None:
    """Write a table again as a version without these columns did."""
    path = str(project.folder / "warehouse" / table)
    version = DeltaTable(path).version()
    rows = DeltaTable(path).to_pyarrow_table().drop_columns(columns)
    shutil.rmtree(path)
    partitions = list(TABLES[table].partition_by)
    write_deltalake(path, rows, partition_by=partitions or None)
    while DeltaTable(path).version() < version:
        write_deltalake(path, rows.slice(0, 0), mode="append")
