"""Number rows in an order; many rows are not sorted in one task.

Then the number of a row is the count of all rows in earlier buckets, plus its rank inside its bucket. The
sort keys alone decide the bucket, so that counting and numbering agree in any partitioning.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, WindowSpec, functions as F

MOST_TOGETHER = 1_000_000
"""Rows that one task sorts faster than several can count and sort them in buckets."""


def are_many(rows: DataFrame, within: Sequence[str]) -> bool:
    """Whether any combination of the columns has more rows than one task should sort.

    Args:
        rows: any frame, materialized.
        within: the columns by which rows are numbered separately.
    """
    counted = rows.groupBy(*within).agg(F.count(F.lit(1)).alias("rows"))
    return not counted.where(F.col("rows") > MOST_TOGETHER).isEmpty()


def number_rows(
    rows: DataFrame,
    *,
    within: Sequence[str],
    buckets: Sequence[Column],
    order: Sequence[Column],
    weight: Column | None = None,
) -> DataFrame:
    """Number rows in an order.

    Args:
        rows: any frame; with buckets it is read twice, so it should be cheap or materialized.
        within: the columns by which rows are numbered separately.
        buckets: values that never decrease in the order, and that few rows share; none if rows are few, see
            `are_many`.
        order: the sort keys, as sort expressions.
        weight: a bigint that `before` sums instead of counting rows.

    Returns:
        The rows with `number` (from 1 in each combination) and `before` (the sum of the weights of all
        rows that go first; rows count 1 without a weight).
    """
    weights = {"weight": F.lit(1).cast("bigint") if weight is None else weight}
    if not buckets:
        in_order = Window.partitionBy(*within).orderBy(*order)
        return (
            rows.withColumns(weights)
            .withColumns({"number": F.row_number().over(in_order), "before": _weight_before(in_order)})
            .drop("weight")
        )
    names = [f"bucket_{index}" for index in range(len(buckets))]
    weighed = rows.withColumns(dict(zip(names, buckets, strict=True)) | weights)
    counts = weighed.groupBy(*within, *names).agg(
        F.count(F.lit(1)).alias("bucket_rows"), F.sum("weight").alias("bucket_weight")
    )
    earlier = Window.partitionBy(*within).orderBy(*names).rowsBetween(Window.unboundedPreceding, -1)
    offsets = counts.select(
        *within,
        *names,
        F.coalesce(F.sum("bucket_rows").over(earlier), F.lit(0)).alias("rows_before"),
        F.coalesce(F.sum("bucket_weight").over(earlier), F.lit(0)).alias("weight_before"),
    )
    inside = Window.partitionBy(*within, *names).orderBy(*order)
    keys = [*within, *names]
    same_bucket = [F.col(f"row.{key}").eqNullSafe(F.col(f"offset.{key}")) for key in keys]
    with_offsets = weighed.alias("row").join(offsets.alias("offset"), same_bucket)
    return (
        with_offsets.select("row.*", "rows_before", "weight_before")
        .withColumn("number", F.row_number().over(inside) + F.col("rows_before"))
        .withColumn("before", _weight_before(inside) + F.col("weight_before"))
        .drop(*names, "weight", "rows_before", "weight_before")
    )


def _weight_before(in_order: WindowSpec) -> Column:
    """The sum of the weights of the rows that go first."""
    preceding = in_order.rowsBetween(Window.unboundedPreceding, -1)
    return F.coalesce(F.sum("weight").over(preceding), F.lit(0))


def level_and_minute(level: Column, time: Column) -> list[Column]:
    """Buckets of an order by level, highest first, then by time, earliest first."""
    return [-level, F.floor(F.unix_micros(time) / 60_000_000)]
