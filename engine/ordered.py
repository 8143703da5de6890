"""Rows in order before Python looks at them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, Window, functions as F

from engine.session import is_embedded

if TYPE_CHECKING:
    import pyarrow as pa


def in_order(rows: DataFrame, key: str, order: Sequence[str]) -> DataFrame:
    """Put the rows of a key into one partition, one after the other, for a `mapInArrow` that follows.

    The embedded engine drops an order that nothing but Python asks for, and keeps the one that a window
    needed. Apache Spark would copy a whole partition for the window. Whoever reads the rows had better
    look whether they came in order: a server that SPARK_REMOTE names may be either engine.

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


def stretches(keys: "pa.Array") -> Iterator[tuple[Any, int, int]]:
    """The keys of a batch whose rows are in order, each with where it begins and ends."""
    import pyarrow.compute as pc

    encoded = pc.run_end_encode(keys, run_end_type="int64")
    ends = encoded.run_ends.to_pylist()
    return zip(encoded.values.to_pylist(), [0, *ends], ends, strict=False)
