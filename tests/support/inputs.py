"""Inputs of each format."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import Row as SparkRow

ARROW = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
}


def values(found: Iterable[SparkRow], *columns: str) -> list[Any]:
    """One value a row where one column is asked for, else one tuple a row."""
    rows = [tuple(row[column] for column in columns) for row in found]
    return [row[0] for row in rows] if len(columns) == 1 else rows
