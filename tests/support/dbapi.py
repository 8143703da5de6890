"""A stand-in for the vendor's driver: its server answers the capture script with given lines."""

import json
import re
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from pipelines.capture.script import capture_script

VERSION = int(re.search(r"SELECT (\d+) AS \[capture\]", capture_script())[1])  # type: ignore[index]
"""Of a capture that the script writes."""


def capture_lines(
    *lines: dict[str, Any], server: str = "SQL1", taken_at: str = "2026-11-24T07:30:00.1234567Z", **end: Any
) -> list[str]:
    """The lines of a capture between a header and an end line that fit them."""
    header = {"capture": VERSION, "id": "6F0C", "server": server, "product_version": "16.0.4135.4"}
    header |= {"taken_at": taken_at, "server_state": True}
    rows = sum("row" in line for line in lines)
    last = {"end": True, "id": "6F0C", "rows": rows, "finished_at": "2026-11-24T07:30:02.1Z"} | end
    return [json.dumps(line, separators=(",", ":")) for line in (header, *lines, last)]


def without_times(err: str) -> str:
    """What a recorder wrote to standard error, without the time at the end of each line."""
    lines = re.findall(r"(.*) \(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\)\n", err)
    assert len(lines) == err.count("\n"), err
    return "".join(f"{line}\n" for line in lines)


class DriverError(Exception):
    """An error of the driver."""


class Cursor:
    """Result sets one after the other: None has no columns, an exception is raised, lines are rows."""

    def __init__(self, driver: "Driver") -> None:
        self._driver = driver
        self._place = -1
        self._rows: list[tuple[str]] = []
        self.description: Sequence[Any] | None = None

    def execute(self, operation: str) -> None:
        self._driver.executed.append(operation)
        self.nextset()

    def nextset(self) -> bool:
        self._place += 1
        self.description = None
        if self._place >= len(self._driver.answer):
            return False
        found = self._driver.answer[self._place]
        if isinstance(found, Exception):
            raise found
        if found is not None:
            self.description = [("capture_line", str, None, 8000, 8000, 0, False)]
            self._rows = [(line,) for line in found]
        return True

    def fetchmany(self, size: int) -> list[tuple[str]]:
        if self.description is None:
            raise DriverError("no rows")
        if self._driver.fails_after is not None and self._driver.fetched >= self._driver.fails_after:
            raise DriverError("Communication link failure")
        size = min(size, self._driver.most_at_once)
        taken, self._rows = self._rows[:size], self._rows[size:]
        self._driver.fetched += len(taken)
        return taken


class Driver(ModuleType):
    """The module, its connection and what was asked of both.

    Attributes:
        answer: what the server answers to a batch.
        most_at_once: rows of a fetch.
        fails_after: after how many rows a fetch fails.
        refuses: the error of a login.
    """

    def __init__(self, *answer: list[str] | Exception | None) -> None:
        super().__init__("mssql_python")
        self.answer = answer
        self.most_at_once = 1_000
        self.fails_after: int | None = None
        self.refuses: Exception | None = None
        self.fetched = 0
        self.executed: list[str] = []
        self.connected: list[tuple[str, bool]] = []
        self.is_closed = False

    def connect(self, connection_str: str, autocommit: bool = False, timeout: int = 0) -> "Driver":
        self.connected.append((connection_str, autocommit))
        if self.refuses is not None:
            raise self.refuses
        return self

    def cursor(self) -> Cursor:
        return Cursor(self)

    def close(self) -> None:
        self.is_closed = True
