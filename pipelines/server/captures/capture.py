"""Read a capture: what it says of itself and its views, checked from its first line to its last."""

import hashlib
import json
import os
from collections.abc import Iterator
from errno import EACCES

import numpy as np

from pipelines.server.captures import VERSIONS
from pipelines.server.captures.captured import (
    LARGE,
    SMALL,
    Capture,
    CapturedDatabase,
    CapturedView,
    Row,
)
from pipelines.server.captures.decoding import decoded_blocks
from pipelines.server.captures.faults import (
    CaptureError,
    CaptureFault,
    describe_fault,
    foreign_line,
    mixed_parts,
    no_capture,
    no_header,
    no_json,
    not_whole,
    other_count,
    second_capture,
    short_path,
    wrong_key,
)
from pipelines.server.captures.grouping import Places, find_rows, require_text, rows_by_kind, text_of
from pipelines.server.captures.lines import Lines, read_lines
from pipelines.server.captures.objects import (
    instant_of,
    key_of,
    known_of,
    optional_bit,
    optional_text,
    optional_value,
    other_statuses,
    parse,
    parse_all,
    row_of,
    text_value,
)
from pipelines.server.captures.rows import (
    CapturedRows,
    OtherSpellingError,
    ViewKey,
    keys_of,
    parse_rows,
    placed_rows,
)
from pipelines.server.captures.wrapped import is_mere_form
from pipelines.server.snapshots.view_file import file_system
from pipelines.server.snapshots.views import columns_in_captures

LARGEST_OFFSET = 14 * 60
"""Of a server's clock from UTC, in minutes: datetimeoffset of SQL Server has no larger one."""
MINUTES = "a whole number from -840 to 840, or null"
KNOWN = {view: frozenset(column.name for column in columns_in_captures(view)) for view in SMALL}
"""The columns of small views."""
KINDS = ("row", "capture", "read", "count", "end")
"""Keys that tell the kinds of lines."""


def read_capture(path: str, written: CapturedRows | None = None) -> Capture:
    """Read a capture and check all of it.

    Args:
        path: the file, or its URI.
        written: takes the rows of large views; None to check them alone.

    Raises:
        CaptureError: it is none, or is not whole; one line says where and what to do.
    """
    reading = _Reading(Capture(path), written)
    system, inner, _ = file_system(path)
    try:
        with system.open_input_stream(inner, compression=None) as stream:
            for lines in read_lines(decoded_blocks(stream)):
                reading.take(lines)
        return reading.finished()
    except CaptureFault as fault:
        raise CaptureError(describe_fault(path, fault)) from None
    except PermissionError as error:
        reason = os.strerror(error.errno or EACCES)
        raise CaptureError(
            f"{short_path(path)}: can't be read ({reason}); correct its permissions"
        ) from error


