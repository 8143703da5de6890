"""Rows in order before Python looks at them."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window, functions as F

from engine.session import is_embedded


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
