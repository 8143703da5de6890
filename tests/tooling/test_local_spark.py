"""tools/local_spark.py: broadcasts by memory; compilers and heap by what is new since the last fold."""

import os
import runpy
import time
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "local_spark.py"))
SETTINGS = """
warehouse: warehouse
inputs:
  message_events: {path: messages, format: parquet}
  queue_events: {path: queues.json, format: json}
snapshots:
- {path: views, instance: SQL01, database: Orders, taken_at: 2026-11-21T00:00:00Z, format: parquet}
"""


def make(path: Path, length: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, length)


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    (tmp_path / "settings.yaml").write_text(SETTINGS)
    return tmp_path / "settings.yaml"


def settings_of(capsys: pytest.CaptureFixture[str], *arguments: str, memory: str = "") -> list[str]:
    TOOL["main"](arguments, memory)
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
