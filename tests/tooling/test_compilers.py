"""tools/compilers.py: both compilers where much is new since the last fold."""

import os
import runpy
import time
from pathlib import Path

import pytest

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "compilers.py"))
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


def option(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    TOOL["main"](arguments)
    return capsys.readouterr().out.strip()


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
    assert option(capsys, "--as-of", "x", "--config", str(settings)) == ""

    make(settings.parent / file, length + TOOL["TEXT"])
    assert option(capsys, "--as-of", "x", f"--config={settings}") == TOOL["BOTH"]


def test_what_was_there_at_the_last_fold_is_not_new(
    settings: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make(settings.parent / "messages" / "a.parquet", 2 * TOOL["MUCH"])
    time.sleep(0.05)
    make(settings.parent / "warehouse" / "batches" / "_delta_log" / "00000000000000000000.json", 1)
    assert option(capsys, "--config", str(settings)) == ""

    time.sleep(0.05)
    make(settings.parent / "messages" / "b.parquet", TOOL["MUCH"])
    assert option(capsys, "--config", str(settings)) == ""

    # Written long ago, and moved in today.
    make(settings.parent / "c.parquet", 1)
    os.utime(settings.parent / "c.parquet", (0, 0))
    (settings.parent / "c.parquet").rename(settings.parent / "messages" / "c.parquet")
    assert option(capsys, "--config", str(settings)) == TOOL["BOTH"]


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
    TOOL["main"](arguments)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("text", ["", "[]", "inputs: 3", "warehouse: w\ninputs: {a: b}", "a: [", "\x00"])
def test_settings_that_cannot_be_read_say_nothing(
    text: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "s.yaml").write_text(text)
    TOOL["main"](["--config", str(tmp_path / "s.yaml")])
    assert capsys.readouterr() == ("", "")
