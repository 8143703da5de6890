"""tools/local_spark.py: broadcasts by memory; compilers and heap by how much there is to do."""

import os
import runpy
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from pipelines.config.model import Activation
from schemas import ACCEPTED

TOOL = runpy.run_path(str(Path(__file__).resolve().parents[2] / "tools" / "local_spark.py"))
MUCH, OPEN = TOOL["MUCH"], TOOL["OPEN"]
BOTH, ROOMY = (f"{TOOL['OPTIONS']}={TOOL[name]}" for name in ("BOTH", "ROOMY"))
SETTINGS = """
warehouse: warehouse
inputs:
  message_events: {path: messages, format: parquet}
  queue_events: {path: queues.json, format: json}
snapshots:
- {path: views, instance: SQL01, database: Orders, taken_at: 2026-11-21T00:00:00Z, format: parquet}
"""
Lines = Callable[..., list[str]]


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lines:
    """What the tool prints for the options of a job, in a folder with settings.yaml."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PRIORITIES_CONFIG", raising=False)
    monkeypatch.setitem(TOOL["main"].__globals__, "ARCHIVE", tmp_path / "classes.jsa")
    (tmp_path / "settings.yaml").write_text(SETTINGS)

    def printed(options: str, memory: str = "", job: str = "jobs/nightly.py") -> list[str]:
        TOOL["main"](job, options.split(), memory)
        out, err = capsys.readouterr()
        assert err == ""
        return out.splitlines()

    return printed


def make(path: str, length: int) -> None:
    """A file of that many bytes in the folder of the settings."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).touch()
    os.truncate(path, length)


def test_java_takes_classes_from_an_archive(lines: Lines) -> None:
    Path("classes.jsa").touch()
    [shared] = lines("--config settings.yaml")
    assert shared == f"{TOOL['OPTIONS']}={TOOL['SHARED']}"
    assert lines("--config settings.yaml", memory="6g")[1:] == [f"{shared} {TOOL['ROOMY']}"]


@pytest.mark.parametrize(
    ("memory", "length"),
    [
        ("96G", 64 << 20),
        ("3g", 16 << 20),
        ("196608k", 1 << 20),
        # Of a memory that is none nothing follows.
        *((memory, None) for memory in ("", "g", "12", "1.5g")),
    ],
)
def test_what_is_broadcast_depends_on_memory(lines: Lines, memory: str, length: int | None) -> None:
    expected = [] if length is None else [f"spark.sql.autoBroadcastJoinThreshold={length}b"]
    assert lines("", memory) == expected


@pytest.mark.parametrize(
    ("file", "length"),
    [
        ("messages/day/a.parquet", MUCH),
        ("queues.json", MUCH * TOOL["TEXT"]),
        ("views/sys.conversation_endpoints.parquet", MUCH // TOOL["VIEWS"]),
    ],
)
def test_more_than_much_is_worth_both_and_little_its_memory_at_once_where_there_is_room(
    lines: Lines, file: str, length: int
) -> None:
    make(file, length)
    assert lines("--as-of x --config settings.yaml") == []
    assert lines("--config settings.yaml", memory="6g")[1:] == [ROOMY]
    assert lines("--config settings.yaml", memory="5g")[1:] == []
    make(file, length + TOOL["TEXT"])
    assert lines("--as-of x --config=settings.yaml") == [BOTH]
    assert lines("--config settings.yaml", memory="6g")[1:] == [BOTH]


def test_what_was_there_at_the_last_fold_is_not_new(lines: Lines) -> None:
    make("messages/a.parquet", 2 * MUCH)
    time.sleep(0.05)
    make("warehouse/batches/_delta_log/00000000000000000000.json", 1)
    assert lines("--config settings.yaml") == []
    time.sleep(0.05)
    make("messages/b.parquet", MUCH)
    assert lines("--config settings.yaml") == []
    # Written long ago, and moved in today.
    make("c.parquet", 1)
    os.utime("c.parquet", (0, 0))
    Path("c.parquet").rename("messages/c.parquet")
    assert lines("--config settings.yaml") == [BOTH]


@pytest.mark.parametrize(
    ("closed_on", "activation", "counts"),
    [
        ("__HIVE_DEFAULT_PARTITION__", "{}", True),
        ("2026-11-21", "null", True),
        # In the window of activation, also in a short one; then before it.
        ("2026-11-20", "{}", True),
        ("2026-11-20", "{window_hours: 0.5}", True),
        ("2026-11-20", "null", False),
        ("2026-11-19", "{}", False),
    ],
)
def test_what_is_open_is_half_as_much_work(
    lines: Lines, closed_on: str, activation: str, counts: bool
) -> None:
    Path("settings.yaml").write_text(f"{SETTINGS}activation: {activation}\n")
    part, expected = f"closed_on={closed_on}/fold=000001", [BOTH] if counts else []
    asked = "--config settings.yaml --as-of"
    make(f"warehouse/message_events/{part}/a.parquet", MUCH)
    make(f"warehouse/endpoints/{part}/a.parquet", MUCH * OPEN)
    assert lines(f"{asked} 2026-11-21T00:00:00Z") == []
    make(f"warehouse/queue_events/{part}/b.parquet", MUCH + 2)
    assert lines(f"{asked} 2026-11-21T00:00:00Z", job="jobs/schedules.py") == expected
    assert lines(f"{asked} 2026-11-21T00:00:00Z", job="/else/where/next.py") == []
    # The same moment, elsewhere on earth.
    assert lines(f"{asked} 2026-11-20T18:30:00-05:30") == expected


def test_the_latest_as_of_is_about_the_end_of_the_last_day_that_closed(lines: Lines) -> None:
    Path("settings.yaml").write_text(f"{SETTINGS}activation: {{window_hours: 30}}\n")
    make("warehouse/message_events/closed_on=2026-11-20/b.parquet", 1)
    for closed_on, is_counted in (
        ("2026-11-18", False),
        ("2026-11-19", True),
        ("2026-11-20", True),
        ("__HIVE_DEFAULT_PARTITION__", True),
    ):
        path = f"warehouse/message_events/closed_on={closed_on}/fold=000001/a.parquet"
        make(path, MUCH * OPEN + 2)
        assert lines("--config settings.yaml --as-of latest") == ([BOTH] if is_counted else []), closed_on
        Path(path).unlink()


def test_it_knows_the_tables_and_the_window_of_the_project() -> None:
    """It imports nothing of it, because every start of Spark waits for this."""
    assert set(TOOL["EVENTS"]) == {table.name for table in ACCEPTED.values()}
    assert Activation().window == timedelta(hours=TOOL["DAY_HOURS"])


def test_what_is_wrong_says_the_job_itself(lines: Lines) -> None:
    for options in ("", "--config", "--config there_is_none", "--help"):
        assert lines(options) == [], options
    for text in ("", "[]", "inputs: 3", "warehouse: w\ninputs: {a: b}", "a: [", "\x00"):
        Path("settings.yaml").write_text(text)
        assert lines("--config settings.yaml") == [], text
