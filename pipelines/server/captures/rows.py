"""Rows of captures for an engine: parsed a block at a time, and written into one Parquet file for each view.

Arrow parses the script's own spelling. Rows of another spelling are written as text into a file of their own,
and their values are parsed where those of other text are.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from json import dumps
from pathlib import Path
from threading import RLock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

from pipelines.server.snapshots.declaration import FLAG, ViewColumn
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.server.snapshots.views import QUEUE, columns_in_captures

TOP = ("database", "view", "schema", "queue")
"""Keys of a row's line beside the row."""
OF_QUEUE = ("schema", "queue")
PLACE = pa.schema([("snapshot", pa.int64()), ("view", pa.string())])
"""What a written row has beside the view's columns: the number of its snapshot, and its view."""
SPLIT = 4 << 20
"""Bytes that one thread parses at a time."""
BUFFERED = 50_000
"""Rows that are written at once: a capture may have few."""
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

    @property
    def name(self) -> str:
        """The view as `pipelines.server.snapshots.views` names it; a queue by schema and name."""
        return self.view if self.queue is None else queue_view(str(self.schema), self.queue)


def queue_view(schema: str, queue: str) -> str:
    """The name of a queue's view."""
    return f"{schema.replace('%', '%25').replace('.', '%2E')}.{queue}"


@dataclass
class _Written:
    """The file of one view and spelling, and the rows that it does not have yet."""

    writer: pq.ParquetWriter
    waiting: list[pa.Table] = field(default_factory=list)

    def flush(self) -> None:
        if self.waiting:
            self.writer.write_table(pa.concat_tables(self.waiting).combine_chunks())
            self.waiting.clear()


class CapturedRows:
    """The files with the rows of captures: one for each view, and one more for rows that are text.

    Captures that are read at once can write into them. A row of a snapshot that does not count is ignored:
    its number is that of no other.
    """

    def __init__(self, folder: Path) -> None:
        """Write into a folder, which is made."""
        self._folder = folder
        self._numbers = count()
        self._lock = RLock()
        self._written: dict[tuple[str, bool], _Written] = {}
        self._texts: dict[str, list[tuple[int, str, Mapping[str, Any]]]] = {}

    def new_number(self) -> int:
        """A number for a snapshot."""
        return next(self._numbers)

    def write(self, view: str, rows: pa.Table, *, is_text: bool = False) -> None:
        """Write rows of a view that have the columns of `PLACE`."""
        with self._lock:
            written = self._written.get((view, is_text))
            if written is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                names = [column.name for column in columns_in_captures(view) if column.kind != "guid"]
                path = self._path(view, is_text=is_text)
                writer = pq.ParquetWriter(
                    path, rows.schema, use_dictionary=[*PLACE.names, *names], compression="lz4"
                )
                written = self._written[view, is_text] = _Written(writer)
            written.waiting.append(rows)
            if sum(map(len, written.waiting)) >= BUFFERED:
                written.flush()

    def write_texts(self, view: str, rows: Iterable[tuple[int, str, Mapping[str, Any]]]) -> None:
        """Write rows of a view, whatever their values are; each with the number of its snapshot, and view."""
        with self._lock:
            texts = self._texts.setdefault(view, [])
            texts += rows
            if len(texts) >= BUFFERED:
                self._flush_texts(view)

    def close(self) -> None:
        """Close the files."""
        for view in self._texts:
            self._flush_texts(view)
        for written in self._written.values():
            written.flush()
            written.writer.close()

    def files(self) -> dict[str, list[ViewFile]]:
        """The files of each view; their rows say of which snapshot they are."""
        found: dict[str, list[ViewFile]] = {}
        for view, is_text in self._written:
            types = {
                column.name: pa.string() if is_text else type_of(column)
                for column in columns_in_captures(view)
            }
            path = self._path(view, is_text=is_text).as_posix()
            names = {name: name for name in types}
            found.setdefault(view, []).append(
                ViewFile(view, path, "parquet", names, types, is_folder=False, has_places=True)
            )
        return found

    def _path(self, view: str, *, is_text: bool) -> Path:
        return self._folder / f"{view}{'-text' if is_text else ''}.parquet"

    def _flush_texts(self, view: str) -> None:
        if texts := self._texts[view]:
            self.write(view, text_rows(view, texts), is_text=True)
            texts.clear()


