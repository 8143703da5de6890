"""The sums over an event log, on a few events as Spark writes them."""

import json
from pathlib import Path

import pytest

from benchmarks.event_log import files_read, files_read_from, read_event_log, work_of

SQL = "org.apache.spark.sql.execution.ui.SparkListener"


def task(
    stage: int, seconds: float, *, shuffled: int = 0, spilled: int = 0, read: int = 0
) -> dict[str, object]:
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": 0,
        "Task Metrics": {
            "Executor Run Time": seconds * 1000,
            "Disk Bytes Spilled": spilled,
            "Input Metrics": {"Bytes Read": read},
            "Output Metrics": {"Bytes Written": 5},
            "Shuffle Write Metrics": {"Shuffle Bytes Written": shuffled},
        },
    }


def test_sums_over_tasks() -> None:
    work = work_of(
        [
            {"Event": "SparkListenerApplicationStart", "Timestamp": 1_500},
            {"Event": "SparkListenerJobStart"},
            task(1, 2, shuffled=10, spilled=3, read=100),
            task(1, 6, shuffled=20, read=200),
            {"Event": "SparkListenerStageCompleted"},
            {"Event": "SparkListenerTaskEnd", "Stage ID": 1},
        ]
    )
    assert (work.session_at, work.jobs, work.stages, work.tasks) == (1.5, 1, 1, 3)
    assert (work.bytes_read, work.bytes_written) == (300, 10)
    assert (work.bytes_shuffled, work.bytes_spilled) == (30, 3)
    assert (work.task_seconds, work.longest_task_seconds) == (8, 6)


@pytest.mark.parametrize(
    ("tasks", "share"),
    [
        pytest.param([task(1, 5), task(1, 5)], 0.5, id="even"),
        pytest.param([task(1, 1), task(1, 9), task(2, 5), task(2, 5)], 0.9, id="uneven"),
        pytest.param([task(1, 5), task(1, 5), task(2, 10)], 1.0, id="one task does it all"),
        pytest.param([task(1, 500), task(1, 500), task(2, 1)], 0.5, id="a short stage of one task"),
        pytest.param([], None, id="nothing ran"),
    ],
)
def test_heaviest_share_of_a_long_stage(tasks: list[dict[str, object]], share: float | None) -> None:
    assert work_of(tasks).heaviest_share == share


def test_a_log_of_several_files_without_its_plans(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_local-1"
    folder.mkdir()
    (folder / "appstatus_local-1").write_text("")
    (folder / ".events_1.crc").write_bytes(b"\xb5\x00")
    plan = {"Event": f"{SQL}SQLExecutionStart"}
    for number, seconds in ((1, 2), (2, 3)):
        lines = [json.dumps(event, separators=(",", ":")) for event in (plan, task(number, seconds))]
        (folder / f"events_{number}_local-1").write_text("\n".join(lines) + "\n")
    assert read_event_log(tmp_path).task_seconds == 5


def scan(location: str, *counters: int) -> dict[str, object]:
    metrics = [{"name": "number of files read", "accumulatorId": counter} for counter in counters]
    return {
        "simpleString": f"FileScan parquet [] Location: {location}",
        "metrics": [{"name": "number of output rows", "accumulatorId": 99}, *metrics],
        "children": [],
    }


def started(query: int, plan: dict[str, object], second: int = 0) -> dict[str, object]:
    return {
        "Event": f"{SQL}SQLExecutionStart",
        "executionId": query,
        "description": "ask",
        "time": second * 1000,
        "sparkPlanInfo": plan,
    }


def test_files_by_description(tmp_path: Path) -> None:
    ours, delta = scan("PreparedDeltaFileIndex", 1), scan("DeltaLogFileIndex", 2)
    later = {"simpleString": "Sort", "metrics": [], "children": [ours, scan("PreparedDeltaFileIndex", 3)]}
    events = [
        started(7, ours),
        started(8, delta),
        {"Event": f"{SQL}SQLAdaptiveExecutionUpdate", "executionId": 7, "sparkPlanInfo": later},
        {"Event": f"{SQL}DriverAccumUpdates", "executionId": 7, "accumUpdates": [[1, 4], [3, 2], [99, 1000]]},
        {"Event": f"{SQL}DriverAccumUpdates", "executionId": 8, "accumUpdates": [[2, 50]]},
    ]
    lines = [json.dumps(event, separators=(",", ":")) for event in [*events, task(1, 2)]]
    (tmp_path / "events_1").write_text("\n".join(lines) + "\n")
    assert files_read(tmp_path) == {"ask": 6}


def test_files_from_moment_to_moment(tmp_path: Path) -> None:
    events = []
    for number, second in enumerate((4, 5, 6, 9)):
        events.append(started(number, scan("PreparedDeltaFileIndex", number), second))
        counted = {"executionId": number, "accumUpdates": [[number, 10**number]]}
        events.append({"Event": f"{SQL}DriverAccumUpdates", **counted})
    lines = [json.dumps(event, separators=(",", ":")) for event in events]
    (tmp_path / "events_1").write_text("\n".join(lines) + "\n")
    assert files_read_from(tmp_path, [5.0, 7.0, 8.0]) == [110, 0, 1000]
