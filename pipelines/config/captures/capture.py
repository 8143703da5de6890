"""Read a capture: what it says of itself and its views, checked from its first line to its last."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.config.captures.decoding import decoded_blocks
from pipelines.config.captures.faults import (
    CaptureError,
    CaptureFault,
    describe_fault,
    foreign_line,
    mixed_parts,
    no_capture,
    no_header,
    no_json,
    no_text,
    not_whole,
    other_count,
    second_capture,
    wrong_key,
)
from pipelines.config.captures.lines import Lines, is_mere_form, read_lines
from pipelines.config.captures.rows import OtherSpellingError, ViewKey, ViewWriter, parse_rows, text_rows
from pipelines.config.instants import parse_instant
from pipelines.config.snapshots.view_file import file_system
from pipelines.config.snapshots.views import ENDPOINTS, TRANSMISSION, VIEWS

VERSION = 1
"""Of the form of captures that this reads."""
ROW = '"row":'
SURROGATE = re.compile(rb"(?i)\\ud[89a-f]")
KINDS = ("row", "capture", "read", "count", "end")
"""Keys that tell the kinds of lines."""
LOCKED_GROUPS = "locked_groups"
LARGE = (ENDPOINTS, TRANSMISSION, "queue")
"""Views whose rows an engine reads."""
SMALL = (*VIEWS.keys() - {ENDPOINTS, TRANSMISSION}, LOCKED_GROUPS)
"""Views whose rows are read at once; rows of other views count, and say nothing."""
FINER = re.compile(r"(\.\d{6})\d+")
Row = dict[str, Any]
Places: TypeAlias = "np.ndarray[Any, Any]"


@dataclass
class CapturedView:
    """A view of a database.

    Attributes:
        key: which view it is.
        rows: how many rows the capture has.
        count: how many it says that it has; None without a line about the view.
        line: of that line, else of its first row.
        complete: whether it shows all that there is.
        error: the server's error, or why rows are missing.
        small: its rows with their lines, if no engine reads them.
        written: the files of its rows, if an engine does.
    """

    key: ViewKey
    rows: int = 0
    count: int | None = None
    line: int = 0
    complete: bool = False
    error: str | None = None
    small: list[tuple[int, Row]] = field(default_factory=list)
    written: ViewWriter | None = None

    @property
    def is_there(self) -> bool:
        """Whether the view was read: one that failed has no rows and an error."""
        return self.rows > 0 or self.error is None


@dataclass
class CapturedDatabase:
    """A database: whether it was read, else why not; and whether the login sees all of its catalog."""

    name: str
    is_read: bool = True
    reason: str | None = None
    view_definition: bool | None = None
    views: dict[ViewKey, CapturedView] = field(default_factory=dict)


@dataclass
class Capture:
    """What a capture says.

    Attributes:
        path: the file.
        id: of the run of the script.
        server: the server's own name.
        product_version: the server's version.
        taken_at: the moment that it shows, UTC.
        databases: by name.
        sha256: of the lines from the first to the last.
    """

    path: str
    id: str = ""
    server: str = ""
    product_version: str | None = None
    taken_at: datetime = datetime.min
    databases: dict[str, CapturedDatabase] = field(default_factory=dict)
    sha256: str = ""


def read_capture(path: str, folder: Path | None = None) -> Capture:
    """Read a capture and check all of it.

    Args:
        path: the file, or its URI.
        folder: where the rows of large views are written as Parquet files; None to check them alone.

    Raises:
        CaptureError: it is none, or is not whole; one line says where and what to do.
    """
    try:
        return _read(path, folder)
    except CaptureFault as fault:
        raise CaptureError(describe_fault(path, fault)) from None


def _read(path: str, folder: Path | None) -> Capture:
    as_text: set[ViewKey] = set()
    while True:
        # Each reading has a folder of its own: what one that was ended early wrote does not count.
        part = None if folder is None else folder / str(len(as_text))
        reading = _Reading(Capture(path), part, as_text)
        system, inner, _ = file_system(path)
        with system.open_input_stream(inner, compression=None) as stream:
            try:
                for lines in read_lines(decoded_blocks(stream)):
                    reading.take(lines)
                return reading.finished()
            except _Respelled as found:
                as_text.add(found.key)
            finally:
                reading.close()


class _Respelled(Exception):  # noqa: N818
    """The rows of a view are to be read as text."""

    def __init__(self, key: ViewKey) -> None:
        super().__init__()
        self.key = key


class _Reading:
    """A capture while its lines come in."""

    def __init__(self, capture: Capture, folder: Path | None, as_text: set[ViewKey]) -> None:
        self._capture, self._folder, self._as_text = capture, folder, as_text
        self._views: dict[ViewKey, CapturedView] = {}
        self._objects = 0
        self._rows = 0
        self._end: tuple[int, int, Row] | None = None
        """Of the end line: how many objects come before it, its number, and what it says."""
        self._last_line = 0
        self._first_other: tuple[int, str] | None = None
        self._behind: tuple[int, str] | None = None
        """The first other line behind the last object."""
        self._hash = hashlib.sha256()
        self._open: ViewWriter | None = None
        self._numbers = count()

    def take(self, lines: Lines) -> None:
        """Take the next lines of the file.

        Raises:
            CaptureFault: the first thing that is wrong with them.
        """
        faults: list[CaptureFault] = []
        if lines.others and self._first_other is None:
            self._first_other = lines.others[0][1:]
        rows = _find_rows(lines)
        for place in np.flatnonzero(~rows).tolist():
            try:
                self._take_object(place, lines, rows)
            except CaptureFault as fault:
                faults.append(fault)
                break
        faults += self._foreign(lines)
        first = min((fault.line or 0 for fault in faults), default=None)
        try:
            self._take_rows(lines, rows, first)
        except CaptureFault as fault:
            faults.append(fault)
        if faults:
            raise min(faults, key=lambda fault: fault.line or 0)
        if not lines.text.isascii():
            _require_text(lines)
        self._objects += len(lines)
        if len(lines):
            self._last_line = lines.numbers[-1]
            self._hash.update(lines.text)

    def _foreign(self, lines: Lines) -> Iterator[CaptureFault]:
        """The lines inside the capture that are none of it: an object follows them."""
        if self._behind is not None and len(lines):
            yield foreign_line(*self._behind)
        for before, number, text in lines.others:
            objects = self._objects + before
            is_behind = self._end is not None and objects > self._end[0]
            if not objects or is_behind or is_mere_form(text):
                continue
            if before < len(lines):
                yield foreign_line(number, text)
            elif self._behind is None:
                self._behind = number, text

    def _take_object(self, place: int, lines: Lines, rows: Places) -> None:
        number = lines.numbers[place]
        is_first = self._objects + place == 0
        if place in lines.broken:
            raise no_json(number, lines.broken[place], lines.widths)
        line = _parse(lines.line(place), number)
        kind = next((kind for kind in KINDS if kind in line), None)
        if is_first != (kind == "capture"):
            raise no_header(number) if is_first else second_capture(number)
        if self._end is not None:
            raise second_capture(number)
        if kind == "capture":
            self._take_header(line, number)
        elif kind == "row":
            rows[place] = True
        elif kind == "read":
            name = str(_value(line, "database", str, number))
            database = self._database(name)
            database.is_read = bool(line["read"])
            database.reason = line.get("reason")
            database.view_definition = line.get("view_definition")
        elif kind == "count":
            self._take_view(line, number)
        elif kind == "end":
            self._end = (self._objects + place, number, line)

    def _take_header(self, line: Row, number: int) -> None:
        capture = self._capture
        if line["capture"] != VERSION or isinstance(line["capture"], bool):
            raise CaptureFault(
                number,
                f"the capture is of version {json.dumps(line['capture'])}, and this reads version {VERSION}; "
                "take it with the script that capture --print-sql prints",
            )
        capture.id = str(_value(line, "id", str, number)).strip("{} ").upper()
        capture.server = str(_value(line, "server", str, number))
        capture.product_version = line.get("product_version")
        try:
            capture.taken_at = _instant(line.get("taken_at"))
        except ValueError:
            raise wrong_key(
                number, "taken_at", line.get("taken_at"), "a time such as 2026-11-24T07:30:00Z"
            ) from None

    def _take_view(self, line: Row, number: int) -> None:
        view = self._view(_key(line, number))
        if view.count is not None:
            raise CaptureFault(number, f"a second line about {view.key}; take the capture anew")
        if not isinstance(line["count"], int) or isinstance(line["count"], bool):
            raise wrong_key(number, "count", line["count"], "a whole number")
        view.count, view.line = line["count"], number
        view.complete, view.error = line.get("complete") is True, line.get("error")

    def _take_rows(self, lines: Lines, rows: Places, before: int | None) -> None:
        """Take the lines of rows, up to a line with a fault."""
        places = np.flatnonzero(rows)
        if before is not None:
            places = places[[lines.numbers[place] < before for place in places.tolist()]]
        if not len(places):
            return
        if self._objects == 0 and places[0] == 0:
            raise no_header(lines.numbers[0])
        if self._end is not None and self._objects + int(places[-1]) > self._end[0]:
            behind = next(place for place in places.tolist() if self._objects + place > self._end[0])
            raise second_capture(lines.numbers[behind])
        for key, chosen in _by_view(lines, places):
            if key is None:
                self._take_odd_rows(lines, chosen)
                continue
            view = self._view(key)
            view.rows += len(chosen)
            self._rows += len(chosen)
            if key.view in LARGE:
                self._write(view, lines, chosen)
            elif key.view in SMALL:
                view.small += [_row(lines, place) for place in chosen.tolist()]

    def _take_odd_rows(self, lines: Lines, places: Places) -> None:
        """Take rows whose lines name their view behind the row, or in another case."""
        by_view: dict[ViewKey, list[int]] = {}
        for place in places.tolist():
            number = lines.numbers[place]
            if place in lines.broken:
                raise no_json(number, lines.broken[place], lines.widths)
            by_view.setdefault(_key(_parse(lines.line(place), number), number), []).append(place)
        for key, chosen in by_view.items():
            view = self._view(key)
            view.rows += len(chosen)
            self._rows += len(chosen)
            if key.view in LARGE:
                self._as_text_only(key)
                self._write(view, lines, np.array(chosen))
            elif key.view in SMALL:
                view.small += [_row(lines, place) for place in chosen]

    def _as_text_only(self, key: ViewKey) -> None:
        if key not in self._as_text:
            raise _Respelled(key)

    def _write(self, view: CapturedView, lines: Lines, places: Places) -> None:
        """Parse rows of a large view, and write them if there is a folder."""
        key, name = view.key, view_name(view.key)
        if key in self._as_text:
            table = text_rows(name, (_row(lines, place)[1] for place in places.tolist()))
        else:
            try:
                table = parse_rows(key, name, _text_of(lines, places), len(places))
            except OtherSpellingError:
                raise _Respelled(key) from None
        if self._folder is None:
            return
        if view.written is None:
            folder = self._folder / str(next(self._numbers))
            folder.mkdir(parents=True)
            view.written = ViewWriter(name, folder, key in self._as_text)
        if self._open is not view.written:
            self.close()
            self._open = view.written
        view.written.write(table)

    def close(self) -> None:
        """Close the file that is open."""
        if self._open is not None:
            self._open.close()

    def finished(self) -> Capture:
        """The capture, once all lines were taken.

        Raises:
            CaptureFault: it is not whole, or a count is not that of its rows.
        """
        if not self._objects:
            raise no_capture(*(self._first_other or (None, "")))
        if self._end is None:
            raise not_whole(self._last_line, self._behind[1] if self._behind else "")
        _, number, line = self._end
        ended = str(line.get("id")).strip("{} ").upper()
        if ended != self._capture.id:
            raise mixed_parts(number, self._capture.id, ended)
        for view in sorted(self._views.values(), key=lambda each: each.line):
            if view.count is None:
                raise CaptureFault(
                    number,
                    f"no line says how many rows {view.key} has, but {view.rows} are there; "
                    "take the capture anew",
                )
            if view.count != view.rows:
                raise other_count(view.line, str(view.key), view.count, view.rows)
        if line.get("rows") != self._rows:
            raise other_count(number, "the capture", line.get("rows"), self._rows)
        self._capture.sha256 = self._hash.hexdigest()
        return self._capture

    def _database(self, name: str) -> CapturedDatabase:
        return self._capture.databases.setdefault(name, CapturedDatabase(name))

    def _view(self, key: ViewKey) -> CapturedView:
        if key not in self._views:
            self._views[key] = self._database(key.database).views[key] = CapturedView(key)
        return self._views[key]


def view_name(key: ViewKey) -> str:
    """The view as `pipelines.config.snapshots.views` names it; a queue by schema and name."""
    if key.queue is None:
        return key.view
    schema = str(key.schema).replace("%", "%25").replace(".", "%2E")
    return f"{schema}.{key.queue}"


def _find_rows(lines: Lines) -> Places:
    """Which objects are rows."""
    if not len(lines):
        return np.zeros(0, bool)
    found = pc.match_substring(_array(lines), ROW).to_numpy(zero_copy_only=False)
    rows = np.array(found, bool)
    for place in lines.broken:
        rows[place] = False
    return rows


def _array(lines: Lines) -> pa.Array:
    """The objects with their line ends, as an array over the text."""
    offsets = np.concatenate(([0], lines.ends + 1)).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(lines), [None, pa.py_buffer(offsets), pa.py_buffer(lines.text)]
    )


def _by_view(lines: Lines, places: Places) -> Iterator[tuple[ViewKey | None, Places]]:
    """Rows by their view; None for those whose line does not begin with it."""
    todo = np.zeros(len(lines), bool)
    todo[places] = True
    odd = np.zeros(len(lines), bool)
    array = _array(lines)
    at = 0
    while (left := np.flatnonzero(todo[at:])).size:
        at += int(left[0])
        line = lines.line(at)
        begin = line[: line.find(ROW.encode()) + len(ROW)]
        key = _key_of_beginning(begin) if line.find(ROW.encode()) >= 0 else None
        if key is None:
            odd[at], todo[at] = True, False
            continue
        alike = todo & np.array(pc.starts_with(array, begin).to_numpy(zero_copy_only=False), bool)
        todo &= ~alike
        yield key, np.flatnonzero(alike)
    if odd.any():
        yield None, np.flatnonzero(odd)


def _key_of_beginning(begin: bytes) -> ViewKey | None:
    """The view that a line names before its row."""
    try:
        return ViewKey.of(_load(begin + b"null}"))
    except (ValueError, KeyError):
        return None


def _text_of(lines: Lines, places: Places) -> bytes:
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        begin = int(lines.ends[first - 1]) + 1 if first else 0
        return lines.text[begin : int(lines.ends[last]) + 1]
    return b"".join(lines.line(place) + b"\n" for place in places.tolist())


def _row(lines: Lines, place: int) -> tuple[int, Row]:
    """A row with its line's number."""
    number = lines.numbers[place]
    row = _parse(lines.line(place), number)["row"]
    if not isinstance(row, dict):
        raise wrong_key(number, "row", row, "an object")
    return number, row


