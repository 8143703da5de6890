"""The databases of a capture as snapshots: the rows of small views with their types, and names for queues."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pipelines.server.captures.captured import (
    LARGE,
    SMALL,
    Capture,
    CapturedDatabase,
    CapturedView,
)
from pipelines.server.captures.faults import AGAIN, CaptureFault
from pipelines.server.captures.rows import CapturedRows, ViewKey
from pipelines.server.snapshots.checks import check_snapshot
from pipelines.server.snapshots.columns import WORDS
from pipelines.server.snapshots.names import DEFAULT_SCHEMA
from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.server.snapshots.values import value_of
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.server.snapshots.views import (
    CATALOG_VIEWS,
    ENDPOINTS,
    FILE_VIEWS,
    LOCKED_GROUPS,
    PRIORITIES,
    QUEUES,
    READY,
    VIEWS,
    columns_in_captures,
    columns_in_files,
)

FOR_ENGINES = tuple(view for view in SMALL if VIEWS[view].events)
"""Small views whose rows an engine reads, too."""
Row = dict[str, Any]
Renamed = Mapping[tuple[str, str], str]


def snapshots_of(
    capture: Capture, instance: str, written: CapturedRows | None = None
) -> tuple[list[ServerSnapshot], list[str]]:
    """The databases that a capture shows.

    Args:
        capture: as it was read.
        instance: what its server is called.
        written: takes rows of small views for an engine; None if none will read them.

    Returns:
        A snapshot for each database that was read; and what there is to say of databases that were not, views
        that may lack rows, and locked groups: a line each.

    Raises:
        CaptureFault: a value of a small view does not have the type of its column.
    """
    snapshots, problems, notes = [], [], []
    for database in capture.databases.values():
        if not database.is_read:
            notes.append(f"database {database.name} was not read: {database.reason or 'no reason is given'}")
            continue
        snapshot, wrong = check_snapshot(_snapshot(capture, instance, database, written))
        snapshots.append(snapshot)
        problems += wrong
        notes += _describe_gaps(database, is_light=capture.is_light)
        notes += _describe_locks(database)
        notes += _describe_system_rows(database)
    if problems:
        text = problems[0].removeprefix(f"{capture.path}: ")
        raise CaptureFault(None, f"{text}; {AGAIN}" if AGAIN not in text else text)
    return snapshots, notes


def _snapshot(
    capture: Capture, instance: str, database: CapturedDatabase, written: CapturedRows | None
) -> ServerSnapshot:
    views = {key.name: view for key, view in database.views.items() if view.is_there}
    small = {name: list(_typed_rows(views[name])) for name in FILE_VIEWS if name in SMALL and name in views}
    renamed = _queue_names(small.get(QUEUES, []), [view.key for view in views.values()])
    for row in small.get(QUEUES, []):
        row["name"] = renamed.get((row["schema_name"], row["name"]), row["name"])
    names = {name: _renamed(name, view, renamed) for name, view in views.items()}
    files = {
        names[name]: _file(names[name], capture.path, view.rows)
        for name, view in views.items()
        if view.key.view in LARGE
    }
    if written is not None and database.number is not None:
        for name in FOR_ENGINES:
            if name in small:
                files[name] = _file(name, capture.path, len(small[name]))
                written.write_texts(name, ((database.number, name, row) for row in small[name]))
    complete = {names[name] for name, view in views.items() if view.complete}
    declared = CapturedSnapshot(
        capture.path,
        instance,
        database.name,
        capture.taken_at,
        capture.id,
        capture.utc_offset_minutes,
    )
    catalog = {name: rows for name, rows in small.items() if name in CATALOG_VIEWS}
    lines = [line for line, _ in views[PRIORITIES].small] if PRIORITIES in views else []
    statuses = {
        names[name]: {READY: view.rows, **view.other_statuses}
        for name, view in views.items()
        if view.other_statuses
    }
    return ServerSnapshot(
        declared,
        files,
        catalog,
        frozenset(complete & (files.keys() | small.keys())),
        rule_lines=tuple(lines),
        statuses=statuses,
        number=database.number,
        renamed={name: to for name, to in names.items() if name != to},
    )


def _typed_rows(view: CapturedView) -> Iterator[Row]:
    """The rows of a small view, with their types; times stay text.

    Raises:
        CaptureFault: a value does not have the type of its column.
    """
    name = view.key.view
    for line, given in view.small:
        row: Row = {column.name: None for column in columns_in_files(name)}
        for column in columns_in_captures(name):
            found = given.get(column.name)
            text = found if found is None or isinstance(found, str) else str(found)
            value = text if column.kind == "time" else value_of(text, column.kind)
            if value is None and (found is not None or not (column.nullable or column.may_lack)):
                raise CaptureFault(
                    line, f"{name}: {column.name} is {found!r}; it must be {WORDS[column.kind]}; {AGAIN}"
                )
            row[column.name] = value
        if name == QUEUES:
            row["schema_name"] = row["schema_name"] or DEFAULT_SCHEMA
        yield row


def _queue_names(rows: Sequence[Row], keys: Sequence[ViewKey]) -> Renamed:
    """The names of queues by schema and name, where several schemas have a queue of that name."""
    known = {(row["schema_name"], row["name"]) for row in rows}
    known |= {(str(key.schema), key.queue) for key in keys if key.queue is not None}
    schemas: dict[str, set[str]] = {}
    for schema, queue in known:
        schemas.setdefault(queue, set()).add(schema)
    return {
        (schema, queue): f"{schema}.{queue}"
        for schema, queue in known
        if len(schemas[queue]) > 1 and schema != DEFAULT_SCHEMA
    }


def _renamed(name: str, view: CapturedView, renamed: Renamed) -> str:
    """A view's name; that of a queue has the queue's name behind the first dot."""
    if view.key.queue is None:
        return name
    queue = renamed.get((str(view.key.schema), view.key.queue))
    return name if queue is None else f"{name.partition('.')[0]}.{queue}"


def _file(view: str, path: str, rows: int) -> ViewFile:
    """A view whose rows stand among those of all captures."""
    columns = {column.name: column.name for column in columns_in_captures(view)}
    return ViewFile(view, path, "parquet", columns, {}, is_folder=False, has_rows=rows > 0)


def _describe_gaps(database: CapturedDatabase, *, is_light: bool) -> Iterator[str]:
    """The views that failed, and those that may lack rows, by reason."""
    by_reason: dict[str, list[str]] = {}
    for key, view in database.views.items():
        is_meant = is_light and key.view == ENDPOINTS and view.error is None
        if not view.complete and not is_meant:
            lacks_right = view.error is None and not database.view_definition
            reason = (
                "the login has no VIEW DEFINITION there" if lacks_right else "the capture gives no reason"
            )
            by_reason.setdefault(view.error or reason, []).append(
                key.view if key.queue is None else f"queue {key.schema}.{key.queue}"
            )
    for reason, views in by_reason.items():
        yield f"database {database.name}: {', '.join(views)} may lack rows: {reason}"


def _describe_locks(database: CapturedDatabase) -> Iterator[str]:
    """How many conversation groups were locked: no view says which."""
    view = database.views.get(ViewKey(database.name, LOCKED_GROUPS))
    for _, row in view.small if view else ():
        granted, waiting = row.get("granted") or 0, row.get("waiting") or 0
        verb = "was" if granted == 1 else "were"
        groups = "conversation group" if granted == 1 else "conversation groups"
        wait = f", {waiting} requests waited for such a lock" if waiting else ""
        yield f"database {database.name}: {granted} {groups} {verb} locked{wait}, no view says which"


def _describe_system_rows(database: CapturedDatabase) -> Iterator[str]:
    """How many endpoints of the system the script left out."""
    view = database.views.get(ViewKey(database.name, ENDPOINTS))
    if view is not None and view.system_rows:
        yield f"database {database.name}: {view.system_rows:,} endpoints of the system are left out"
