"""The contract of `pipelines/engine` on Apache Spark: what both engines do, and what they do otherwise."""

from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.files import is_slow_to_open_files
from pipelines.engine.frames import small_frame
from pipelines.engine.materialize import materialized
from pipelines.engine.session import open_session
from pipelines.engine.small_jobs import is_set_for_small_jobs, set_for_small_jobs, small_job_settings
from pipelines.storage.table_log import read_small_table
from pipelines.storage.tables import open_warehouse
from pipelines.storage.warehouse import Warehouse
from schemas.ledger import ENDPOINTS
from schemas.outputs import RUNS, UNRESOLVED
from tests.engine.test_embedded_engine import ROWS, test_no_column_looks_for_the_line_of_the_program
from tests.engine.test_files import test_a_file_is_read_and_no_other
from tests.engine.test_frames import test_a_file_of_one_value
from tests.engine.test_housekeeping import require_housekept
from tests.engine.test_materialize import test_working_files_in_a_folder_of_any_name
from tests.engine.test_ordered import test_rows_come_in_order
from tests.engine.test_python_workers import test_every_row_is_seen_once
from tests.engines.play import MUCH
from tests.support.factories import at, catalog
from tests.support.harness import Project
from tests.support.plans import settings
from tests.support.written import endpoint, write

__all__ = [
    "test_a_file_is_read_and_no_other",
    "test_a_file_of_one_value",
    "test_every_row_is_seen_once",
    "test_no_column_looks_for_the_line_of_the_program",
    "test_rows_come_in_order",
    "test_working_files_in_a_folder_of_any_name",
]
"""They hold on both engines."""


def test_java_is_asked_once_for_the_methods_of_columns(spark: SparkSession) -> None:
    view = open_session("tests").sparkContext._jvm
    assert view is not None
    assert view.functions.coalesce is view.functions.coalesce
    rows = spark.range(1).select(F.coalesce(F.lit(None), F.lit(1)).alias("b"))
    assert [row.b for row in rows.collect()] == [1]


# Housekeeping, and rows that are computed once


def test_sql_keeps_house_in_a_table_of_a_cluster(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On one machine delta-rs does it, whatever the engine."""
    monkeypatch.setattr("pipelines.engine.housekeeping.is_on_this_machine", lambda _: False)
    require_housekept(spark, tmp_path)


def columns_of(rows: DataFrame) -> set[str]:
    """The columns as the analyzer tells them apart."""
    output = rows._jdf.queryExecution().analyzed().output()
    return {output.apply(place).toString() for place in range(output.size())}


def test_kept_rows_have_columns_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """Else Spark has to tell them from those of their origin when both are joined, and at times fails to."""
    rows = spark.range(3).toDF("id")
    with materialized(rows, str(tmp_path)) as copy:
        assert not columns_of(rows) & columns_of(copy)
        assert [row["id"] for row in rows.join(copy, "id").orderBy("id").collect()] == [0, 1, 2]


def test_files_are_opened_at_once(spark: SparkSession) -> None:
    assert not is_slow_to_open_files(spark)


# Sessions


def test_times_are_written_as_the_embedded_engine_reads_them(spark: SparkSession, tmp_path: Path) -> None:
    # This is what Spark does where nobody says otherwise.
    spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    open_session("test").sql("SELECT timestamp'2026-11-20 12:00:00' AS at").write.parquet(f"{tmp_path}/rows")
    [file] = tmp_path.glob("rows/*.parquet")
    assert str(pq.read_schema(file).field("at").type) == "timestamp[us, tz=UTC]"


def test_settings_for_small_jobs_end_with_their_block(spark: SparkSession) -> None:
    set_for_small_jobs(spark)
    with settings(spark, **MUCH):
        assert not is_set_for_small_jobs(spark)
        with small_job_settings(spark):
            assert is_set_for_small_jobs(spark)
        before = {name: spark.conf.get(f"spark.sql.{name.replace('_', '.')}") for name in MUCH}
        assert before == MUCH
    assert is_set_for_small_jobs(spark)


@pytest.mark.parametrize("zone", ["UTC", "Etc/UTC", "Z"])
def test_utc_has_many_names(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", zone)
    _, warehouse = open_warehouse(Project(tmp_path, catalog=catalog()).config, session)
    assert warehouse.read(RUNS).isEmpty()


def test_small_tables_are_read_by_their_files(spark: SparkSession, tmp_path: Path) -> None:
    """Delta reads large ones, and those whose files do not say which rows count."""
    warehouse, path = Warehouse(spark, str(tmp_path)), f"{tmp_path}/{ENDPOINTS.name}"
    write(warehouse, ENDPOINTS, [endpoint("open"), endpoint("ended", closed_on=date(2026, 11, 20))])

    def read() -> list[tuple[str, date | None]]:
        rows = warehouse.read(ENDPOINTS).orderBy("conversation_id").collect()
        return [(row.conversation_id, row.closed_on) for row in rows]

    expected = [("ended", date(2026, 11, 20)), ("open", None)]
    assert read_small_table(spark, path, ENDPOINTS.struct) is not None
    assert read() == expected
    with settings(spark, **MUCH):
        assert read_small_table(spark, path, ENDPOINTS.struct) is None
        assert read() == expected
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE conversation_id = 'open'")
    assert read_small_table(spark, path, ENDPOINTS.struct) is None
    assert read() == expected[:1]


# Writes: `tests/engine/test_embedded_engine.py` has what the embedded engine does


def test_rows_without_a_value_stay_where_others_are_replaced(spark: SparkSession, tmp_path: Path) -> None:
    path, rows = f"{tmp_path}/table", spark.sql(ROWS)
    rows.write.format("delta").save(path)
    rows.where("false").write.format("delta").mode("overwrite").option("replaceWhere", "id = 'a'").save(path)
    assert sorted(row.number for row in spark.read.format("delta").load(path).collect()) == [2, 3]


def test_rows_outside_of_what_they_replace_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(at(), "20261120T120000000000Z", "receive", "m", "endpoint_unknown", None, None, None)]
    with pytest.raises(AnalysisException, match="REPLACE_WHERE_MISMATCH"):
        Warehouse(spark, str(tmp_path)).replace(
            UNRESOLVED, small_frame(spark, rows, UNRESOLVED.struct), where="as_of_key = 'another'"
        )
