"""tools/local_spark.py: broadcasts by memory; compilers and heap by how much there is to do."""

import os
import runpy
import time
from datetime import timedelta
from pathlib import Path

import pytest

from pipelines.config.model import Activation
from schemas import ACCEPTED

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "local_spark.py"))
SETTINGS = """
warehouse: warehouse
inputs:
  message_events: {path: messages, format: parquet}
  queue_events: {path: queues.json, format: json}
snapshots:
- {path: views, instance: SQL01, database: Orders, taken_at: 2026-11-21T00:00:00Z, format: parquet}
"""
AS_OF = "2026-11-21T00:00:00Z"


def make(path: Path, length: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, length)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return tmp_path / "settings.yaml"


def settings_of(
    capsys: pytest.CaptureFixture[str], *arguments: str, memory: str = "", job: str = "jobs/nightly.py"
) -> list[str]:
    TOOL["main"](job, arguments, memory)
    out, err = capsys.readouterr()
    assert err == ""
    return out.splitlines()


@pytest.mark.parametrize(
    ("memory", "length"),
    [("12g", 64 << 20), ("96G", 64 << 20), ("3g", 16 << 20), ("192m", 1 << 20), ("196608k", 1 << 20)],
)
def test_what_is_broadcast_depends_on_memory(
    capsys: pytest.CaptureFixture[str], memory: str, length: int
) -> None:
    expected = [f"spark.sql.autoBroadcastJoinThreshold={length}b"]
    assert settings_of(capsys, memory=memory) == expected


@pytest.mark.parametrize("memory", ["", "g", "much", "12", "1.5g"])
def test_of_a_memory_that_is_none_nothing_follows(capsys: pytest.CaptureFixture[str], memory: str) -> None:
    assert settings_of(capsys, memory=memory) == []


