"""Frames as a reader sees them: tables drawn in the test, and one strict comparison.

    frame(session, '''
        handle | created_at timestamp | priority int
        h1     | 12:00                | 5
        h2     | -                    | -
    ''')

A column without a type is a string. `-` is null, and `''` the empty string. A timestamp is a time of
2026-11-20 in UTC, or a day and a time: `12:05`, `12:05:00.000001`, `11-21 00:00`, `2025-11-20 12:00`.
Items of an array stand between brackets: `[a, b]`.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

DAY = date(2026, 11, 20)
READERS: dict[str, Callable[[str], Any]] = {
    "string": lambda text: "" if text == "''" else text,
    "boolean": lambda text: {"true": True, "false": False}[text],
    "date": date.fromisoformat,
    "timestamp": lambda text: instant(text),
    "binary": bytes.fromhex,
}


def frame(session: SparkSession, drawing: str) -> DataFrame:
    """The frame that is drawn: a line of column names with their types, then a line a row."""
    header, *lines = [line for line in drawing.splitlines() if line.strip()]
    columns = [cell.partition(" ")[::2] for cell in _cells(header)]
    types = [type_name.strip() or "string" for _, type_name in columns]
    schema = ", ".join(f"`{name}` {type_name}" for (name, _), type_name in zip(columns, types, strict=True))
    rows: list[tuple[Any, ...]] = [
        tuple(_value(cell, type_name) for cell, type_name in zip(_cells(line), types, strict=True))
        for line in lines
    ]
    return session.createDataFrame(rows, schema)


def assert_same(actual: DataFrame, expected: DataFrame, *, in_order: bool = False) -> None:
    """Compare columns, their order, their types and all rows; the order of rows only where it is promised.

    Whether an engine infers that a column of a frame holds no null is no promise of ours; tables enforce it.
    Comments of a table's columns, which Apache Spark shows as metadata, do not count.
    """
    assert_df_equality(
        actual, expected, ignore_nullable=True, ignore_metadata=True, ignore_row_order=not in_order
    )


def instant(text: str) -> datetime:
    """The instant of `12:05`, `11-21 00:00` or `2025-11-20 12:00`, in UTC."""
    day, _, time = text.rpartition(" ")
    full = day if day.count("-") == 2 else f"{DAY.year}-{day}" if day else DAY.isoformat()
    return datetime.fromisoformat(f"{full}T{time}").replace(tzinfo=UTC)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _value(cell: str, type_name: str) -> Any:
    if cell == "-":
        return None
    if items := re.fullmatch(r"array<(.+)>", type_name):
        inner = cell.removeprefix("[").removesuffix("]")
        return [_value(item.strip(), items[1]) for item in inner.split(",")] if inner else []
    if type_name in ("tinyint", "smallint", "int", "bigint"):
        return int(cell)
    if type_name in ("float", "double"):
        return float(cell)
    if type_name.startswith("decimal"):
        return Decimal(cell)
    return READERS[type_name](cell)
