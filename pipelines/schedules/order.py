"""Numbers in an order, without sorting everything in one task.

A row's number is the count of all rows in the buckets before its own, plus its rank inside its
bucket. A bucket is a level and the minute of a time: explicit bounds, so that the pass that counts
and the pass that numbers agree, whatever Spark's partitioning.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, functions as F

BUCKET = ("bucket_level", "bucket_minute")


def numbered(
    rows: DataFrame,
    *,
    within: Sequence[str],
    level: Column,
    time: Column,
    then: Sequence[Column],
    weight: Column | None = None,
) -> DataFrame:
    """Number rows by level descending, then time ascending, then `then`.

    Args:
        rows: any frame; it is read twice, so it should be cheap or persisted.
        within: the columns whose every combination is numbered by itself.
        level: the first sort key, highest first; an int.
        time: the second sort key, earliest first; a timestamp.
        then: the remaining sort keys, as sort expressions.
        weight: with it, `before` counts weights in place of rows.

    Returns:
        The rows with `number` (from 1 in each combination) and `before` (the sum of the weights of all
        rows that go first; rows count 1 without a weight).
    """
    weighed = rows.withColumns(
        {
            BUCKET[0]: -level,
            BUCKET[1]: F.floor(F.unix_micros(time) / 60_000_000),
            "weight": F.lit(1).cast("bigint") if weight is None else weight,
        }
    )
    counts = weighed.groupBy(*within, *BUCKET).agg(
        F.count(F.lit(1)).alias("bucket_rows"), F.sum("weight").alias("bucket_weight")
    )
    earlier = Window.partitionBy(*within).orderBy(*BUCKET).rowsBetween(Window.unboundedPreceding, -1)
    offsets = counts.select(
        *within,
        *BUCKET,
        F.coalesce(F.sum("bucket_rows").over(earlier), F.lit(0)).alias("rows_before"),
        F.coalesce(F.sum("bucket_weight").over(earlier), F.lit(0)).alias("weight_before"),
    )
    inside = Window.partitionBy(*within, *BUCKET).orderBy(time, *then)
    preceding = inside.rowsBetween(Window.unboundedPreceding, -1)
    return (
        weighed.join(offsets, [*within, *BUCKET])
        .withColumn("number", F.row_number().over(inside) + F.col("rows_before"))
        .withColumn("before", F.coalesce(F.sum("weight").over(preceding), F.lit(0)) + F.col("weight_before"))
        .drop(*BUCKET, "weight", "rows_before", "weight_before")
    )
