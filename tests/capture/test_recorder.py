"""A recorder takes captures at its beats: full ones, light ones, and nothing that a server cuts off."""

import gzip
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from pipelines.capture import recorder
from pipelines.capture.connection import driver_errors
from pipelines.capture.recorder import Clock, Plan, Recorder, Reports, Source, only_recorder
from pipelines.capture.retention import delete_older
from pipelines.capture.run import Written
from pipelines.config.errors import BusyError, OutputError, PipelineError
from pipelines.server.captures.capture import read_capture
from pipelines.server.captures.known import KnownCapture
from tests.support.dbapi import Cursor, Driver, DriverError, capture_lines

START = datetime(2026, 11, 28, 23, 50, tzinfo=UTC)
MINUTE, HOUR = 60.0, 3600.0
Row = dict[str, Any]


class Timer(Clock):
    """A clock that goes on when somebody waits, and when the server works."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> bool:
        self.seconds += max(0.0, seconds)
        return self.stop.is_set()


class Server(Driver):
    """Answers each batch with the endpoints that it has by then; `on_ask` may change what it does."""

    def __init__(self, timer: Timer) -> None:
        super().__init__()
        self.timer = timer
        self.name = "SQL1"
        self.takes: dict[int, float] = {}
        self.fails: dict[int, Exception] = {}
        self.endpoints: Callable[[int], list[str]] = lambda number: []
        self.on_ask: Callable[[int], None] = lambda number: None
        self.asked_at: list[float] = []

    def cursor(self) -> Cursor:
        number = len(self.asked_at)
        self.asked_at.append(self.timer.seconds)
        self.on_ask(number)
        taken_at = (START + timedelta(seconds=self.timer.seconds)).isoformat()[:19] + "Z"
        rows: list[Row] = [
            {"database": "Claims", "view": "conversation_endpoints", "row": {"conversation_handle": handle}}
            for handle in self.endpoints(number)
        ]
        view = {"database": "Claims", "view": "conversation_endpoints", "count": len(rows), "complete": True}
        lines = capture_lines(*rows, {**view, "error": None}, server=self.name, taken_at=taken_at)
        self.answer = (self.fails[number],) if number in self.fails else (lines,)
        self.timer.seconds += self.takes.get(number, 0.0)
        return super().cursor()


class Heard(Reports):
    def __init__(self) -> None:
        self.written: list[tuple[str, bool]] = []
        self.errors: list[str] = []
        self.skips: list[int] = []

    def wrote(self, written: Written, *, is_full: bool) -> None:
        path = written.path
        self.written.append((f"{path.parent.name}/{path.name}", is_full))

    def failed(self, error: PipelineError) -> None:
        self.errors.append(str(error))

    def skipped(self, beats: int) -> None:
        self.skips.append(beats)


class Case:
    """A recorder of a server that is made up, with what it told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.timer, self.heard = Timer(), Heard()
        self.server = Server(self.timer)

    def record(self, *, minutes: float, every: float = 5 * MINUTE, full_every: float = HOUR) -> int:
        @contextmanager
        def connect() -> Iterator[Driver]:
            with problems():
                connection = self.server.connect("Server=SQL1")
            yield connection
            connection.close()

        problems = partial(driver_errors, "the server answered", "")
        source = Source(connect, problems, full="full", light="light", server="SQL1")
        plan = Plan(every, full_every, minutes * MINUTE)
        with only_recorder(self.folder, "SQL1") as folder:
            return Recorder(source, folder, plan, self.heard, self.timer).run()

    def endpoints_in(self, name: str) -> list[str]:
        lines = gzip.decompress((self.folder / name).read_bytes()).decode().splitlines()
        found = [json.loads(line) for line in lines]
        handles = [each["row"]["conversation_handle"] for each in found if "row" in each]
        view = next(each for each in found if "complete" in each)
        assert view["count"] == found[-1]["rows"] == len(handles)
        return handles


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path / "captures")


