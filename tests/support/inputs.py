"""Inputs of each format: types of columns, files of rows, and values of rows that were read."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyspark.sql import Row as SparkRow

from schemas import CONTRACTS

ARROW = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "bigint": pa.int64(),
}


def arrow_schema(source: str) -> pa.Schema:
    """The declared columns of an input."""
    return pa.schema([(column.name, ARROW[column.type]) for column in CONTRACTS[source].columns])


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema | None = None) -> Path:
    """Write rows in the format that the path ends with; gives the file that has them.

    Columns are those of the schema, else those of all rows, where one with a text has texts only. What a row
    lacks is null. To a Delta table rows are appended.
    """
    given = list(rows)
    names = schema.names if schema else list(dict.fromkeys(name for row in given for name in row))
    whole = [{name: row.get(name) for name in names} for row in given]
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix in (".parquet", ".delta"):
        table = pa.table({name: _column([row[name] for row in whole]) for name in names})
        table = table if schema is None else table.cast(schema)
        if path.suffix == ".parquet":
            pq.write_table(table, path)
            return path
        before = set(path.glob("*.parquet"))
        write_deltalake(path, table, mode="append")
        [added] = set(path.glob("*.parquet")) - before
        return added
    told = [{name: _text(value) for name, value in row.items()} for row in whole]
    with path.open("w", newline="", encoding="utf-8") as file:
        if path.suffix == ".csv":
            writer = csv.DictWriter(file, names, lineterminator="\n")
            writer.writeheader()
            writer.writerows(told)
        else:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in told)
    return path


def _column(values: Sequence[object]) -> pa.Array:
    has_text = any(isinstance(value, str) for value in values)
    return pa.array([str(each) if has_text and each is not None else each for each in values])


def _text(value: object) -> object:
    return value.astimezone(UTC).isoformat() if isinstance(value, datetime) else value


def values(found: Iterable[SparkRow], *columns: str) -> list[Any]:
    """One value a row where one column is asked for, else one tuple a row."""
    rows = [tuple(row[column] for column in columns) for row in found]
    return [row[0] for row in rows] if len(columns) == 1 else rows
