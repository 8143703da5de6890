"""The files of a snapshot: one a view, found and compared with the views' columns before an engine starts."""

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import PurePosixPath
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyarrow import fs

from config.model import Snapshot
from config.snapshots.views import NEEDED_WITH, Kind, ViewColumn, columns_of

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
HIDDEN = ("_", ".")
UNREADABLE = (pa.ArrowException, OSError, DeltaError, csv.Error, UnicodeDecodeError)
"""What is raised where a file is none of its format."""
EMPTY = ("", "\0")
"""Texts of CSV that are null; bcp writes a NUL for the empty text."""
LONGEST_FIELD = 1 << 24
WORDS = {
    "guid": "text",
    "text": "text",
    "code": "text",
    "bit": "a bit",
    "int": "a whole number",
    "time": "a time in microseconds",
}


@dataclass(frozen=True)
class ViewFile:
    """The file of a view.

    Attributes:
        view: the view.
        path: the file, or the folder of a Delta table or of several Parquet files.
        format: how it is written.
        names: the columns as the file spells them, by the view's names; those that it lacks are missing.
        types: the types of these columns, by the view's names; none of CSV.
        is_folder: whether the path is a folder.
    """

    view: str
    path: str
    format: str
    names: Mapping[str, str]
    types: Mapping[str, pa.DataType]
    is_folder: bool

    @property
    def columns(self) -> tuple[ViewColumn, ...]:
        """The view's columns."""
        return columns_of(self.view) or ()


def view_files(snapshot: Snapshot) -> tuple[dict[str, ViewFile], list[str]]:
    """Find the views of a snapshot, and what is wrong with them.

    Returns:
        The files by view, and a line for each missing view, missing column and column of a wrong type.
    """
    system, inner, prefix = _system(snapshot.path)
    root = system.get_file_info(inner)
    if root.type != fs.FileType.Directory:
        return {}, [f"snapshots: {snapshot.path} is not a folder; export the views into it, one file a view"]
    found, problems = {}, []
    ending = f".{snapshot.format}"
    for info in sorted(system.get_file_info(fs.FileSelector(inner)), key=lambda each: each.path):
        name = PurePosixPath(info.path).name
        view = name.removesuffix(ending)
        columns = columns_of(view) if name.endswith(ending) and not name.startswith(HIDDEN) else None
        if columns is None:
            continue
        path = prefix + info.path
        held: Mapping[str, pa.DataType | None] = {}
        try:
            held = _columns(system, info, snapshot.format)
            names, wrong = _compared(columns, held)
        except UNREADABLE as error:
            names, wrong = {}, [_unreadable(snapshot.format, error)]
        found[view] = ViewFile(
            view=view,
            path=path,
            format=snapshot.format,
            names=names,
            types={column: type for column, name in names.items() if (type := held[name]) is not None},
            is_folder=info.type == fs.FileType.Directory,
        )
        problems += [f"{path}: {each}" for each in wrong]
    for view in dict.fromkeys(snapshot.complete):
        if view not in found:
            problems.append(
                f"{snapshot.path}: {view}{ending} is not there, though complete names it; export it, "
                "or take it out of complete"
            )
    for view, others in NEEDED_WITH.items():
        problems += [
            f"{snapshot.path}: {other}{ending} is not there, and {view} needs it for its names; export it"
            for other in others
            if view in found and other not in found
        ]
    if not found:
        problems.append(f"{snapshot.path}: there is no view, such as conversation_endpoints{ending}")
    return found, problems


def small_rows(file: ViewFile) -> Iterator[dict[str, Any]]:
    """The rows of a small view by the view's names: texts, numbers, truth values and None.

    Raises:
        ValueError: a value is none of its column's kind, or the file can't be read; the message says where.
    """
    try:
        rows = list(_rows(file))
    except UNREADABLE as error:
        raise ValueError(f"{file.path}: {_unreadable(file.format, error)}") from error
    for number, row in enumerate(rows, start=1):
        values = {column.name: row.get(file.names.get(column.name, "")) for column in file.columns}
        for column in file.columns:
            text = values[column.name]
            value = _value(text, column.kind)
            if value is None and (text is not None or not column.nullable):
                raise ValueError(
                    f"{file.path}: row {number}: {column.name} is {'null' if text is None else repr(text)}; "
                    f"it must be {WORDS[column.kind]}"
                )
            values[column.name] = value
        yield values


def _unreadable(format: str, error: Exception) -> str:
    return f"is not readable as {format} ({str(error).partition(chr(10))[0]})"


