"""Run the capture script on a connection, and write its lines to a file as they come."""

import gzip
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO
from uuid import uuid4

from pipelines.capture.connection import Connection, Cursor
from pipelines.config.errors import OutputError, ServerError
from pipelines.console.wording import format_list
from pipelines.server.captures import VERSIONS
from pipelines.server.snapshots.views import ENDPOINTS

ROWS_AT_ONCE = 1_000
"""Rows of one fetch; a row has at most 8,000 characters."""
PARTIAL = ".partial"
"""The ending of a file that is not whole."""
_FORBIDDEN = re.compile(r'[<>:"/\\|?*\x00-\x1f]')
"""Characters that a file name may not have on Windows."""
_TAKEN_AT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?Z", re.ASCII)
Problems = Callable[[], Any]
"""Makes a context that turns errors of the driver into errors of the command."""


@dataclass
class Lines:
    """What the lines of a capture say, as far as it has been read.

    Attributes:
        header: the first line.
        rows: how many lines have a row of a view.
        unread: databases that were not read, with the reason.
        incomplete: views that may lack rows, with the error; None where the login sees only its own rows.
        is_whole: whether the end line has come, with the header's id and the number of rows.
    """

    header: dict[str, Any] = field(default_factory=dict)
    rows: int = 0
    unread: list[tuple[str, str | None]] = field(default_factory=list)
    incomplete: list[tuple[str, str | None]] = field(default_factory=list)
    is_whole: bool = False

    def add(self, line: object) -> dict[str, Any]:
        """Take the next line, and return what it says.

        Raises:
            ServerError: it is no line of a capture, or not in its place.
        """
        try:
            found = json.loads(line) if isinstance(line, str) and line.isascii() else None
        except ValueError:
            found = None
        if not isinstance(found, dict) or self.is_whole:
            raise broken(f"an unexpected line: {str(line)[:80]!r}")
        if not self.header:
            if found.get("capture") not in VERSIONS or not isinstance(found.get("server"), str):
                raise broken(f"an unexpected first line: {str(line)[:80]!r}")
            self.header = found
        elif "row" in found:
            self.rows += 1
        elif "read" in found:
            if not found["read"]:
                self.unread.append((str(found.get("database")), found.get("reason")))
        elif "complete" in found:
            if not found["complete"] and not self._is_meant(found):
                self.incomplete.append((_name_of_view(found), found.get("error")))
        elif found.get("end") is True:
            if found.get("id") != self.header.get("id") or found.get("rows") != self.rows:
                raise broken(f"{self.rows} rows, but its end line says {found.get('rows')}")
            self.is_whole = True
        return found

    def _is_meant(self, found: dict[str, Any]) -> bool:
        """Whether a view lacks rows because this is a light capture."""
        return bool(self.header.get("light")) and found.get("view") == ENDPOINTS and not found.get("error")

    def warnings(self) -> list[str]:
        """What was not read, or perhaps not all of it, one line each."""
        warnings = [f"database {name} was not read: {reason}" for name, reason in self.unread]
        warnings += [f"{view} is not complete: {error}" for view, error in self.incomplete if error]
        limited: dict[str, list[str]] = {}
        for view, error in self.incomplete:
            if not error:
                database, _, name = view.rpartition(".")
                limited.setdefault(database, []).append(name)
        return warnings + [
            f"{database}: the login lacks VIEW DEFINITION; {format_list(views)} may lack rows"
            for database, views in limited.items()
        ]


@dataclass(frozen=True)
class Written:
    """A capture file and what its lines say."""

    path: Path
    lines: Lines


def execute(cursor: Cursor, script: str) -> None:
    """Run the script, and go to its result: the first result set that has columns.

    Raises:
        ServerError: there is none.
    """
    cursor.execute(script)
    while cursor.description is None:
        if not cursor.nextset():
            raise broken("no result set")


def write(connection: Connection, script: str, folder: Path, problems: Problems) -> Written:
    """Run the script and write its lines into a new file of the folder, which is made if it is missing.

    The file's name begins with a dot until it is whole. If anything fails, it is removed.

    Args:
        connection: of the server, with autocommit.
        script: the capture script.
        folder: where the file goes.
        problems: the context in which the driver is called.

    Raises:
        ServerError: the driver raised an error, or the answer is no whole capture.
        OutputError: the file can't be written, or one of its name is there.
    """
    lines = Lines()
    # First the file: a folder that can't be written is found before the server has any work.
    with new_file(folder) as (partial, file):
        for line in fetch(connection, script, problems):
            lines.add(line)
            file.write(f"{line}\n")
        if not lines.is_whole:
            raise broken("no end line")
        file.close()
        path = folder / file_name(lines.header)
        if path.exists():
            raise OutputError(f"capture: {path} is there already; move it away, or name another --out")
        os.replace(partial, path)
    return Written(path, lines)


def file_name(header: dict[str, Any]) -> str:
    """The name of a capture's file, by the server and the second of its header line.

    Raises:
        ServerError: the header has no such time.
    """
    taken_at = _TAKEN_AT.fullmatch(str(header.get("taken_at")))
    if taken_at is None:
        raise broken(f"taken_at {header.get('taken_at')!r}, which is no time")
    year, month, day, hour, minute, second = taken_at.groups()
    return f"{part_of_name(header['server'])}-{year}{month}{day}T{hour}{minute}{second}Z.jsonl"


def part_of_name(server: str) -> str:
    """A server's name as the begin of a file's name."""
    # Readers pass over names that begin with a dot or an underscore.
    return without_forbidden(server).lstrip("._ ") or "server"


def without_forbidden(server: str) -> str:
    """A server's name with _ for characters that file names may not have on every system."""
    return _FORBIDDEN.sub("_", server)


@contextmanager
def new_file(folder: Path, prefix: str = "", *, packed: bool = False) -> Iterator[tuple[Path, TextIO]]:
    """Open a new text file whose name begins with a dot; it is removed behind the block if it is still there.

    Args:
        folder: is made if it is missing.
        prefix: comes behind the dot.
        packed: whether its content is compressed.

    Raises:
        OutputError: the folder can't be written.
    """
    partial = folder / f".{prefix}{uuid4()}{PARTIAL}"
    opened: Any = gzip.open if packed else open
    mode = "xt" if packed else "x"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with opened(partial, mode, encoding="utf-8", newline="\n") as file:
            yield partial, file
    except OSError as error:
        raise OutputError(
            f"capture: {folder} can't be written ({error.strerror}); name another --out"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def fetch(connection: Connection, script: str, problems: Problems) -> Iterator[object]:
    """Run the script and yield the lines of its result.

    Raises:
        ServerError: the driver raised an error, or there is no result.
    """
    with problems():
        cursor = connection.cursor()
        execute(cursor, script)
    while True:
        with problems():
            rows = cursor.fetchmany(ROWS_AT_ONCE)
        if not rows:
            return
        for row in rows:
            yield row[0]


def _name_of_view(found: dict[str, Any]) -> str:
    keys = ("database", "schema", "queue") if found.get("view") == "queue" else ("database", "view")
    return ".".join(str(found.get(key)) for key in keys)


def broken(what: str) -> ServerError:
    """The error of an answer that is no whole capture."""
    return ServerError(f"capture: the server's answer has {what}; nothing was written")
