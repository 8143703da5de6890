"""Rows that are computed once for all that reads them."""

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.engine.materialize import materialized


def columns_of(rows: DataFrame) -> set[str]:
    """The columns as the analyzer of Apache Spark tells them apart."""
    output = rows._jdf.queryExecution().analyzed().output()
    return {output.apply(place).toString() for place in range(output.size())}


def test_kept_rows_have_columns_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    """Else Spark has to tell them from those of their origin when both are joined, and at times fails to."""
    rows = spark.range(3).toDF("id")
    with materialized(rows, str(tmp_path)) as copy:
        assert not columns_of(rows) & columns_of(copy)
        assert [row["id"] for row in rows.join(copy, "id").orderBy("id").collect()] == [0, 1, 2]


@pytest.mark.parametrize("name", ["a b#c%20d?", "[e]{f}*", "é日本", "g\\h", "i'j\"k$l&m;n"])
def test_working_files_in_a_folder_of_any_name(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    folder = tmp_path / name
    folder.mkdir()
    monkeypatch.setattr("pipelines.engine.materialize.local_scratch", lambda: folder)
    with materialized(session.range(3), str(tmp_path / "other")) as copy:
        assert copy.count() == 3
        assert len(list(folder.rglob("*.parquet"))) > 0
    assert list(folder.iterdir()) == []
    assert list(tmp_path.iterdir()) == [folder]
