"""Rows by key: sorted for Python workers, single and repeated keys, and a constant by key."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.session import is_embedded

if TYPE_CHECKING:
    import pyarrow as pa


def sort_within_keys(rows: DataFrame, key: str, order: Sequence[str]) -> DataFrame:
    """Put the rows of a key into one partition, one after the other, for a `mapInArrow` that follows.

    The embedded engine drops an order that only Python needs, and preserves the order of a window. Apache
    Spark would copy a whole partition for a window. The reader must check the order of the rows: a server
    that SPARK_REMOTE names can be either engine.

    Args:
        rows: anything.
        key: rows with the same value stay together.
        order: the columns to sort by within a key.

    Returns:
        The same rows, in order, perhaps with one more column.
    """
    if is_embedded(rows.sparkSession):
        place = F.row_number().over(Window.partitionBy(key).orderBy(*order))
        return rows.withColumn("place_in_order", place)
    return rows.repartition(key).sortWithinPartitions(key, *order)


def split_by_key(batches: Iterable["pa.RecordBatch"]) -> Iterator[tuple[Any, "pa.RecordBatch", bool]]:
    """Cut batches whose rows are in order into rows of one key each; the key is the first column.

    Yields:
        The key, rows of it, and whether they are the last of it.
    """
    import pyarrow.compute as pc

    before: tuple[Any, pa.RecordBatch] | None = None
    for batch in batches:
        encoded = pc.run_end_encode(batch.column(0), run_end_type="int64")
        begin = 0
        for key, end in zip(encoded.values.to_pylist(), encoded.run_ends.to_pylist(), strict=True):
            if before:
                yield *before, before[0] != key
            before = key, batch.slice(begin, end - begin)
            begin = end
    if before:
        yield *before, True


def single_and_repeated(rows: DataFrame, key: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """The rows whose key no other row has, and all others.

    A window or `min_by` costs the embedded engine some microseconds for each key, and often most keys have
    one row.

    Args:
        rows: materialized, or quick to compute: they are read three times.
        key: columns that are never null.
    """
    counted = rows.groupBy(*key).agg(F.count(F.lit(1)).alias("rows_of_key"))
    several = counted.where("rows_of_key > 1").select(*key)
    return rows.join(several, list(key), "left_anti"), rows.join(several, list(key), "left_semi")


def with_value_by_key(
    rows: DataFrame,
    keys: DataFrame,
    name: str,
    *,
    if_in_keys: Column,
    otherwise: Column,
    is_cheap: bool,
) -> DataFrame:
    """Add a column that has one of two constants, by whether the row's key is among the keys.

    The embedded engine sorts rows by partition before it writes them, unless a plan says that all rows of a
    branch have the same partition. Two branches cost less than the sort if the rows are cheap to read twice:
    on a log of 100,000 messages, one branch takes 8 percent more processor time, and two branches for rows
    that are computed take 6 percent more.

    Args:
        rows: rows with the columns of the keys.
        keys: materialized and unique; all its columns are the key.
        name: the column to add.
        if_in_keys: its value for rows of the keys.
        otherwise: its value for all other rows.
        is_cheap: the rows are read from files rather than computed.
    """
    key = keys.columns
    if is_cheap and is_embedded(rows.sparkSession):
        in_keys, others = (rows.join(keys, key, how) for how in ("left_semi", "left_anti"))
        return others.withColumn(name, otherwise).unionByName(in_keys.withColumn(name, if_in_keys))
    is_in_keys = F.col("is_in_keys").isNotNull()
    return (
        rows.join(keys.withColumn("is_in_keys", F.lit(True)), key, "left")
        .withColumn(name, F.when(is_in_keys, if_in_keys).otherwise(otherwise))
        .drop("is_in_keys")
    )