def _rows(file: ViewFile) -> Iterator[dict[str, Any]]:
    system, inner, _ = _system(file.path)
    if file.format == "csv":
        with system.open_input_stream(inner) as stream, io.TextIOWrapper(stream, "utf-8-sig") as text:
            csv.field_size_limit(LONGEST_FIELD)
            rows = csv.DictReader(text)
            for row in rows:
                if None in row or None in row.values():
                    width = "more" if None in row else "fewer"
                    raise ValueError(
                        f"{file.path}: line {rows.line_num}: the row has {width} fields than the header; "
                        "a value with a comma needs quotes"
                    )
                yield {name: None if value in EMPTY else value for name, value in row.items()}
        return
    if file.format == "delta":
        yield from DeltaTable(file.path).to_pyarrow_table().to_pylist()
        return
    yield from pq.read_table(inner, filesystem=system).to_pylist()


def _value(value: Any, kind: Kind) -> Any:
    """A value of its kind; None if it is none."""
    if value is None or kind in ("guid", "text", "code"):
        return value
    text = str(value).strip().lower()
    if kind == "bit":
        return {"1": True, "true": True, "0": False, "false": False}.get(text)
    if kind == "int":
        return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None
    return value if isinstance(value, date | datetime) else None


def _compared(
    columns: tuple[ViewColumn, ...], found: Mapping[str, pa.DataType | None]
) -> tuple[dict[str, str], list[str]]:
    """How the file spells each column, and what is wrong."""
    spelled: dict[str, list[str]] = {}
    for name in found:
        spelled.setdefault(name.strip().lower(), []).append(name)
    names, problems = {}, []
    for column in columns:
        there = [name for known in (column.name, column.also) if known for name in spelled.get(known, [])]
        if not there and not column.may_lack:
            other = f" (or {column.also})" if column.also else ""
            problems.append(f"column {column.name}{other} is missing")
        elif len(there) > 1:
            problems.append(f"column {column.name} is there {len(there)} times: {', '.join(there)}")
        elif there:
            names[column.name] = there[0]
            type = found[there[0]]
            if type is not None and not _holds(type, column.kind):
                problems.append(f"column {there[0]} is {type}; it must be {WORDS[column.kind]}")
    return names, problems


def _holds(type: pa.DataType, kind: Kind) -> bool:
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_null(type) or is_text(type):
        return True
    if kind == "time":
        return bool(pa.types.is_timestamp(type) and type.unit != "ns")
    if kind == "bit":
        return bool(pa.types.is_boolean(type) or pa.types.is_integer(type))
    return kind == "int" and bool(pa.types.is_integer(type))


def is_text(type: pa.DataType) -> bool:
    """Whether a column of this type has texts, as they are or in a dictionary."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _columns(system: fs.FileSystem, info: fs.FileInfo, format: str) -> dict[str, pa.DataType | None]:
    """The columns of a file with their types; CSV has none."""
    if format == "csv":
        with (
            system.open_input_stream(info.path) as stream,
            io.TextIOWrapper(stream, "utf-8-sig", errors="replace") as text,
        ):
            return dict.fromkeys(next(csv.reader(text), []))
    if format == "delta":
        schema = DeltaTable(info.path).to_pyarrow_dataset().schema
    elif info.type == fs.FileType.Directory:
        inside = system.get_file_info(fs.FileSelector(info.path, recursive=True))
        files = [each.path for each in inside if each.is_file and each.path.endswith(".parquet")]
        return _of_parquet(system, sorted(files)[0]) if files else {}
    else:
        return _of_parquet(system, info.path)
    return {field.name: field.type for field in schema}


def _of_parquet(system: fs.FileSystem, path: str) -> dict[str, pa.DataType | None]:
    """The columns of a Parquet file; times that old writers keep in 96 bits count as microseconds."""
    with system.open_input_file(path) as source:
        file = pq.ParquetFile(source)
        leaves = [file.schema.column(place) for place in range(len(file.schema))]
        old_times = {leaf.name for leaf in leaves if leaf.physical_type == "INT96"}
        return {
            field.name: pa.timestamp("us") if field.name in old_times else field.type
            for field in file.schema_arrow
        }


def _system(path: str) -> tuple[fs.FileSystem, str, str]:
    """The file system, the path in it, and what stands before that in the whole path."""
    if not URI.match(path):
        return fs.LocalFileSystem(), path, ""
    system, inner = fs.FileSystem.from_uri(path.replace("s3a:", "s3:", 1))
    return system, inner, path[: len(path.rstrip("/")) - len(inner)]