def test_captures_are_in_folders_by_the_day_and_the_first_of_an_hour_is_full(case: Case) -> None:
    assert case.record(minutes=65) == 13
    names = [name for name, _ in case.heard.written]
    assert names[:3] == [
        "2026-11-28/SQL1-20261128T235000Z.jsonl.gz",
        "2026-11-28/SQL1-20261128T235500Z.jsonl.gz",
        "2026-11-29/SQL1-20261129T000000Z.jsonl.gz",
    ]
    assert [is_full for _, is_full in case.heard.written] == [True, *[False] * 11, True]
    assert case.server.executed == ["full", *["light"] * 11, "full"]
    assert len(case.server.connected) == 1
    assert case.server.is_closed
    files = [path for path in case.folder.rglob("*.gz") if path.is_file()]
    assert sorted(f"{path.parent.name}/{path.name}" for path in files) == names


def test_a_light_capture_leaves_out_the_endpoints_that_were_shown(case: Case) -> None:
    case.server.endpoints = lambda number: [["a", "b"], ["b", "c"], ["c", "d"], ["c"]][number]
    case.record(minutes=20, full_every=15 * MINUTE)
    assert [case.endpoints_in(name) for name, _ in case.heard.written] == [["a", "b"], ["c"], ["d"], ["c"]]


def test_a_light_capture_that_failed_has_shown_nothing(case: Case) -> None:
    server = case.server
    server.endpoints = lambda number: [["a"], ["b"], ["b"]][number]
    server.most_at_once = 1

    def break_off(number: int) -> None:
        server.fails_after = server.fetched + 2 if number == 1 else None

    server.on_ask = break_off
    assert case.record(minutes=15) == 2
    assert [case.endpoints_in(name) for name, _ in case.heard.written] == [["a"], ["b"]]
    assert case.heard.errors == ["capture: the server answered: Communication link failure"]


def test_beats_that_a_long_capture_covers_are_left_out(case: Case) -> None:
    case.server.takes = {1: 12 * MINUTE}
    assert case.record(minutes=30) == 4
    assert case.server.asked_at == [0, 5 * MINUTE, 20 * MINUTE, 25 * MINUTE]
    assert case.heard.skips == [2]


def test_skips_are_told_once_an_hour(case: Case) -> None:
    case.server.takes = dict.fromkeys(range(20), 6 * MINUTE)
    assert case.record(minutes=150) == 15
    assert case.heard.skips == [1, 6, 6, 2]


def test_a_server_that_fails_is_asked_after_longer_and_longer(case: Case) -> None:
    lost = DriverError("Communication link failure")
    case.server.fails = dict.fromkeys(range(1, 7), lost)
    assert case.record(minutes=38, every=MINUTE) == 3
    # Pauses of 1, 2, 4, 8, 10 and 10 minutes.
    assert [at / MINUTE for at in case.server.asked_at] == [0, 1, 2, 4, 8, 16, 26, 36, 37]
    assert case.heard.errors == ["capture: the server answered: Communication link failure"] * 6


def test_a_full_capture_that_failed_makes_the_next_one_full(case: Case) -> None:
    case.server.fails = {1: DriverError("timeout")}
    case.record(minutes=20, full_every=5 * MINUTE)
    assert case.server.executed == ["full"] * 4
    assert len(case.server.connected) == 2


def test_another_server_under_the_same_name_is_read_whole(case: Case) -> None:
    case.server.endpoints = lambda number: ["a"]
    case.server.on_ask = lambda number: setattr(case.server, "name", "SQL2" if number else "SQL1")
    case.record(minutes=20)
    assert case.server.executed == ["full", "light", "full", "light"]
    assert case.endpoints_in(case.heard.written[2][0]) == ["a"]


def test_a_capture_of_the_same_second_gets_a_number(case: Case) -> None:
    case.record(minutes=1)
    again = Case(case.folder)
    again.record(minutes=1)
    assert again.heard.written == [("2026-11-28/SQL1-20261128T235000Z-2.jsonl.gz", True)]