def type_of(column: ViewColumn) -> pa.DataType:
    """The type of a column whose values are spelled as the script spells them."""
    return TIME if column.kind == "time" else TYPES[column.kind]


def parse_rows(view: str, text: bytes, count: int) -> pa.Table:
    """Parse lines of a view, or of all queues, spelled as the script spells them.

    Args:
        view: the view.
        text: the lines.
        count: how many they are.

    Returns:
        `TOP` and `columns_in_captures` with their types.

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
        ).combine_chunks()
        is_other = table.num_rows != count or table["row"].null_count or table["database"].null_count
        if is_other or not pc.all(pc.fill_null(pc.equal(table["view"], view), False)).as_py():
            raise OtherSpellingError
        if view == QUEUE and any(table[name].null_count for name in OF_QUEUE):
            raise OtherSpellingError
        values = [_typed(pc.struct_field(table["row"], column.name), column) for column in columns]
    except pa.ArrowException as error:
        raise OtherSpellingError from error
    tops = [table[name] for name in TOP]
    return pa.table([*tops, *values], names=[*(f"_{name}" for name in TOP), *(each.name for each in columns)])


def keys_of(rows: pa.Table) -> Iterator[tuple[ViewKey, int]]:
    """The views of parsed rows, and how many each has."""
    of_queue = rows["_queue"].null_count < len(rows)
    names = ["_database", "_view", *(("_schema", "_queue") if of_queue else ())]
    for found in rows.group_by(names, use_threads=False).aggregate([([], "count_all")]).to_pylist():
        yield ViewKey.of({name.removeprefix("_"): value for name, value in found.items()}), found["count_all"]


def placed_rows(rows: pa.Table, numbers: Mapping[str, int]) -> pa.Table:
    """Parsed rows with `PLACE` in place of `TOP`.

    Args:
        rows: `parse_rows`.
        numbers: of the snapshots, by database.
    """
    databases = rows["_database"].combine_chunks().dictionary_encode()
    snapshots = pa.array([numbers[name] for name in databases.dictionary.to_pylist()], pa.int64())
    views = rows["_view"]
    if len(rows) and views[0].as_py() == QUEUE:
        schemas = rows["_schema"].combine_chunks().dictionary_encode()
        escaped = [queue_view(name, "") for name in schemas.dictionary.to_pylist()]
        views = pc.binary_join_element_wise(
            pa.array(escaped, pa.string()).take(schemas.indices), rows["_queue"].combine_chunks(), ""
        )
    columns = [name for name in rows.column_names if not name.startswith("_")]
    return pa.table(
        [snapshots.take(databases.indices), views, *(rows[name] for name in columns)],
        names=[*PLACE.names, *columns],
    )


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


def text_rows(view: str, rows: Iterable[tuple[int, str, Mapping[str, Any]]]) -> pa.Table:
    """Rows as text, whatever their values are: numbers as they are written, bits as 1 and 0."""
    names = [column.name for column in columns_in_captures(view)]
    snapshots: list[int] = []
    views: list[str] = []
    values: list[tuple[str | None, ...]] = []
    for snapshot, of_view, row in rows:
        lower = {str(key).lower(): value for key, value in row.items()}
        snapshots.append(snapshot)
        views.append(of_view)
        values.append(tuple(_text(lower.get(name)) for name in names))
    columns = [pa.array(column, pa.string()) for column in zip(*values, strict=True)]
    return pa.table(
        [pa.array(snapshots, pa.int64()), pa.array(views), *columns], names=[*PLACE.names, *names]
    )


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(int(value)) if isinstance(value, bool) else dumps(value)
