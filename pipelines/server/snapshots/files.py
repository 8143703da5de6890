"""The files of a snapshot: one a view, found and compared with the views' columns before an engine starts."""

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

import pyarrow as pa
from pyarrow import fs

from pipelines.config.model import Snapshot
from pipelines.server.snapshots.columns import (
    compare_columns,
    describe_repeated,
    has_queue_columns,
    known_names,
    read_column_types,
)
from pipelines.server.snapshots.declaration import ViewColumn
from pipelines.server.snapshots.errors import (
    WRAPPED,
    describe_single_column,
    find_missing_names,
    find_missing_views,
    is_wrapped,
)
from pipelines.server.snapshots.names import find_complete_views, find_queues, find_view, nearest_view
from pipelines.server.snapshots.values import foreign_value
from pipelines.server.snapshots.view_file import UNREADABLE, ViewFile, describe_unreadable, file_system
from pipelines.server.snapshots.views import (
    ENDPOINTS,
    QUEUE,
    columns_in_files,
    is_queue,
)
from pipelines.text.form import (
    PACKINGS,
    ForeignFileError,
    TextForm,
    read_form,
    whole_lines,
)
from pipelines.text.rows import text_rows

HIDDEN = ("_", ".")
FORMATS = ("csv", "parquet", "delta")
SAMPLED = 100
"""Rows at the start of a file whose values are looked at before an engine starts."""
HOW = "docs/exporting.md#views-by-hand"


@dataclass(frozen=True)
class SnapshotFiles:
    """What a snapshot's folder has.

    Attributes:
        files: the files by view.
        complete: the views that the settings call complete.
        unread: a line for each file that is not read.
        problems: a line for each missing view, missing columns and other fault.
    """

    files: Mapping[str, ViewFile]
    complete: frozenset[str]
    unread: tuple[str, ...]
    problems: tuple[str, ...]


def find_view_files(snapshot: Snapshot) -> SnapshotFiles:
    """Find the views of a snapshot, and what is wrong with them."""
    system, inner, prefix = file_system(snapshot.path)
    if system.get_file_info(inner).type != fs.FileType.Directory:
        line = f"snapshots: {snapshot.path} is not a folder; export the views into it, one file a view"
        return SnapshotFiles({}, frozenset(), (), (line,))
    listed = sorted(system.get_file_info(fs.FileSelector(inner)), key=lambda each: each.path)
    named, bare, unread = _sort_by_name(listed, snapshot)
    problems: list[str] = []
    for info, stem in bare:
        if not _looks_like_queue(system, info, snapshot.format):
            unread.append((info, f"no view has that name{_nearest(stem)}"))
            continue
        others = [view for _, view in named if is_queue(view)]
        meant = find_queues(stem, snapshot.complete, others, snapshot.database)
        if len(meant) == 1:
            named.append((info, meant[0]))
        else:
            line = f"{prefix}{info.path}: the queue may be {' or '.join(sorted(meant))}"
            problems.append(f"{line}; write its schema into the file's name")
    found: dict[str, ViewFile] = {}
    for info, view in sorted(named, key=lambda each: each[0].path):
        path = prefix + info.path
        if view in found:
            problems.append(f"{path}: {found[view].path} is the same view; leave one of them there")
            continue
        found[view], wrong = _compare_file(system, info, path, view, snapshot.format)
        problems += [f"{path}: {each}" for each in wrong]
    complete, unclear = find_complete_views(snapshot.complete, found, snapshot.database)
    problems += find_missing_views(snapshot, complete, unclear, found, unread)
    problems += find_missing_names(snapshot, found)
    lines = [f"{prefix}{info.path} is not read: {why}" for info, why in unread]
    if not found and not problems:
        ending = f".{snapshot.format}"
        there = f"; {PurePosixPath(unread[0][0].path).name} is none" if unread else ""
        problems.append(
            f"{snapshot.path}: there is no view, such as conversation_endpoints{ending}{there}: export one "
            f"file a view, see {HOW}"
        )
    return SnapshotFiles(found, complete, tuple(lines), tuple(problems))


def _sort_by_name(
    listed: Iterable[fs.FileInfo], snapshot: Snapshot
) -> tuple[list[tuple[fs.FileInfo, str]], list[tuple[fs.FileInfo, str]], list[tuple[fs.FileInfo, str]]]:
    """The files whose name is a view's, those that may be queues without schema, and others with a reason."""
    named, bare, unread = [], [], []
    ending = f".{snapshot.format}"
    for info in listed:
        name = PurePosixPath(info.path).name
        if name.startswith(HIDDEN):
            continue
        stem = _stem(name, ending)
        if stem is None:
            if info.is_file:
                unread.append((info, _describe_other_format(name, snapshot)))
            elif snapshot.format == "csv":
                unread.append((info, "it is a folder, and views stand in no folder of their own"))
        elif (view := find_view(stem, snapshot.database)) is not None:
            named.append((info, view))
        elif stem.lower().startswith("sys."):
            unread.append((info, f"no view has that name{_nearest(stem)}"))
        else:
            bare.append((info, stem))
    return named, bare, unread


