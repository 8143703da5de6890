"""Captures as the capture script writes them: one JSON object a line, in the script's order and spelling."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from pipelines.server.snapshots.declaration import BIT, GUID, TIME, ServerType
from pipelines.server.snapshots.views import VIEWS
from tests.support.factories import NOON, Row
from tests.support.server import Place, Views

ID = "6F0C7B52-3C1D-4E0A-9C64-2A5D0D7B11F3"
"""Of a capture that names no other."""
READ_TIME = timedelta(milliseconds=100)
"""How long the script reads a view."""

HOSTILE_NAMES = [
    "a]b[c",
    "quote ' and \"",
    "line\r\nend\n",
    "a.b.c",
    ".",
    "tab\there",
    '{"row":{"status":1}}',
    '"row":{',
    '","view":"services","row":{"service_id":1}}',
    '{"end":true}',
    "\\",
    "\\u0041",
    "n" * 128,
    "\N{BEER MUG}" * 64,
    "Größe Ω 木",
    " blanks ",
    "NULL",
    "null",
    "<&>",
    "comma,semicolon;pipe|",
    "\N{DELETE}\N{NEXT LINE}\N{LINE SEPARATOR}",
    "\0",
    "%25 %2E",
]

ViewName = str | tuple[str, str]
"""A view, or a queue: schema.queue, and a pair where the schema has a dot."""


SELECTED = {
    view.name: {column.name: column.type for column in view.columns if column.is_selected}
    for view in VIEWS.values()
}
"""The columns that the script selects, by view."""
FIRST, SECOND = "transmission_queue", "conversation_endpoints"
"""The script reads the first view of all databases, then the queues, then the second view, and last the
others, by name within each database."""
NAMES = SELECTED.keys() - {FIRST, SECOND, "queue"}
OTHER_STATUSES = (0, 2, 3)
"""Of rows of a queue that are not ready: received and kept, waiting for an earlier number, sent and kept."""
DMVS = ("dm_broker_activated_tasks", "dm_broker_queue_monitors", "locked_groups")


@dataclass(frozen=True)
class Captured:
    """A database as the script finds it.

    Attributes:
        views: rows by view; a view that is missing has none.
        reason: why the database was not read; None for one that was.
        view_definition: whether the login sees all rows of the catalog.
        errors: by view, why it could not be read.
        locked_groups: how many conversation groups are locked, and how many wait for one.
    """

    views: Mapping[Any, list[Row]] = field(default_factory=dict)
    reason: str | None = None
    view_definition: bool = True
    errors: Mapping[ViewName, str] = field(default_factory=dict)
    locked_groups: tuple[int, int] | None = None


def capture_lines(
    databases: Mapping[str, Captured | Mapping[Any, list[Row]]],
    *,
    server: str = "SQL1",
    taken_at: datetime = NOON,
    id: str = ID,
    server_state: bool = True,
    most_rows: int | None = None,
    utc_offset_minutes: int = 0,
    is_light: bool = False,
) -> list[str]:
    """The lines of a capture.

    Args:
        databases: what the script finds, by database.
        server: the server's name.
        taken_at: the clock before the first view is read; each view takes 0.1 s.
        id: the capture's.
        server_state: whether the login sees the views of the whole server.
        most_rows: the most rows of a queue; None for all.
        utc_offset_minutes: of the server's clock.
        is_light: whether not all endpoints are meant to be there.
    """
    found = {
        name: each if isinstance(each, Captured) else Captured(dict(each)) for name, each in databases.items()
    }
    read_at = taken_at
    header = {"capture": 2, "id": id, "server": server, "product_version": "16.0.4135.4"}
    header |= {"taken_at": spell_time(taken_at), "utc_offset_minutes": utc_offset_minutes}
    header |= {"light": True} if is_light else {}
    lines = [to_line({**header, "server_state": server_state})]
    for name, each in found.items():
        what = {"read": each.reason is None, "reason": each.reason}
        sees = each.view_definition if each.reason is None else None
        lines.append(to_line({"database": name, **what, "view_definition": sees}))
    total = 0
    for name, view in _in_script_order(found):
        read_at += READ_TIME
        rows, about = _read_view(found[name], view, server_state, most_rows)
        if is_light and view == SECOND:
            about |= {"complete": False}
        head = {"database": name, **_names_of(view)}
        total += len(rows)
        lines += [to_line({**head, "row": row}) for row in rows]
        lines.append(to_line({**head, **about, "read_at": spell_time(read_at)}))
    end = {"end": True, "id": id, "rows": total, "finished_at": spell_time(read_at + READ_TIME)}
    return [*lines, to_line(end)]


def _in_script_order(found: Mapping[str, Captured]) -> Iterator[tuple[str, ViewName]]:
    """Databases and views in the order in which the script reads them."""
    read = {name: each for name, each in found.items() if each.reason is None}
    yield from ((name, FIRST) for name in read)
    for name, each in read.items():
        yield from (
            (name, queue) for queue in sorted(filter(is_queue, {**each.views, **each.errors}), key=_parts)
        )
    yield from ((name, SECOND) for name in read)
    for name, each in read.items():
        others = {view for view in each.views if isinstance(view, str) and not is_queue(view)}
        yield from ((name, view) for view in sorted({*NAMES, *others} - {FIRST, SECOND}))


def _read_view(
    database: Captured, view: ViewName, server_state: bool, most_rows: int | None
) -> tuple[list[Row], Row]:
    """The rows of a view, and what the line about it says."""
    error = database.errors.get(view)
    if error is None and view in DMVS and not server_state:
        error = "300 VIEW SERVER STATE permission was denied on object 'server', database 'master'."
    if error is not None:
        return [], {"count": 0, "complete": False, "error": error} | _counts(view, None)
    given = database.views.get(view, [])
    if view == "locked_groups" and database.locked_groups is not None:
        given = [dict(zip(("granted", "waiting"), database.locked_groups, strict=True))]
    schemas = {queue: schema for schema, queue in map(_parts, filter(is_queue, database.views))}
    counts = _counts(view, given)
    if is_queue(view):
        given = [row for row in given if row.get("status") not in OTHER_STATUSES]
    rows = [spell_row(view, _with_defaults(view, row, schemas)) for row in given]
    if is_queue(view) and most_rows is not None and len(rows) >= most_rows:
        rows = rows[:most_rows]
        return rows, {"count": len(rows), "complete": False, "error": f"cut at {most_rows} rows"} | counts
    complete = is_queue(view) or database.view_definition
    return rows, {"count": len(rows), "complete": complete, "error": None} | counts


def _counts(view: ViewName, given: list[Row] | None) -> Row:
    """What the line about a view says of rows that the script does not show; null if it could not read it."""
    if is_queue(view):
        found = Counter(row.get("status") for row in given or () if row.get("status") in OTHER_STATUSES)
        others = [{"status": status, "rows": rows} for status, rows in sorted(found.items())]
        return {"other_statuses": None if given is None else others}
    return {"system_rows": None if given is None else 0} if view == SECOND else {}


def _with_defaults(view: ViewName, row: Row, schemas: Mapping[str, str]) -> Row:
    """A row with what the naive server and the old form of snapshots leave out."""
    if view == "service_queues":
        return {"schema_name": schemas.get(row.get("name", ""), "dbo"), **row}
    return {"is_broker_enabled": True, **row} if view == "databases" else row


def is_queue(view: ViewName) -> bool:
    """Whether a view is a queue."""
    return not isinstance(view, str) or "." in view


def _parts(view: ViewName) -> tuple[str, str]:
    """Schema and name of a queue."""
    schema, queue = view.split(".", 1) if isinstance(view, str) else view
    return schema, queue


def _names_of(view: ViewName) -> Row:
    """How a line names its view."""
    return (
        {"view": "queue", **dict(zip(("schema", "queue"), _parts(view), strict=True))}
        if is_queue(view)
        else {"view": view}
    )


def spell_row(view: ViewName, row: Mapping[str, Any]) -> Row:
    """A row with all columns that the script reads, spelled by it; others come last."""
    types = SELECTED["queue"] if is_queue(view) else SELECTED.get(str(view), {})
    further = {name: value for name, value in row.items() if name not in types}
    return {name: _spelled(row.get(name), type) for name, type in types.items()} | further


def _spelled(value: Any, type: ServerType) -> Any:
    """A value; text where another type is due stands there as it is."""
    if type is GUID and value is not None:
        return str(value).upper()
    if type.kind == "text" and isinstance(value, str):
        return value[: type.length]
    if isinstance(value, datetime):
        return spell_time(value) if type is TIME else spell_time(value).removesuffix("Z")
    if type is BIT and isinstance(value, int):
        return bool(value)
    return int(value) if isinstance(value, bool) else value


def spell_time(moment: datetime) -> str:
    """A time as CONVERT with style 126 writes it, and Z; a whole number of milliseconds has three digits."""
    micros = moment.microsecond
    fraction = f".{moment:%f}0" if micros % 1000 else f".{micros // 1000:03}" if micros else ""
    return f"{moment:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def to_line(value: Mapping[str, Any]) -> str:
    """A line as FOR JSON and the script's escapes write it: printable ASCII."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).replace("/", "\\/")
    if text.isascii() and text.isprintable():
        return text
    units = text.encode("utf-16-be", "surrogatepass")
    codes = (int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    return "".join(
        chr(code) if 33 <= code <= 126 and chr(code) not in "&<>" else f"\\u{code:04X}" for code in codes
    )


def change_line(lines: Sequence[str], place: int, change: Callable[[Row], Row]) -> list[str]:
    """The lines with one of them changed; `place` may be negative."""
    new = list(lines)
    new[place] = to_line(change(json.loads(new[place])))
    return new


def find_lines(lines: Sequence[str], **keys: Any) -> list[int]:
    """The places of the lines that have these values."""
    objects = [json.loads(line) for line in lines]
    return [at for at, each in enumerate(objects) if keys.items() <= each.items()]


def write_capture(path: Path, lines: Sequence[str]) -> Path:
    """Write a capture as a plain driver writes it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(f"{line}\n" for line in lines).encode("ascii"))
    return path


def write_captures(folder: Path, views: Mapping[Place, Views], taken_at: datetime) -> list[Path]:
    """Write the views of the naive server, one capture for each instance."""
    paths = []
    for server in sorted({instance for instance, _ in views}):
        databases = {name: each for (instance, name), each in views.items() if instance == server}
        id = str(uuid5(NAMESPACE_DNS, f"{server} {taken_at}")).upper()
        lines = capture_lines(databases, server=server, taken_at=taken_at, id=id)
        name = f"{len(paths):02}-{taken_at:%Y%m%dT%H%M%S%f}.jsonl"
        paths.append(write_capture(folder / name, lines))
    return paths
