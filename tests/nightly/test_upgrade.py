"""A warehouse of the version before goes on: a column that came later is null until a night writes it."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from schemas import TABLES
from tests.support.factories import at
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import CAME_LATER, contents, make_older

pytestmark = pytest.mark.slow

FIRST, SECOND = at(60), at(60, day=1)


@pytest.mark.long
def test_two_nights(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    project.add(a_bit_of_everything())
    project.run(session, FIRST)
    make_older(project.folder / "warehouse")
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
