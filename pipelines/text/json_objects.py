"""JSON lines: one object a line, by a strict parser. In Python workers, its fields as columns."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

import orjson
import pyarrow as pa

Object = dict[str, Any]

FIELD_TYPES = {"boolean": "boolean", "int": "integer", "bigint": "integer"}
"""The JSON type of a field by its column's type; all others are strings."""
ARROW_TYPES = {"string": pa.string(), "boolean": pa.bool_(), "integer": pa.int64()}
SPOKEN = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}
"""What a message calls a JSON type."""
NESTED_AT_MOST = 32
"""How deep a line may be nested, its own object counted."""


def object_of(line: str) -> Object | None:
    """The object of a line; None if the line is not one object, has a name twice, or is nested too deep."""
    try:
        found = orjson.loads(line)
        if not _is_flat(line, found):
            if not isinstance(found, dict) or _depth(found) > NESTED_AT_MOST:
                return None
            json.loads(line, object_pairs_hook=_require_unique_names)
    except (ValueError, RecursionError):
        return None
    return cast(Object, found)


def objects_of(lines: Sequence[str]) -> list[Object | None]:
    """`object_of` each line. Most lines are flat objects, and are parsed in a third less time."""
    try:
        found = list(map(orjson.loads, lines))
        if all(map(_is_flat, lines, found)):
            return found
    except ValueError:
        # One of them is broken.
        pass
    return [object_of(line) for line in lines]


def json_type(value: object) -> str:
    """The JSON type of a value, null apart. An integer that no column holds is a number."""
    is_large = type(value) is int and not -(2**63) <= value < 2**63
    return SPOKEN[float if is_large else type(value)]


def read_fields(
    batches: Iterable[pa.RecordBatch], fields: Mapping[str, tuple[str, str | None]]
) -> Iterator[pa.RecordBatch]:
    """Read lines.

    Args:
        batches: the lines as `raw`, and `is_text`, without which a line is broken.
        fields: the field of each column and its JSON type; without one any value is taken, as a text.

    Yields:
        `raw`, `broken`, `mistyped` (fields of another type, as `size integer,...`, null without any), and the
        columns; null where the line is broken or the field has another type.
    """
    for batch in batches:
        raw = batch.column("raw")
        are_text = batch.column("is_text").to_pylist()
        found = objects_of(raw.to_pylist())
        found = [row if is_text else None for row, is_text in zip(found, are_text, strict=True)]
        rows = [row or {} for row in found]
        mistyped = [""] * len(rows)
        columns = []
        for name, type in fields.values():
            values = [row.get(name) for row in rows]
            columns.append(_as_texts(values) if type is None else _as_type(values, type, name, mistyped))
        broken = pa.array([row is None for row in found], pa.bool_())
        told = pa.array([each[1:] or None for each in mistyped], pa.string())
        names = ["raw", "broken", "mistyped", *fields]
        yield pa.RecordBatch.from_arrays([raw, broken, told, *columns], names)


def add_payloads(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Add `payload` to lines `raw`: these fields as JSON, without nulls; null if the line is no object."""
    for batch in batches:
        rows = objects_of(batch.column("raw").to_pylist())
        payloads = [
            None
            if row is None
            else orjson.dumps({name: row[name] for name in names if row.get(name) is not None}).decode()
            for row in rows
        ]
        yield batch.append_column("payload", pa.array(payloads, pa.string()))


def _is_flat(line: str, found: object) -> bool:
    """Whether a line clearly is an object without nested values and without a name twice.

    It has as many quotes with a colon behind them as the object has names.
    """
    return (
        type(found) is dict
        and line.count('":') == len(found)
        and "[" not in line
        and "\t" not in line
        and line.find("\r", 0, -1) < 0
        and (" " not in line or " :" not in line)
    )


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _require_unique_names(pairs: Sequence[tuple[str, object]]) -> None:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name is there twice")


def _as_texts(values: Sequence[Any]) -> pa.Array:
    texts = [each if each is None or type(each) is str else orjson.dumps(each).decode() for each in values]
    return pa.array(texts, pa.string())


def _as_type(values: list[Any], wanted: str, name: str, mistyped: list[str]) -> pa.Array:
    try:
        column = pa.array(values)
        if column.type == ARROW_TYPES[wanted]:
            return column
    except (pa.ArrowException, OverflowError):
        # Values of several types.
        pass
    for number, value in enumerate(values):
        if value is not None and json_type(value) != wanted:
            mistyped[number] += f",{name} {json_type(value)}"
            values[number] = None
    return pa.array(values, ARROW_TYPES[wanted])
