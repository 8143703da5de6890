"""Rows that have one of many keys, and hashes of columns."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession, functions as F

from pipelines.engine.frames import among, row_hash
from tests.support.frames import assert_same, frame

ROWS = """
    instance | database | messages int
    SQL1     | A        | 1
    SQL1     | A        | 2
    SQL1     | B        | 3
    SQL2     | A        | 4
    -        | A        | 5
"""


def test_rows_stay_whose_columns_together_are_a_key(session: SparkSession) -> None:
    keys = [("SQL1", "A"), ("SQL2", "B"), ("SQL1", "A")]
    expected = """
        instance | database | messages int
        SQL1     | A        | 1
        SQL1     | A        | 2
    """
    found = among(frame(session, ROWS), keys, "instance string, database string")
    assert_same(found, frame(session, expected))


def test_a_thousand_keys_and_none(session: SparkSession) -> None:
    found = among(frame(session, ROWS), [(number,) for number in range(4, 1004)], "messages int")
    assert sorted(row.messages for row in found.collect()) == [4, 5]
    assert among(frame(session, ROWS), [], "instance string").isEmpty()


@pytest.mark.parametrize("value", ["x", None])
def test_a_file_of_one_value(session: SparkSession, tmp_path: Path, value: str | None) -> None:
    """Its hashes are those of other rows."""
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"text": pa.array([value] * 3, pa.string()), "number": [7] * 3}), file)
    rows = session.read.parquet(str(file)).select(row_hash(F.col("text"), F.col("number")).alias("hash"))
    other = session.createDataFrame([(value, 7)], "text string, number bigint")
    [expected] = other.select(F.xxhash64("text", "number").alias("hash")).collect()
    assert [row.hash for row in rows.collect()] == [expected.hash] * 3
