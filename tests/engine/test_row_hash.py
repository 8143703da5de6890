"""Hashes of columns, also where a file has one value in each."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.engine.frames import row_hash


@pytest.mark.parametrize("value", ["x", None])
def test_a_file_of_one_value(session: SparkSession, tmp_path: Path, value: str | None) -> None:
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": pa.array([value] * 3, pa.string()), "number": [7] * 3}), file)
    rows = session.read.parquet(str(file)).select(row_hash(F.col("text"), F.col("number")).alias("hash"))
    other = session.createDataFrame([(value, 7)], "text string, number bigint")
    [expected] = other.select(F.xxhash64("text", "number").alias("hash")).collect()
    assert [row.hash for row in rows.collect()] == [expected.hash] * 3