def _stem(name: str, ending: str) -> str | None:
    """A file's name without its ending, in any case; None if it has another one."""
    endings = [ending, *(ending + packed for packed in PACKINGS)] if ending == ".csv" else [ending]
    return next((name[: -len(each)] for each in endings if name.lower().endswith(each)), None)


def _describe_other_format(name: str, snapshot: Snapshot) -> str:
    """Why a file is not read whose ending is another one, and the view that it may be of."""
    ending = f".{snapshot.format}"
    stem, is_packed, _ = name.lower().partition(f"{ending}.")
    if is_packed:
        view = find_view(name[: len(stem)], snapshot.database)
        return f"it is packed as no engine reads it; unpack it{f'; the nearest is {view}' if view else ''}"
    stem, _, other = name.rpartition(".")
    view = find_view(stem, snapshot.database) if other.lower() in FORMATS else None
    return f"it is no {ending} file{f'; the nearest is {view}' if view else _nearest(name.partition('.')[0])}"


def _nearest(stem: str) -> str:
    view = nearest_view(stem)
    return f"; the nearest is {view}" if view else ""


def _looks_like_queue(system: fs.FileSystem, info: fs.FileInfo, format: str) -> bool:
    try:
        if format == "csv":
            return has_queue_columns(_csv_form(system, info, columns_in_files(QUEUE))[0].header)
        return has_queue_columns(read_column_types(system, info, format))
    except (*UNREADABLE, ForeignFileError):
        return False


def _compare_file(
    system: fs.FileSystem, info: fs.FileInfo, path: str, view: str, format: str
) -> tuple[ViewFile, list[str]]:
    """A view's file, and what is wrong with it."""
    columns = columns_in_files(view)
    held: Mapping[str, pa.DataType | None] = {}
    form, head, names, wrong = None, b"", dict[str, str](), list[str]()
    try:
        if format == "csv" and not info.is_file:
            raise ForeignFileError("it is a folder; write the view into one file")
        if format == "csv":
            form, head = _csv_form(system, info, columns)
            held = dict.fromkeys(form.header)
        else:
            held = read_column_types(system, info, format)
        if not held and info.type == fs.FileType.Directory:
            raise ForeignFileError(f"it is a folder without {format} files; write the view into it again")
        if form is None or not form.is_empty:
            names, wrong = compare_columns(view, columns, held)
        if form is not None:
            wrong += describe_repeated(form.header, names.values())
        if form is not None and len(form.header) == 1 and wrong and not names:
            wrong = [describe_single_column(form)]
        if form is not None and wrong and names and is_wrapped(head, form, columns):
            wrong = [WRAPPED]
        if form is not None and not wrong and form.has_header_again:
            wrong = ["its header stands there twice, so a second table begins; export one table a file"]
        if form is not None and not wrong and (value := _foreign_value(head, form, columns, names)):
            wrong = [value]
    except ForeignFileError as error:
        names, wrong = {}, [str(error)]
    except UNREADABLE as error:
        names, wrong = {}, [describe_unreadable(path, format, error)]
    types = {column: type for column, name in names.items() if (type := held[name]) is not None}
    return ViewFile(view, path, format, names, types, info.type == fs.FileType.Directory, form), wrong


def _csv_form(
    system: fs.FileSystem, info: fs.FileInfo, columns: Iterable[ViewColumn]
) -> tuple[TextForm, bytes]:
    """How a CSV file is written, and its first bytes.

    Raises:
        ForeignFileError: it is none; the text says what it seems to be.
    """
    known = known_names(columns)
    return read_form(system, info.path, known | {name.replace("_", " ") for name in known})


def _foreign_value(
    head: bytes, form: TextForm, columns: Sequence[ViewColumn], names: Mapping[str, str]
) -> str | None:
    """The first value in local form of the rows that the first bytes hold; None without any."""
    if form.is_empty:
        return None
    places = {column: form.header.index(name) for column, name in names.items()}
    rows = text_rows(io.BytesIO(whole_lines(head, form)), form)
    return foreign_value(islice(rows, SAMPLED), columns, places)


def drop_repeated_columns(found: Mapping[str, ViewFile]) -> dict[str, ViewFile]:
    """The files without the columns that say of messages what a view of endpoints says itself."""
    if ENDPOINTS not in found:
        return dict(found)
    return {
        view: file.without(column.name for column in file.columns if column.of_endpoint)
        for view, file in found.items()
    }