def _load(line: bytes) -> Row:
    """The object of a line. Half of a surrogate pair, which a server's name may have, becomes U+FFFD."""
    found: Row = json.loads(line)
    if SURROGATE.search(line):
        units = json.dumps(found, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
        found = json.loads(units.decode("utf-16-le", "replace"))
    return found


def _parse(line: bytes, number: int) -> Row:
    """The object of a line, with the keys in small letters; those of a row stay as they are."""
    try:
        found = _load(line)
    except UnicodeDecodeError:
        raise no_text(number) from None
    except (ValueError, RecursionError):
        raise no_json(number, line.decode("utf-8", "replace"), ()) from None
    return {str(key).lower(): value for key, value in found.items()}


def _key(line: Mapping[str, Any], number: int) -> ViewKey:
    try:
        return ViewKey.of(line)
    except KeyError as missing:
        raise wrong_key(number, str(missing.args[0]), None, "there") from None


def _value(line: Row, key: str, type: type, number: int) -> Any:
    value = line.get(key)
    if not isinstance(value, type) or not value:
        raise wrong_key(number, key, value, "a text")
    return value


def _instant(value: object) -> datetime:
    """A time, its digits beyond microseconds cut off.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str):
        raise ValueError
    return parse_instant(FINER.sub(r"\1", value))


def _require_text(lines: Lines) -> None:
    """See that all bytes of the lines are UTF-8.

    Raises:
        CaptureFault: those of a line are not.
    """
    try:
        lines.text.decode("utf-8")
    except UnicodeDecodeError as error:
        place = int(np.searchsorted(lines.ends, error.start))
        raise no_text(lines.numbers[place]) from None