class _Reading:
    """A capture while its lines come in."""

    def __init__(self, capture: Capture, written: CapturedRows | None) -> None:
        self._capture, self._written = capture, written
        self._objects = 0
        self._rows = 0
        self._end: tuple[int, int, Row] | None = None
        """Of the end line: how many objects come before it, its number, and what it says."""
        self._last_line = 0
        self._first_other: tuple[int, str] | None = None
        self._behind: tuple[int, str] | None = None
        """The first other line behind the last object."""
        self._hash = hashlib.sha256()
        self._numbers: dict[str, int] = {}
        """Of the snapshots of databases, if rows are written."""

    def take(self, lines: Lines) -> None:
        """Take the next lines of the file.

        Raises:
            CaptureFault: the first thing that is wrong with them.
        """
        faults: list[CaptureFault] = []
        if lines.others and self._first_other is None:
            self._first_other = lines.others[0][1:]
        rows = find_rows(lines)
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
            require_text(lines)
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
        line = parse(lines.line(place), number)
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
            name = text_value(line, "database", number)
            database = self._database(name)
            database.is_read = optional_bit(line, "read", number) is not False
            database.reason = optional_text(line, "reason", number)
            database.view_definition = optional_bit(line, "view_definition", number)
        elif kind == "count":
            self._take_view(line, number)
        elif kind == "end":
            self._end = (self._objects + place, number, line)

    def _take_header(self, line: Row, number: int) -> None:
        capture = self._capture
        if line["capture"] not in VERSIONS or isinstance(line["capture"], bool | float):
            raise CaptureFault(
                number,
                f"the capture is of version {json.dumps(line['capture'])}, and this reads versions "
                f"{' and '.join(map(str, VERSIONS))}; take it with the script that capture --print-sql "
                "prints",
            )
        capture.id = text_value(line, "id", number).strip("{} ").upper()
        capture.server = text_value(line, "server", number)
        capture.product_version = optional_text(line, "product_version", number)
        minutes = optional_value(line, "utc_offset_minutes", int, number, MINUTES)
        if minutes is not None and abs(minutes) > LARGEST_OFFSET:
            raise wrong_key(number, "utc_offset_minutes", minutes, MINUTES)
        capture.utc_offset_minutes = minutes
        capture.is_light = bool(optional_bit(line, "light", number))
        try:
            capture.taken_at = instant_of(line.get("taken_at"))
        except ValueError:
            raise wrong_key(
                number, "taken_at", line.get("taken_at"), "a time such as 2026-11-24T07:30:00Z"
            ) from None

    def _take_view(self, line: Row, number: int) -> None:
        view = self._view(key_of(line, number))
        if view.count is not None:
            raise CaptureFault(number, f"a second line about {view.key}; take the capture again")
        view.count = optional_value(line, "count", int, number, "a whole number")
        if view.count is None:
            raise wrong_key(number, "count", None, "a whole number")
        view.line = number
        view.complete = line.get("complete") is True
        view.error = optional_text(line, "error", number)
        view.system_rows = optional_value(line, "system_rows", int, number, "a whole number or null")
        view.other_statuses = other_statuses(line, number)

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
        odd = np.ones(len(lines), bool)
        for kind, chosen in rows_by_kind(lines, places):
            try:
                table = parse_rows(kind, text_of(lines, chosen), len(chosen))
            except OtherSpellingError:
                continue
            odd[chosen] = False
            for key, count in keys_of(table):
                self._count(key, count)
            if self._written is not None:
                self._written.write(kind, placed_rows(table, self._numbers))
        self._take_objects(lines, places[odd[places]])

    def _take_objects(self, lines: Lines, places: Places) -> None:
        """Take rows of small views, and rows that are not spelled as the script spells them."""
        texts: dict[str, list[tuple[int, str, Row]]] = {}
        for number, line in parse_all(lines, places):
            key = key_of(line, number)
            view = self._count(key, 1)
            if key.view in LARGE:
                row = row_of(line, number)
                if self._written is not None:
                    texts.setdefault(key.view, []).append((self._numbers[key.database], key.name, row))
            elif key.view in SMALL:
                view.small.append(known_of(KNOWN[key.view], number, row_of(line, number)))
        for kind, rows in texts.items():
            assert self._written is not None
            self._written.write_texts(kind, rows)

    def _count(self, key: ViewKey, rows: int) -> CapturedView:
        """Note that a view has more rows."""
        view = self._view(key)
        view.rows += rows
        self._rows += rows
        return view

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
        views = [view for each in self._capture.databases.values() for view in each.views.values()]
        for view in sorted(views, key=lambda each: each.line):
            if view.count is None:
                raise CaptureFault(
                    number,
                    f"no line says how many rows {view.key} has, but {view.rows} are there; "
                    "take the capture again",
                )
            if view.count != view.rows:
                raise other_count(view.line, str(view.key), view.count, view.rows)
        if line.get("rows") != self._rows:
            raise other_count(number, "the capture", line.get("rows"), self._rows)
        self._capture.sha256 = self._hash.hexdigest()
        return self._capture

    def _database(self, name: str) -> CapturedDatabase:
        database = self._capture.databases.get(name)
        if database is None:
            database = self._capture.databases[name] = CapturedDatabase(name)
            if self._written is not None:
                database.number = self._numbers[name] = self._written.new_number()
        return database

    def _view(self, key: ViewKey) -> CapturedView:
        return self._database(key.database).views.setdefault(key, CapturedView(key))
