"""What a night cost Apache Spark, from an event log."""

import json
from pathlib import Path

from dev.benchmarks.readings import costs_of


def task(milliseconds: int, *, shuffle: int, held: int) -> dict[str, object]:
    metrics = {
        "Executor Run Time": milliseconds,
        "Executor CPU Time": milliseconds * 500_000,
        "Peak Execution Memory": held,
        "Disk Bytes Spilled": 1,
        "Output Metrics": {"Bytes Written": 20},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": shuffle},
    }
    return {"Event": "SparkListenerTaskEnd", "Stage ID": 0, "Task Metrics": metrics}


def test_costs_are_sums_over_tasks(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_local"
    folder.mkdir()
    (folder / "appstatus_local").write_text("")
    events = [
        {"Event": "SparkListenerJobStart", "Job ID": 0},
        task(100, shuffle=7, held=3),
        {"Event": "SparkListenerJobEnd", "Job ID": 0},
        {"Event": "SparkListenerJobStart", "Job ID": 1},
        task(300, shuffle=5, held=9),
        # A task that failed has no metrics.
        {"Event": "SparkListenerTaskEnd", "Stage ID": 0},
    ]
    lines = [json.dumps(event, separators=(",", ":")) for event in events]
    (folder / "events_1_local").write_text("\n".join(lines))
    assert costs_of(folder) == {
        "jobs": 2,
        "tasks": 2,
        "milliseconds": 400,
        "processor_milliseconds": 200,
        "shuffle_bytes": 12,
        "spilled_bytes": 2,
        "output_bytes": 40,
        "peak_task_bytes": 9,
    }
