"""Rows of a capture's large views: parsed a block at a time and written as Parquet files, which engines read.

Arrow parses the script's own spelling. A view with a row of another spelling is read again as text, line by
line, and its values are parsed where those of other text are.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from pipelines.config.snapshots.declaration import FLAG, ViewColumn
from pipelines.config.snapshots.views import QUEUE, columns_in_captures

TOP = ("database", "view", "schema", "queue")
"""Keys of a row's line beside the row."""
SPLIT = 4 << 20
"""Bytes that one thread parses at a time."""
TYPES = {"guid": pa.string(), "text": pa.string(), "code": pa.string(), "int": pa.int64(), "bit": pa.bool_()}
TIME = pa.timestamp("us", "UTC")


class OtherSpellingError(Exception):
    """Rows of a view are not spelled as the script spells them."""


@dataclass(frozen=True, order=True)
class ViewKey:
    """A view of a database; schema and queue are those of a queue, else None."""

    database: str
    view: str
    schema: str | None = None
    queue: str | None = None

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> "ViewKey":
        """The view that a line names.

        Raises:
            KeyError: it names none; the key is the missing one.
        """
        database, view = str(line["database"]), str(line["view"])
        if view != QUEUE:
            return cls(database, view)
        return cls(database, view, str(line["schema"]), str(line["queue"]))

    def __str__(self) -> str:
        """Return the name as messages have it."""
        name = self.view if self.queue is None else f"queue {self.schema}.{self.queue}"
        return f"{name} of {self.database}"


@dataclass
class ViewWriter:
    """The Parquet files of one view.

    Attributes:
        view: as `pipelines.config.snapshots.views` names it.
        folder: where the files stand.
        is_text: whether all values are text.
    """

    view: str
    folder: Path
    is_text: bool
    paths: list[Path] = field(default_factory=list)
    _writer: pq.ParquetWriter | None = None

    def write(self, rows: pa.Table) -> None:
        """Write rows behind those that were written."""
        if self._writer is None:
            path = self.folder / f"{len(self.paths)}.parquet"
            self.paths.append(path)
            names = [column.name for column in columns_in_captures(self.view) if column.kind != "guid"]
            self._writer = pq.ParquetWriter(path, rows.schema, use_dictionary=names, compression="lz4")
        self._writer.write_table(rows)

    def close(self) -> None:
        """Close the file; further rows begin a new one."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    @property
    def schema(self) -> pa.Schema:
        """The columns of the files."""
        types = {column.name: type_of(column) for column in columns_in_captures(self.view)}
        return pa.schema([(name, pa.string() if self.is_text else type) for name, type in types.items()])


def type_of(column: ViewColumn) -> pa.DataType:
    """The type of a column whose values are spelled as the script spells them."""
    return TIME if column.kind == "time" else TYPES[column.kind]


def parse_rows(key: ViewKey, view: str, text: bytes, count: int) -> pa.Table:
    """Parse lines of a view, spelled as the script spells them.

    Args:
        key: what the lines say of their view.
        view: its name.
        text: the lines.
        count: how many they are.

    Returns:
        `columns_in_captures` with their types.

    Raises:
        OtherSpellingError: a value or a key has another spelling, or a line is no JSON.
    """
    columns = columns_in_captures(view)
    row = pa.struct([(column.name, _written_type(column)) for column in columns])
    schema = pa.schema([*((name, pa.string()) for name in TOP), ("row", row)])
    try:
        table = pj.read_json(
            pa.BufferReader(text),
            pj.ReadOptions(block_size=SPLIT),
            pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="error"),
        )
        if table.num_rows != count or table["row"].null_count:
            raise OtherSpellingError
        for name, value in zip(TOP, (key.database, key.view, key.schema, key.queue), strict=True):
            found = table[name]
            if value is None:
                continue
            if found.null_count or not pc.all(pc.equal(found, value)).as_py():
                raise OtherSpellingError
        values = [_typed(pc.struct_field(table["row"], column.name), column) for column in columns]
    except pa.ArrowException as error:
        raise OtherSpellingError from error
    return pa.table(values, names=[column.name for column in columns])


def _written_type(column: ViewColumn) -> pa.DataType:
    """How the script writes a column."""
    if column.type is FLAG:
        return pa.int64()
    return pa.string() if column.kind == "time" else TYPES[column.kind]


def _typed(values: pa.ChunkedArray, column: ViewColumn) -> pa.ChunkedArray:
    if column.type is FLAG:
        bounds = pc.min_max(values).as_py()
        if not {bounds["min"], bounds["max"]} <= {0, 1, None}:
            raise OtherSpellingError
        return values.cast(pa.bool_())
    if column.kind == "time":
        # The server's times have seven digits; the seventh is cut off.
        return values.cast(pa.timestamp("ns", "UTC")).cast(TIME, safe=False)
    return values


def text_rows(view: str, rows: Iterator[Mapping[str, Any]]) -> pa.Table:
    """Rows as text, whatever their values are: numbers as they are written, bits as 1 and 0."""
    names = [column.name for column in columns_in_captures(view)]
    values: dict[str, list[str | None]] = {name: [] for name in names}
    for row in rows:
        lower = {str(key).lower(): value for key, value in row.items()}
        for name in names:
            values[name].append(_text(lower.get(name)))
    return pa.table({name: pa.array(values[name], pa.string()) for name in names})


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    return json.dumps(value)
