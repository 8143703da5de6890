"""`priorities capture`: the script on standard output, or a file of a server."""

import gzip
import os
import sys
from pathlib import Path

import pytest

from pipelines import cli
from pipelines.capture.script import capture_script
from pipelines.config.errors import ConfigError, ServerError
from tests.support.dbapi import Driver, DriverError, capture_lines, without_times
from tests.support.processes import ROOT, ended

NAME = "SQL1-20261124T073000Z.jsonl"
READ = {"database": "Claims", "count": 0, "complete": False, "error": None, "read_at": "x"}
LINES = capture_lines(
    {"database": "Claims", "read": True, "reason": None, "view_definition": False},
    {"database": "Archive", "read": False, "reason": "OFFLINE", "view_definition": None},
    {"database": "Claims", "view": "services", "row": {"service_id": 1}},
    {**READ, "view": "services"},
    {**READ, "view": "databases"},
    {**READ, "view": "dm_broker_activated_tasks", "error": "300 denied"},
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, without settings."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRIORITIES_CONNECTION", raising=False)
    monkeypatch.delenv("PRIORITIES_CONFIG", raising=False)
    return tmp_path


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver(None, LINES)
    monkeypatch.setitem(sys.modules, "mssql_python", driver)
    return driver


def test_it_prints_the_script_without_an_engine_or_the_driver() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['mssql_python', 'pyspark', 'pysail']))\n"
        "from pipelines import cli\ncli.run(['capture', '--print-sql', '--database', \"O'Hara\"])"
    )
    done = ended([sys.executable, "-c", program])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == capture_script(["O'Hara"])
    assert "VALUES (N'O''Hara');" in done.stdout


def test_a_file_and_what_to_do_next(folder: Path, driver: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["capture", "--server", "SQL1", "--database", "Claims", "--database", "Archive"]) == 0
    assert driver.connected == [("Server=SQL1;Trusted_Connection=yes;", True)]
    assert driver.executed == [capture_script(["Claims", "Archive"])]
    assert (folder / "captures" / NAME).read_text().splitlines() == LINES
    out, err = capsys.readouterr()
    path = str(Path("captures", NAME))
    assert out.splitlines() == [f"wrote {path}", f"next: priorities init --capture {path}"]
    began, done, *warnings = err.splitlines()
    assert began == "capture of SQL1 ..."
    assert done.startswith("capture of SQL1 done in ")
    assert done.endswith(" s: 1 row")
    assert warnings == [
        "warning: database Archive was not read: OFFLINE",
        "warning: Claims.dm_broker_activated_tasks is not complete: 300 denied",
        "warning: Claims: the login lacks VIEW DEFINITION; services and databases may lack rows",
    ]


def test_where_settings_are_a_night_is_next(
    folder: Path, driver: Driver, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "priorities.yaml").touch()
    assert cli.run(["capture", "--server", "SQL1", "--out", "more"]) == 0
    assert (folder / "more" / NAME).exists()
    assert capsys.readouterr().out.splitlines()[-1] == "next: priorities nightly --as-of latest"


def test_the_password_of_the_environment_is_in_no_message(folder: Path) -> None:
    (folder / "mssql_python.py").write_text(
        "def connect(string, **options):\n    raise ValueError(f'no {string}; wrong password s3cret!')\n"
    )
    changes = {
        "PRIORITIES_CONNECTION": "Server=SQL1;UID=reader;PWD=s3cret!",
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
    }
    done = ended([sys.executable, "-m", "jobs", "capture", "--verbose", "--out", str(folder / "x")], changes)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error: capture: the connection failed: no Server=SQL1;UID=reader;PWD=***" in done.stderr
    assert "Traceback" in done.stderr
    assert "s3cret" not in done.stderr
    assert not (folder / "x").exists()


def test_a_password_on_the_command_line_is_refused(driver: Driver) -> None:
    with pytest.raises(ConfigError, match="set PRIORITIES_CONNECTION") as raised:
        cli.run(["capture", "--connection", "Server=SQL1;UID=reader;PWD=s3cret!"])
    assert "s3cret" not in str(raised.value)
    assert driver.connected == []


def test_an_error_of_the_server(folder: Path, driver: Driver) -> None:
    driver.answer = (DriverError("[Microsoft][SQL Server]Run the capture outside a transaction."),)
    says = r"^capture: the server answered: Run the capture outside a transaction\.$"
    with pytest.raises(ServerError, match=says):
        cli.run(["capture", "--server", "SQL1"])
    assert [*(folder / "captures").iterdir()] == []


def test_captures_at_intervals(folder: Path, driver: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["capture", "--server", "SQL1", "--every", "1s", "--for", "1s"]) == 0
    path = Path("captures", "2026-11-24", f"{NAME}.gz")
    assert gzip.decompress(path.read_bytes()).decode().splitlines() == LINES
    out, err = capsys.readouterr()
    assert out == f"wrote {path}\n"
    assert without_times(err).splitlines()[0] == "warning: database Archive was not read: OFFLINE"
    assert driver.executed == [capture_script()]
    assert sorted(each.name for each in Path("captures").iterdir()) == [".recorder-SQL1", "2026-11-24"]


def test_a_server_that_never_answers(driver: Driver, capsys: pytest.CaptureFixture[str]) -> None:
    driver.refuses = DriverError("Login failed")
    assert cli.run(["capture", "--server", "SQL1", "--every", "1s", "--for", "1s"]) == 1
    out, err = capsys.readouterr()
    assert (out, without_times(err)) == ("", "error: capture: the connection failed: Login failed\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--for", "1h"], "--for is for --every; add it"),
        (["--full-every", "1h"], "--full-every is for --every; add it"),
        (["--keep", "1d"], "--keep is for --every; add it"),
        (["--every", "5min", "--print-sql"], "leave one out"),
        (["--every", "5"], "without a unit"),
        (["--every", "0.5s"], "'0.5s' is less than 1 s; write 1 s or more"),
        (["--every", "--keep", "14d"], "name its settings with --config"),
        (["--config", "x.yaml"], "--config is for --keep; leave it out"),
        (None, "no server is named; add --server NAME"),
    ],
)
def test_options_that_are_refused(options: list[str] | None, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        cli.run(["capture"] if options is None else ["capture", "--server", "SQL1", *options])


def test_a_recorder_ends_behind_the_capture_after_a_signal(folder: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from tests.support.dbapi import Driver, capture_lines\n"
        "class Signalling(Driver):\n"
        "    def cursor(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        return super().cursor()\n"
        "sys.modules['mssql_python'] = Signalling(capture_lines())\n"
        "from pipelines import cli\n"
        "from pipelines.commands.launch import launch\n"
        f"launch(cli.run, ['capture', '--server', 'SQL1', '--every', '1h', '--out', {str(folder)!r}])"
    )
    done = ended([sys.executable, "-c", program])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"wrote {folder / '2026-11-24' / NAME}.gz\n"
