"""What a run cost Apache Spark, from its event log: jobs, tasks, bytes and memory."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

JOB_START, TASK_END = "SparkListenerJobStart", "SparkListenerTaskEnd"


def costs_of(event_log: Path) -> dict[str, int]:
    """Sum up Spark's event log: a few files, a line an event.

    Returns:
        `jobs`, `tasks`; of all tasks `milliseconds` and `processor_milliseconds`,
        `shuffle_bytes` (written for other tasks), `spilled_bytes` and `output_bytes`; and `peak_task_bytes`,
        the most that one task held for sorts, joins and aggregations.
    """
    names = ("milliseconds", "processor_milliseconds", "shuffle_bytes", "spilled_bytes")
    costs = dict.fromkeys(("jobs", "tasks", *names, "output_bytes", "peak_task_bytes"), 0)
    for event in _events(event_log):
        if event["Event"] == JOB_START:
            costs["jobs"] += 1
        elif metrics := event.get("Task Metrics"):
            costs["tasks"] += 1
            costs["milliseconds"] += metrics["Executor Run Time"]
            costs["processor_milliseconds"] += metrics["Executor CPU Time"] // 1_000_000
            costs["shuffle_bytes"] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            costs["spilled_bytes"] += metrics["Disk Bytes Spilled"]
            costs["output_bytes"] += metrics["Output Metrics"]["Bytes Written"]
            held = metrics["Peak Execution Memory"]
            costs["peak_task_bytes"] = max(costs["peak_task_bytes"], held)
    return costs


def _events(event_log: Path) -> Iterator[dict[str, Any]]:
    """The starts of jobs and the ends of tasks."""
    beginnings = tuple(f'{{"Event":"{name}"' for name in (JOB_START, TASK_END))
    for file in event_log.rglob("*"):
        # Spark marks the state of a log with an empty file, and checksums begin with a dot.
        if file.is_file() and not file.name.startswith((".", "appstatus")):
            with file.open(encoding="utf-8") as lines:
                for line in lines:
                    if line.startswith(beginnings):
                        yield json.loads(line)
