"""A run writes the lines of the server into one file, or nothing."""

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.capture import run
from pipelines.capture.connection import driver_errors
from pipelines.capture.run import Written, file_name, write
from pipelines.config.errors import OutputError, ServerError
from tests.support.dbapi import Cursor, Driver, DriverError, capture_lines

CUT = {"database": "Claims", "complete": False, "read_at": "x"}
QUEUE = {"view": "queue", "schema": "dbo", "queue": "Q"}
LINES = capture_lines(
    {"database": "Claims", "read": True, "reason": None, "view_definition": True},
    {"database": "Archive", "read": False, "reason": "OFFLINE", "view_definition": None},
    *({"database": "Claims", "view": "services", "row": {"service_id": n}} for n in range(7)),
    {**CUT, "view": "services", "count": 7, "error": None},
    {**CUT, **QUEUE, "count": 0, "error": "1222 Lock request time out"},
)
NAME = "SQL1-20261124T073000Z.jsonl"


def written(driver: Driver, folder: Path) -> Written:
    return write(driver, "the script", folder, partial(driver_errors, "the server answered", "PWD=secret"))


@pytest.mark.parametrize("most_at_once", [1, 3, 1_000])
def test_the_file_has_the_lines_and_what_was_not_read_is_told(tmp_path: Path, most_at_once: int) -> None:
    driver = Driver(None, None, LINES, None)
    driver.most_at_once = most_at_once
    found = written(driver, tmp_path / "new" / "captures")
    assert driver.executed == ["the script"]
    assert found.path == tmp_path / "new" / "captures" / NAME
    assert found.path.read_bytes() == "".join(f"{line}\n" for line in LINES).encode("ascii")
    assert [path.name for path in found.path.parent.iterdir()] == [NAME]
    assert (found.lines.rows, found.lines.unread) == (7, [("Archive", "OFFLINE")])
    locked = ("Claims.dbo.Q", "1222 Lock request time out")
    assert found.lines.incomplete == [("Claims.services", None), locked]


def test_until_it_is_whole_its_name_begins_with_a_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Lines(run.Lines):
        def add(self, line: object) -> dict[str, Any]:
            seen.extend(path.name[0] for path in tmp_path.iterdir())
            return super().add(line)

    monkeypatch.setattr(run, "Lines", Lines)
    written(Driver(LINES), tmp_path)
    assert seen == ["."] * len(LINES)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([DriverError("[Microsoft]Run the capture outside.")], "answered: Run the capture outside"),
        ([None, DriverError("bad PWD=secret")], r"answered: bad PWD=\*\*\*$"),
        ([], "no result set"),
        ([None, None], "no result set"),
        ([[]], "no end line"),
        ([LINES[:-1]], "no end line"),
        ([LINES[1:]], "an unexpected first line"),
        ([["Msg 1205"]], "an unexpected line: 'Msg 1205'"),
        ([[*LINES, LINES[-1]]], "an unexpected line"),
        ([[line for line in LINES if '"service_id":3' not in line]], "6 rows, but its end line says 7"),
        ([capture_lines(id="other")], "its end line says"),
        ([capture_lines(taken_at="now")], "taken_at 'now', which is no time"),
    ],
)
def test_nothing_is_left_of_an_answer_that_is_not_whole(tmp_path: Path, answer: list[Any], says: str) -> None:
    with pytest.raises(ServerError, match=says):
        written(Driver(*answer), tmp_path)
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("rows", range(0, len(LINES), 3))
def test_nothing_is_left_of_a_connection_that_breaks(tmp_path: Path, rows: int) -> None:
    driver = Driver(LINES)
    driver.most_at_once, driver.fails_after = 1, rows
    with pytest.raises(ServerError, match="answered: Communication link failure"):
        written(driver, tmp_path)
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_is_there_stays_and_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("mine")
    with pytest.raises(OutputError, match=f"{NAME} is there already"):
        written(Driver(LINES), tmp_path)
    driver = Driver(LINES)
    with pytest.raises(OutputError, match="can't be written"):
        written(driver, tmp_path / NAME)
    assert driver.executed == []
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(NAME, "mine")]


@pytest.mark.parametrize(
    ("server", "name"),
    [
        ("SQL1\\INST", "SQL1_INST-20261124T073000Z.jsonl"),
        ('a<b>c:d"e/f|g?h*i', "a_b_c_d_e_f_g_h_i-20261124T073000Z.jsonl"),
        ("mi.database.example", "mi.database.example-20261124T073000Z.jsonl"),
        (".._x", "x-20261124T073000Z.jsonl"),
        ("\\", "server-20261124T073000Z.jsonl"),
    ],
)
def test_file_name(server: str, name: str) -> None:
    assert file_name({"server": server, "taken_at": "2026-11-24T07:30:00Z"}) == name


def test_an_interrupt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(cursor: Cursor, size: int) -> list[Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr(Cursor, "fetchmany", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(Driver(LINES), "the script", tmp_path, nullcontext)
    assert [*tmp_path.iterdir()] == []
