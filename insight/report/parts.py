"""Rows of a frame as a part of the page."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame

from insight.report.page import Part
from storage.collected import collected


def part(rows: DataFrame, *, order: Sequence[Column], limit: int) -> Part:
    """The first rows in an order; only where there are more than these, all are counted."""
    found = collected(rows.orderBy(*order).limit(limit))
    total = len(found) if len(found) < limit else rows.count()
    return Part(rows.columns, [list(row.values()) for row in found], total)