@pytest.mark.parametrize(
    ("file", "length"),
    [
        pytest.param("messages/day/a.parquet", TOOL["MUCH"], id="a packed log"),
        pytest.param("queues.json", TOOL["MUCH"] * TOOL["TEXT"], id="a log as text"),
        pytest.param("views/sys.conversation_endpoints.parquet", TOOL["MUCH"] // TOOL["VIEWS"], id="views"),
    ],
)
def test_more_than_much_is_worth_both(
    settings: Path, capsys: pytest.CaptureFixture[str], file: str, length: int
) -> None:
    make(settings.parent / file, length)
    assert settings_of(capsys, "--as-of", "x", "--config", str(settings)) == []

    make(settings.parent / file, length + TOOL["TEXT"])
    assert settings_of(capsys, "--as-of", "x", f"--config={settings}") == [TOOL["BOTH"]]


def test_little_work_gets_its_memory_at_once_where_there_is_room(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("--config", str(settings))
    assert TOOL["ROOMY"] in settings_of(capsys, *arguments, memory="6g")
    assert TOOL["ROOMY"] not in settings_of(capsys, *arguments, memory="5g")

    make(settings.parent / "messages" / "a.parquet", 2 * TOOL["MUCH"])
    assert settings_of(capsys, *arguments, memory="6g")[1:] == [TOOL["BOTH"]]


def test_what_was_there_at_the_last_fold_is_not_new(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(settings.parent / "messages" / "a.parquet", 2 * TOOL["MUCH"])
    time.sleep(0.05)
    make(settings.parent / "warehouse" / "batches" / "_delta_log" / "00000000000000000000.json", 1)
    assert settings_of(capsys, "--config", str(settings)) == []

    time.sleep(0.05)
    make(settings.parent / "messages" / "b.parquet", TOOL["MUCH"])
    assert settings_of(capsys, "--config", str(settings)) == []

    # Written long ago, and moved in today.
    make(settings.parent / "c.parquet", 1)
    os.utime(settings.parent / "c.parquet", (0, 0))
    (settings.parent / "c.parquet").rename(settings.parent / "messages" / "c.parquet")
    assert settings_of(capsys, "--config", str(settings)) == [TOOL["BOTH"]]


@pytest.mark.parametrize(
    ("part", "activation", "counts"),
    [
        pytest.param("closed_on=__HIVE_DEFAULT_PARTITION__", "{}", True, id="open"),
        pytest.param("closed_on=2026-11-21", "null", True, id="closed since"),
        pytest.param("closed_on=2026-11-20", "{}", True, id="closed in the window of activation"),
        pytest.param("closed_on=2026-11-20", "{window_hours: 0.5}", True, id="closed in a short window"),
        pytest.param("closed_on=2026-11-20", "null", False, id="closed before, without activation"),
        pytest.param("closed_on=2026-11-19", "{}", False, id="closed before"),
    ],
)
def test_what_is_open_is_half_as_much_work(
    settings: Path, capsys: pytest.CaptureFixture[str], part: str, activation: str, counts: bool
) -> None:
    settings.write_text(f"{SETTINGS}activation: {activation}\n")
    half, whole = TOOL["MUCH"], TOOL["MUCH"] * TOOL["OPEN"]
    make(settings.parent / "warehouse" / "message_events" / part / "fold=000001" / "a.parquet", half)
    make(settings.parent / "warehouse" / "endpoints" / part / "fold=000001" / "a.parquet", whole)
    arguments = ("--config", str(settings), "--as-of", AS_OF)
    assert settings_of(capsys, *arguments) == []

    make(settings.parent / "warehouse" / "queue_events" / part / "fold=000001" / "b.parquet", half + 2)
    assert settings_of(capsys, *arguments, job="jobs/schedules.py") == ([TOOL["BOTH"]] if counts else [])
    assert settings_of(capsys, *arguments, job="/else/where/next.py") == []

    # The same moment, elsewhere on earth.
    arguments = (*arguments[:-1], "2026-11-20T18:30:00-05:30")
    assert settings_of(capsys, *arguments) == ([TOOL["BOTH"]] if counts else [])


def test_the_latest_as_of_is_about_the_end_of_the_last_day_that_closed(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.write_text(f"{SETTINGS}activation: {{window_hours: 30}}\n")
    arguments = ("--config", str(settings), "--as-of", "latest")
    for part, is_counted in (
        ("closed_on=2026-11-18", False),
        ("closed_on=2026-11-19", True),
        ("closed_on=2026-11-20", True),
        ("closed_on=__HIVE_DEFAULT_PARTITION__", True),
    ):
        path = settings.parent / "warehouse" / "message_events" / part / "fold=000001" / "a.parquet"
        make(settings.parent / "warehouse" / "message_events" / "closed_on=2026-11-20" / "b.parquet", 1)
        make(path, TOOL["MUCH"] * TOOL["OPEN"] + 2)
        assert settings_of(capsys, *arguments) == ([TOOL["BOTH"]] if is_counted else []), part
        path.unlink()


def test_it_knows_the_tables_and_the_window_of_the_project() -> None:
    """It imports nothing of it, because every start of Spark waits for this."""
    assert set(TOOL["EVENTS"]) == {table.name for table in ACCEPTED.values()}
    assert Activation().window == timedelta(hours=TOOL["DAY_HOURS"])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="a job without settings"),
        pytest.param(["--config"], id="no value"),
        pytest.param(["--config", "there is none"], id="no file"),
        pytest.param(["--help"], id="help"),
    ],
)
def test_what_is_wrong_says_the_job_itself(
    arguments: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert settings_of(capsys, *arguments) == []


@pytest.mark.parametrize("text", ["", "[]", "inputs: 3", "warehouse: w\ninputs: {a: b}", "a: [", "\x00"])
def test_settings_that_cannot_be_read_say_nothing(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(text)
    assert settings_of(capsys, "--config", str(tmp_path / "s.yaml")) == []
