"""Python sees rows in order."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.ordered import sort_within_keys, split_by_key

if TYPE_CHECKING:
    import pyarrow as pa

ROWS, KEYS = 60_000, 7


def shuffled(session: SparkSession) -> DataFrame:
    """Keys and the numbers within each, in no order; most are of one key."""
    number = F.col("id").alias("number")
    key = F.when(F.col("id") % 10 == 0, F.col("id") % KEYS).otherwise(0).cast("int").alias("key")
    return session.range(0, ROWS, 1, 4).select(key, number).orderBy(F.hash("number"))


def steps_back(rows: DataFrame) -> int:
    """How often a row goes before the one that Python saw last, or a key comes back."""

    def count(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        last, found, ended = (-1, -1), 0, set[int]()
        for batch in batches:
            for key, number in zip(*(column.to_pylist() for column in batch.columns[:2]), strict=True):
                if key != last[0]:
                    ended.add(last[0])
                    found += key in ended
                else:
                    found += number < last[1]
                last = key, number
        yield pa.RecordBatch.from_arrays([pa.array([found])], ["found"])

    return int(rows.mapInArrow(count, "found bigint").agg(F.sum("found")).collect()[0][0])


def test_rows_come_in_order(session: SparkSession) -> None:
    assert steps_back(sort_within_keys(shuffled(session), "key", ["number"])) == 0


def test_batches_are_cut_where_the_key_changes() -> None:
    import pyarrow as pa

    def batch(*keys: int) -> "pa.RecordBatch":
        return pa.RecordBatch.from_arrays([pa.array(keys, pa.int32())], ["key"])

    cut = split_by_key([batch(), batch(1, 1, 2), batch(2), batch(), batch(2, 5), batch(5)])
    assert [(key, rows.column(0).to_pylist(), is_last) for key, rows, is_last in cut] == [
        (1, [1, 1], True),
        (2, [2], False),
        (2, [2], False),
        (2, [2], True),
        (5, [5], False),
        (5, [5], True),
    ]
    assert list(split_by_key([batch()])) == []


def test_the_embedded_engine_still_needs_it(embedded: SparkSession) -> None:
    # If this fails, sorting is enough on both engines, and the window can go.
    assert steps_back(shuffled(embedded).repartition("key").sortWithinPartitions("key", "number")) > 0
