"""Keys that have one row, and those that have several."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, functions as F


def single_and_repeated(rows: DataFrame, key: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """The rows whose key no other row has, and all others.

    A window or `min_by` costs the embedded engine some microseconds for each key, and often most keys have
    one row.

    Args:
        rows: kept, or quick to compute: they are read three times.
        key: columns that are never null.
    """
    counted = rows.groupBy(*key).agg(F.count(F.lit(1)).alias("rows_of_key"))
    several = counted.where("rows_of_key > 1").select(*key)
    return rows.join(several, list(key), "left_anti"), rows.join(several, list(key), "left_semi")
