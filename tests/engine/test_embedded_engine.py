"""What the code works around for the embedded engine. A test that fails here names code that may go."""

from pathlib import Path

import pytest
import yaml
from pyspark.errors.exceptions.base import PySparkException
from pyspark.errors.utils import is_debugging_enabled
from pyspark.sql import DataFrame, SparkSession

from pipelines.engine import table_writes
from pipelines.storage import table_log
from tests.support.factories import INITIATOR, TARGET, catalog, database, short_talk
from tests.support.harness import Project

ROWS = "select * from values ('a', 1), (cast(null as string), 2), ('b', 3) as rows(id, number)"


def stored(session: SparkSession, folder: Path) -> DataFrame:
    """Rows of files: the engine moves tests into a scan."""
    session.sql(ROWS).write.parquet(f"{folder}/rows")
    return session.read.parquet(f"{folder}/rows")


def table_of_ids(session: SparkSession, folder: Path) -> str:
    """A Delta table whose id may not be null."""
    name = table_writes.identifier_of_new(session, f"{folder}/table")
    session.sql(f"CREATE TABLE {name} (id string NOT NULL, number int) USING delta LOCATION '{folder}/table'")
    return f"{folder}/table"


def test_not_null_is_tested_on_rows_that_are_left_out_later(embedded: SparkSession, tmp_path: Path) -> None:
    """Why `require_not_null` tests NOT NULLs, and `check_constraints_last` CHECKs."""
    path = table_of_ids(embedded, tmp_path)
    without_one = embedded.sql("select 2 as number")
    known = stored(embedded, tmp_path).join(without_one, "number", "left_anti").select("id", "number")
    with pytest.raises(PySparkException, match="DELTA_NOT_NULL_CONSTRAINT_VIOLATED"):
        known.write.format("delta").mode("append").save(path)
    table_writes.check_constraints_last(known).write.format("delta").mode("append").save(path)
    assert sorted(row.id for row in embedded.read.format("delta").load(path).collect()) == ["a", "b"]


def test_rows_without_a_value_fall_to_a_predicate_that_asks_for_one(
    embedded: SparkSession, tmp_path: Path
) -> None:
    """Why `pipelines.ingest.write_ledger` says IS NOT NULL of every key by which rows move."""
    path = f"{tmp_path}/table"
    found = {}
    for where in ("id = 'a'", "id IS NOT NULL AND id = 'a'"):
        rows = embedded.sql(ROWS)
        rows.write.format("delta").mode("overwrite").save(path)
        rows.where("false").write.format("delta").mode("overwrite").option("replaceWhere", where).save(path)
        found[where] = sorted(row.number for row in embedded.read.format("delta").load(path).collect())
    assert found == {"id = 'a'": [3], "id IS NOT NULL AND id = 'a'": [2, 3]}


def test_rows_outside_of_what_they_replace_are_not_refused(embedded: SparkSession, tmp_path: Path) -> None:
    """Why the code that writes has to see to it itself."""
    path = f"{tmp_path}/table"
    embedded.sql(ROWS).write.format("delta").save(path)
    rows = embedded.sql("select 'c' id, 4 number")
    rows.write.format("delta").mode("overwrite").option("replaceWhere", "number = 1").save(path)
    assert sorted(row.number for row in embedded.read.format("delta").load(path).collect()) == [2, 3, 4]


@pytest.mark.slow
def test_columns_with_comments_are_not_united_with_others(
    embedded: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why tables that folds read and write have no comments of columns."""
    monkeypatch.setattr(table_log, "tells_comments", lambda table: True)
    other = catalog({"SQL1": [database("A", INITIATOR, "OldQueue"), database("B", TARGET, "TargetQueue")]})
    project = Project(tmp_path, catalog=other)
    project.add(short_talk("c1", 0, ends=False))
    project.take_in(embedded)
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(catalog()))
    with pytest.raises(PySparkException, match="Physical input schema should be the same"):
        project.take_in(embedded)


def test_a_table_is_created_by_name(embedded: SparkSession, tmp_path: Path) -> None:
    """Why `identifier_of_new` makes one up, which the session forgets."""
    with pytest.raises(PySparkException):
        embedded.sql(f"CREATE TABLE delta.`{tmp_path}/table` (id string) USING delta")


def test_no_column_looks_for_the_line_of_the_program(session: SparkSession) -> None:
    """By default each does, which is a tenth of a small night."""
    assert not is_debugging_enabled()