def test_a_folder_that_went_away_is_told_and_the_next_capture_goes_on(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.replace

    def replace(source: Path, target: Path) -> None:
        if len(case.server.asked_at) == 2:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    assert case.record(minutes=15) == 2
    assert len(case.heard.errors) == 1
    assert case.heard.errors[0].endswith("can't be written (No space left on device); name another --out")
    assert len(case.server.connected) == 2
    assert [path.name for path in case.folder.rglob(".*")] == [".recorder-SQL1"]


def test_a_server_that_hangs_is_given_up_and_nothing_of_it_is_written(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "LEAST_PATIENCE", 0.2)
    monkeypatch.setattr(recorder, "INTERVALS_OF_PATIENCE", 0)
    answers = Event()

    def hang_at_first(number: int) -> None:
        if number == 0:
            answers.wait(60)

    case.server.on_ask = hang_at_first
    assert case.record(minutes=10) == 1
    answers.set()
    assert case.heard.errors == ["capture: the server has not answered for 0.2 s"]
    assert len(case.server.connected) == 2


def test_a_signal_ends_it_behind_the_capture(case: Case) -> None:
    case.server.on_ask = lambda number: case.timer.stop.set()
    assert case.record(minutes=60) == 1


def test_one_recorder_a_server_and_folder(tmp_path: Path) -> None:
    day = tmp_path / "2026-11-28"
    day.mkdir()
    left = ".SQL1_A.12345678-1234-1234-1234-123456789012.partial"
    other = ".SQL1.12345678-1234-1234-1234-123456789012.partial"
    for name in (left, other):
        (day / name).touch()
    with only_recorder(tmp_path, "SQL1\\A"):
        assert [path.name for path in day.iterdir()] == [other]
        with only_recorder(tmp_path, "SQL2"):
            pass
        busy = pytest.raises(BusyError, match=r"another recorder of SQL1\\A writes into")
        with busy, only_recorder(tmp_path, "SQL1\\A"):
            pass
    with only_recorder(tmp_path, "SQL1\\A"):
        pass
    no_folder = pytest.raises(OutputError, match="can't be written")
    with no_folder, only_recorder(day / other, "SQL1"):
        pass


def test_a_folder_that_is_deleted_is_locked_again(case: Case) -> None:
    """The next capture makes the folder, which no other recorder of the server may use."""

    def delete(number: int) -> None:
        if number == 1:
            shutil.rmtree(case.folder)
        if number == 3:
            busy = pytest.raises(BusyError, match="another recorder of SQL1 writes into")
            with busy, only_recorder(case.folder, "SQL1"):
                pass

    case.server.on_ask = delete
    assert case.record(minutes=20) == 4
    assert case.heard.errors == []
    assert case.server.executed == ["full", "light", "full", "light"], "its endpoints were in the folder"


def test_a_recorder_ends_where_another_has_taken_the_folder(case: Case) -> None:
    with ExitStack() as stack:

        def take(number: int) -> None:
            if number == 1:
                shutil.rmtree(case.folder)
                stack.enter_context(only_recorder(case.folder, "SQL1"))

        case.server.on_ask = take
        with pytest.raises(BusyError, match="another recorder of SQL1 writes into"):
            case.record(minutes=20)
    assert len(case.heard.written) == 2
    assert case.server.is_closed


def known(path: Path, taken_at: datetime, sha256: str | None = None) -> KnownCapture:
    return KnownCapture(
        path=str(path.resolve()),
        length=path.stat().st_size,
        sha256=sha256 or read_capture(str(path), None).sha256,
        taken_at=taken_at,
        id="1",
        server="SQL1",
        instance="SQL1",
        first_seen=None,
        modified_at=START,
        databases=(),
        catalogs={},
    )


def test_what_a_warehouse_has_taken_is_deleted_after_a_time(case: Case) -> None:
    case.record(minutes=20)
    paths = [case.folder / name for name, _ in case.heard.written]
    taken = [START + timedelta(minutes=5 * number) for number in range(4)]
    captures = [known(path, moment) for path, moment in zip(paths, taken, strict=True)]
    captures[1] = known(paths[1], taken[1], sha256="other")
    outside = case.folder.parent / "mine.jsonl"
    outside.write_bytes(gzip.decompress(paths[0].read_bytes()))
    captures.append(known(outside, taken[0]))
    keep = timedelta(minutes=5)
    assert delete_older(case.folder, captures, taken[3], keep) == [paths[0].resolve()]
    captures[1] = known(paths[1], taken[1])
    deleted = [path.resolve() for path in paths[1:3]]
    assert delete_older(case.folder, captures, taken[3] + keep, keep) == deleted
    assert [path.name for path in case.folder.iterdir() if path.is_dir()] == ["2026-11-29"]
    assert outside.exists()
