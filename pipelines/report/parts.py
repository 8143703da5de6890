"""Rows of a frame as a part of the page."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.report.page import Part
from pipelines.storage.collect import collect_rows
from pipelines.storage.small_frame import small_frame


def part(rows: DataFrame, *, order: Sequence[Column], limit: int) -> Part:
    """The first rows in an order; only where there are more than these, all are counted."""
    found = collect_rows(rows.orderBy(*order).limit(limit))
    total = len(found) if len(found) < limit else rows.count()
    return Part(rows.columns, [list(row.values()) for row in found], total)


def sums(rows: DataFrame, names: Sequence[str]) -> Part:
    """One row: the sums of these columns over all rows, 0 if there are none."""
    [found] = collect_rows(rows.agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names)))
    return Part(names, [list(found.values())], 1)


def numbered(spark: SparkSession, shown: Part, key: Sequence[str]) -> DataFrame:
    """The rows of a part as a small frame to join with: `place`, from 0, and the key, its first columns."""
    rows = [(number, *row[: len(key)]) for number, row in enumerate(shown.rows)]
    columns = ", ".join(("place int", *(f"{name} string" for name in key)))
    return F.broadcast(small_frame(spark, rows, columns))
