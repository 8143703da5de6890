"""A recorder as a process: kills, signals and a second one leave whole captures only; and --keep."""

import gzip
import json
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pipelines import cli
from pipelines.capture.run import Lines, Written
from pipelines.commands import record
from pipelines.config.errors import PipelineError
from tests.support.dbapi import Driver, capture_lines, without_times
from tests.support.processes import start_program

PROGRAM = """
import sys, time
from pathlib import Path
from tests.support.dbapi import Driver, capture_lines

class Server(Driver):
    "Stops answering behind five lines as long as there is a file 'hangs'."
    def connect(self, *given, **options):
        Path("connected").touch()
        return super().connect(*given, **options)

    def cursor(self):
        found = super().cursor()
        fetch, lines = found.fetchmany, iter(range(5))
        def fetchmany(size):
            if next(lines, None) is None and Path("hangs").exists():
                Path("asked").touch()
                time.sleep(600)
            return fetch(size)
        found.fetchmany = fetchmany
        return found

view = {"database": "Claims", "view": "services"}
server = Server(capture_lines(*[{**view, "row": {"service_id": n}} for n in range(9)]))
server.most_at_once = 1
sys.modules["mssql_python"] = server
from pipelines import cli
from pipelines.commands.launch import launch
launch(cli.run, sys.argv[1:])
"""
RECORD = ("capture", "--server", "SQL1", "--out", "out", "--every", "1s")
WHOLE = "SQL1-20261124T073000Z.jsonl.gz"


class Place:
    """A folder in which recorders are started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def start(self, *options: str) -> "subprocess.Popen[str]":
        return start_program(PROGRAM, *RECORD, *options, cwd=self.folder)

    def start_hanging(self) -> "subprocess.Popen[str]":
        (self.folder / "hangs").touch()
        # A capture that takes longer than ten intervals, and a minute, counts as lost.
        process = self.start("--every", "1h")
        until = time.monotonic() + 60
        while not (self.folder / "asked").exists():
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
        (self.folder / "hangs").unlink()
        (self.folder / "asked").unlink()
        return process

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "out").glob("????-??-??/*"))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.slow
def test_a_recorder_that_ends_within_a_capture_leaves_nothing_of_it_and_no_lock(place: Place) -> None:
    """The first signal waits for the capture, the second one ends it. Until then, another one is refused."""
    hanging = place.start_hanging()
    (place.folder / "connected").unlink()
    second = place.start("--for", "1s")
    _, err = second.communicate(timeout=60)
    assert second.returncode == 5
    assert err == "error: capture: another recorder of SQL1 writes into out; end it, or name another --out\n"
    assert not (place.folder / "connected").exists()
    hanging.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    assert hanging.poll() is None
    hanging.send_signal(signal.SIGTERM)
    hanging.communicate(timeout=60)
    assert hanging.returncode == 128 + signal.SIGTERM
    assert [name[:6] + name[-8:] for name in place.files] == [".SQL1..partial"]

    out, err = place.start("--for", "1s").communicate(timeout=60)
    assert (out, err) == (f"wrote out/2026-11-24/{WHOLE}\n", "")
    assert place.files == [WHOLE]
    lines = gzip.decompress((place.folder / "out" / "2026-11-24" / WHOLE).read_bytes()).decode().splitlines()
    assert json.loads(lines[-1])["rows"] == 9 == len(lines) - 2


def test_a_warehouse_that_can_not_be_read_does_not_end_the_recorder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(root: str) -> list[Any]:
        raise PipelineError(f"{root}/batches: the table can't be read")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mssql_python", Driver(capture_lines()))
    monkeypatch.setattr(record, "read_known", refuse)
    (tmp_path / "out").mkdir()
    (tmp_path / "settings.yaml").write_text("warehouse: warehouse\nsnapshots: [{path: out}]\n")
    options = ["--for", "2s", "--full-every", "1s", "--keep", "1d", "--config", "settings.yaml"]
    assert cli.run([*RECORD, *options]) == 0
    out, err = capsys.readouterr()
    assert out.count("wrote out/2026-11-24/SQL1-20261124T073000Z") == 2
    table = tmp_path / "warehouse" / "batches"
    assert without_times(err) == f"warning: --keep: {table}: the table can't be read\n"


def test_keep_counts_from_the_newest_capture_where_the_clock_goes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []

    def delete(folder: Path, known: Any, newest: datetime, keep: timedelta) -> list[Path]:
        asked.append(newest)
        return []

    monkeypatch.setattr(record, "read_known", lambda root: ["a capture"])
    monkeypatch.setattr(record, "delete_older", delete)
    reports = record._Printed(tmp_path, 60.0, str(tmp_path))
    for minute, is_full in ((30, False), (20, True), (40, True)):
        header = {"taken_at": f"2026-11-24T07:{minute}:00.1234567Z"}
        reports.wrote(Written(tmp_path, Lines(header=header)), is_full=is_full)
    assert [each.replace(microsecond=0) for each in asked] == [
        datetime(2026, 11, 24, 7, minute, tzinfo=UTC) for minute in (30, 40)
    ]
    assert without_times(capsys.readouterr().err) == (
        "warning: the server's clock has gone back: an earlier capture was taken at "
        "2026-11-24T07:30:00.123456Z\n"
    )
