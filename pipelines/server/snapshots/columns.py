"""The columns of a view's file, compared with those that the view is declared with."""

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyarrow import fs

from pipelines.server.snapshots.declaration import ValueType, ViewColumn
from pipelines.server.snapshots.views import FILE_VIEWS, QUEUE, columns_in_files, is_queue
from pipelines.text.foreign import TRACE, is_trace, sample
from pipelines.text.form import ForeignFileError

WORDS = {
    "guid": "text",
    "text": "text",
    "code": "text",
    "bit": "a bit",
    "int": "a whole number",
    "time": "a time in microseconds",
}
Types = Mapping[str, pa.DataType | None]


def known_names(columns: Iterable[ViewColumn]) -> set[str]:
    """All names that the columns may have, in lower case, with `_` for blanks."""
    return {name for column in columns for name in (column.name, *column.also)}


def compare_columns(
    view: str, columns: Sequence[ViewColumn], found: Types
) -> tuple[dict[str, str], list[str]]:
    """How the file spells each column of its view, and what is wrong.

    Args:
        view: the view's name, for the message.
        columns: the view's.
        found: columns of the file with their types, None where it has none.

    Returns:
        The names by the view's names, without those that the file lacks and those that only stand in for one
        that it has; and what is wrong: one line for all missing columns, and one for each other fault.
    """
    spelled: dict[str, list[str]] = {}
    for name in found:
        spelled.setdefault(_plain(name), []).append(name)
    there = {
        column.name: [name for known in (column.name, *column.also) for name in spelled.get(known, [])]
        for column in columns
    }
    by_name = {column.name: column for column in columns}
    for column in columns:
        if column.instead and there[column.name]:
            there[column.instead] = []
    names, missing, problems = {}, [], []
    for column in columns:
        held = there[column.name]
        if len(held) > 1 and _plain(held[0]) != _plain(held[1]):
            held = held[:1]
        if not held and not column.may_lack and not (column.instead and there[column.instead]):
            missing.append(column)
        elif len(held) > 1:
            problems.append(f"column {column.name} is there {len(held)} times: {', '.join(held)}")
        elif held:
            names[column.name] = held[0]
            type = found[held[0]]
            if type is not None and not _is_of_type(type, by_name[column.name].kind):
                problems.append(f"column {held[0]} is {type}; it must be {WORDS[column.kind]}")
    if missing:
        required = [column for column in columns if not column.may_lack]
        other = _of_another(view, set(spelled), len(required) - len(missing))
        if other:
            return {}, [other]
        if len(missing) == len(required):
            begins = sample(",".join(found))
            return {}, [f"has no column of {_what(view)}; its first line is {begins}; name the columns there"]
        problems.append(_missing(missing))
    return names, problems


def describe_repeated(header: Sequence[str], wanted: Iterable[str]) -> list[str]:
    """What to say of wanted columns whose name several columns have, as of a join of views."""
    return [
        f"column {name} is there {header.count(name)} times; write the one of the view alone, or give the "
        "others another name"
        for name in wanted
        if header.count(name) > 1
    ]


def has_queue_columns(found: Iterable[str]) -> bool:
    """Whether columns, by names in any spelling, are those of a queue."""
    return _matches(set(map(_plain, found)), columns_in_files(QUEUE))


def is_text(type: pa.DataType) -> bool:
    """Whether a column of this type has texts, as they are or in a dictionary."""
    if pa.types.is_dictionary(type):
        type = type.value_type
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def read_column_types(system: fs.FileSystem, info: fs.FileInfo, format: str) -> dict[str, pa.DataType | None]:
    """The columns of a Parquet file, of a folder of such files or of a Delta table, with their types.

    Raises:
        ForeignFileError: a column is there twice.
    """
    if format == "delta":
        schema = DeltaTable(info.path).to_pyarrow_dataset().schema
        return {field.name: field.type for field in schema}
    if info.type == fs.FileType.Directory:
        inside = system.get_file_info(fs.FileSelector(info.path, recursive=True))
        files = [each.path for each in inside if each.is_file and each.path.endswith(".parquet")]
        return _of_parquet(system, sorted(files)[0]) if files else {}
    return _of_parquet(system, info.path)


def _of_parquet(system: fs.FileSystem, path: str) -> dict[str, pa.DataType | None]:
    """The columns of a Parquet file; times that old writers keep in 96 bits count as microseconds."""
    with system.open_input_file(path) as source:
        file = pq.ParquetFile(source)
        leaves = [file.schema.column(place) for place in range(len(file.schema))]
        names = file.schema_arrow.names
        if twice := describe_repeated(names, dict.fromkeys(names)):
            raise ForeignFileError(twice[0])
        old_times = {leaf.name for leaf in leaves if leaf.physical_type == "INT96"}
        return {
            field.name: pa.timestamp("us") if field.name in old_times else field.type
            for field in file.schema_arrow
        }


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_")


def _matches(found: set[str], columns: Sequence[ViewColumn]) -> bool:
    required = [column for column in columns if not column.may_lack]
    return all(found & {column.name, *column.also} for column in required)


def _what(view: str) -> str:
    return "a queue" if is_queue(view) or view == QUEUE else view


def _of_another(view: str, found: set[str], of_view: int) -> str | None:
    """What a file seems to be that has only a number of the columns that its view requires.

    Another view is meant if the file has all columns that this one requires, and has more of them.
    """
    if is_trace(found):
        return TRACE
    own = QUEUE if is_queue(view) else view
    others = {
        name: columns
        for name in (*FILE_VIEWS, QUEUE)
        if name != own
        and _matches(found, columns := columns_in_files(name))
        and len([each for each in columns if not each.may_lack]) > of_view
    }
    if not others:
        return None
    other = max(others, key=lambda name: len(others[name]))
    return f"has the columns of {_what(other)}, not of {_what(view)}; export {_what(view)} under this name"


def _missing(columns: Sequence[ViewColumn]) -> str:
    names = []
    for column in columns:
        others = [*column.also, *([column.instead] if column.instead else [])]
        names.append(f"{column.name} (or {', '.join(others)})" if others else column.name)
    if len(names) == 1:
        return f"column {names[0]} is missing"
    return f"columns {', '.join(names[:-1])} and {names[-1]} are missing"


def _is_of_type(type: pa.DataType, kind: ValueType) -> bool:
    if pa.types.is_dictionary(type):
        type = type.value_type
    if pa.types.is_null(type) or is_text(type):
        return True
    if kind == "time":
        return bool(pa.types.is_timestamp(type) and type.unit != "ns")
    if kind == "bit":
        return bool(pa.types.is_boolean(type) or pa.types.is_integer(type))
    return kind == "int" and bool(pa.types.is_integer(type))
