"""Run the capture script on a connection, and write its lines to a file as they come."""

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

ROWS_AT_ONCE = 1_000
"""Rows of one fetch; a row has at most 8,000 characters."""
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

    def add(self, line: object) -> None:
        """Take the next line.

        Raises:
            ServerError: it is no line of a capture, or not in its place.
        """
        try:
            found = json.loads(line) if isinstance(line, str) and line.isascii() else None
        except ValueError:
            found = None
        if not isinstance(found, dict) or self.is_whole:
            raise _broken(f"an unexpected line: {str(line)[:80]!r}")
        if not self.header:
            if found.get("capture") != 1 or not isinstance(found.get("server"), str):
                raise _broken(f"an unexpected first line: {str(line)[:80]!r}")
            self.header = found
        elif "row" in found:
            self.rows += 1
        elif "read" in found:
            if not found["read"]:
                self.unread.append((str(found.get("database")), found.get("reason")))
        elif "complete" in found:
            if not found["complete"]:
                self.incomplete.append((_name_of_view(found), found.get("error")))
        elif found.get("end") is True:
            if found.get("id") != self.header.get("id") or found.get("rows") != self.rows:
                raise _broken(f"{self.rows} rows, but its end line says {found.get('rows')}")
            self.is_whole = True


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
            raise _broken("no result set")


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
    with _new_file(folder) as (partial, file):
        with problems():
            cursor = connection.cursor()
            execute(cursor, script)
        for line in _fetch(cursor, problems):
            lines.add(line)
            file.write(f"{line}\n")
        if not lines.is_whole:
            raise _broken("no end line")
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
        raise _broken(f"taken_at {header.get('taken_at')!r}, which is no time")
    year, month, day, hour, minute, second = taken_at.groups()
    # Readers pass over names that begin with a dot or an underscore.
    server = _FORBIDDEN.sub("_", header["server"]).lstrip("._ ") or "server"
    return f"{server}-{year}{month}{day}T{hour}{minute}{second}Z.jsonl"


@contextmanager
def _new_file(folder: Path) -> Iterator[tuple[Path, TextIO]]:
    partial = folder / f".{uuid4()}.partial"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with open(partial, "x", encoding="utf-8", newline="\n") as file:
            yield partial, file
    except OSError as error:
        raise OutputError(
            f"capture: {folder} can't be written ({error.strerror}); name another --out"
        ) from error
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def _fetch(cursor: Cursor, problems: Problems) -> Iterator[object]:
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


def _broken(what: str) -> ServerError:
    return ServerError(f"capture: the server's answer has {what}; nothing was written, run the command again")
