"""The rows of small views, read without an engine."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow.parquet as pq
from deltalake import DeltaTable

from pipelines.server.snapshots.columns import WORDS
from pipelines.server.snapshots.values import value_of
from pipelines.server.snapshots.view_file import UNREADABLE, ViewFile, describe_unreadable, file_system
from pipelines.text.foreign import sample
from pipelines.text.form import ForeignFileError, packing
from pipelines.text.rows import TextRow, text_rows

NULL = "NULL"
log = logging.getLogger(__name__)


class _Row(dict[str, Any]):
    """The values of a row by the file's names, and whether each of them stands in quotes."""

    def __init__(self, values: Any, *, is_quoted: bool = False) -> None:
        super().__init__(values)
        self.is_quoted = is_quoted


def read_small_rows(file: ViewFile) -> Iterator[dict[str, Any]]:
    """The rows of a small view by the view's names: texts, numbers, truth values and None.

    Raises:
        ValueError: a value does not have the type of its column, or the file can't be read.
    """
    with _name_file(file):
        rows = list(_read_rows(file))
    _take_quoted_nulls(file, rows)
    for where, row in rows:
        values = dict.fromkeys(column.name for column in file.columns)
        values |= {name: row[spelled] for name, spelled in file.names.items()}
        for column in file.columns:
            given = values[column.name]
            value = value_of(given, column.kind)
            if value is None and (given is not None or (column.name in file.names and not column.nullable)):
                text = "null" if given is None else repr(given)
                raise ValueError(
                    f"{file.path}: {where}: {column.name} is {text}; it must be {WORDS[column.kind]}"
                )
            values[column.name] = value
        yield values


def _take_quoted_nulls(file: ViewFile, rows: Sequence[tuple[str, _Row]]) -> None:
    """Where a tool quotes every field, NULL is null: in a column of no texts, or that has nothing else.

    Says so of columns that have it beside other texts, where it stays a name.
    """
    if not rows or not all(row.is_quoted for _, row in rows):
        return
    kinds = {spelled: column.kind for column in file.columns if (spelled := file.names.get(column.name))}
    named = []
    for spelled in rows[0][1]:
        texts = {row[spelled] for _, row in rows}
        if NULL not in texts or spelled not in kinds:
            continue
        if kinds[spelled] == "text" and texts != {NULL}:
            named.append(spelled)
            continue
        for _, row in rows:
            row[spelled] = None if row[spelled] == NULL else row[spelled]
    if named:
        log.warning(
            "snapshots: %s: NULL in %s is read as a name, for every field of the file stands in quotes; "
            "if it is none, export NULL without quotes",
            file.path,
            ", ".join(named),
        )


def read_texts(file: ViewFile, name: str) -> set[str]:
    """The different texts of one column of a view that may be large, by the view's name of it.

    Raises:
        ValueError: the file can't be read to its end.
    """
    with _name_file(file):
        return _read_texts(file, file.names[name])


@contextmanager
def _name_file(file: ViewFile) -> Iterator[None]:
    """Name the file where it can't be read.

    Raises:
        ValueError: it can't.
    """
    try:
        yield
    except UNREADABLE as error:
        raise ValueError(f"{file.path}: {describe_unreadable(file.path, file.format, error)}") from error
    except ForeignFileError as error:
        raise ValueError(f"{file.path}: {error}") from error


def _read_texts(file: ViewFile, column: str) -> set[str]:
    system, inner, _ = file_system(file.path)
    if file.format == "csv":
        assert file.form is not None
        place = file.form.header.index(column)
        width = len(file.form.header)
        with system.open_input_stream(inner, compression=packing(inner)) as stream:
            rows = (row.values() for row in text_rows(stream, file.form))
            return {row[place] for row in rows if len(row) == width} - {None}  # type: ignore[return-value]
    if file.format == "delta":
        table = DeltaTable(file.path).to_pyarrow_table(columns=[column])
    else:
        table = pq.read_table(inner, filesystem=system, columns=[column])
    return set(table[column].unique().drop_null().to_pylist())


def _read_rows(file: ViewFile) -> Iterator[tuple[str, "_Row"]]:
    """The rows by the file's names, each with where it stands."""
    system, inner, _ = file_system(file.path)
    if file.format == "csv":
        assert file.form is not None
        if file.form.is_empty:
            return
        with system.open_input_stream(inner, compression=packing(inner)) as stream:
            for row in text_rows(stream, file.form):
                values = zip(file.form.header, _of_width(file, row), strict=True)
                is_quoted = all(each for _, each in row.fields or ())
                yield f"line {row.line}", _Row(values, is_quoted=is_quoted)
        return
    if file.format == "delta":
        table = DeltaTable(file.path).to_pyarrow_table()
    else:
        table = pq.read_table(inner, filesystem=system)
    yield from ((f"row {number}", _Row(row)) for number, row in enumerate(table.to_pylist(), start=1))


def _of_width(file: ViewFile, row: TextRow) -> list[str | None]:
    """The values of a row that is as wide as the header.

    Raises:
        ValueError: it is not.
    """
    assert file.form is not None
    values, sign = row.values(), file.form.separator
    what = {",": "a comma", ";": "a semicolon", "\t": "a tab"}.get(sign, repr(sign))
    if row.fields is None:
        raise ValueError(
            f"{file.path}: line {row.line}: a quote stands in a wrong place; double quotes in a value"
        )
    place = f"{file.path}: line {row.line}: the row"
    if len(values) > len(file.form.header):
        raise ValueError(f"{place} has more fields than the header; a value with {what} needs quotes")
    if len(values) < len(file.form.header):
        raise ValueError(
            f"{place} {sample(row.raw)} has fewer fields than the header; a row must stand on one line "
            "(sqlcmd -w 65535), and a value with a line end needs quotes"
        )
    return values
