"""What is read from a finished run: its steps, rows and bytes, and what it cost Apache Spark."""

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from deltalake import DeltaTable

DONE = re.compile(r"^(\w+) done in ([0-9.]+) s")


def rule_of_a_tenth(warehouse: Path) -> tuple[str, str, str]:
    """Instance, database and name of the rule whose share of the endpoints is nearest to a tenth."""
    names = ["instance", "database", "rule_name"]
    endpoints = DeltaTable(warehouse / "endpoints").to_pyarrow_table(columns=names)
    counted = endpoints.group_by(names).aggregate([([], "count_all")]).to_pylist()
    of_rules = [row for row in counted if row["rule_name"] is not None]
    nearest = min(of_rules, key=lambda row: abs(10 * row["count_all"] - endpoints.num_rows))
    return nearest["instance"], nearest["database"], nearest["rule_name"]


def count_rows(file: Path) -> int:
    """The rows of a Parquet file; of text, its lines."""
    if file.suffix == ".parquet":
        return int(pq.read_metadata(file).num_rows)
    with file.open("rb") as text:
        return sum(block.count(b"\n") for block in iter(lambda: text.read(1 << 20), b""))


def steps_of(said: Iterable[str]) -> dict[str, float]:
    """Seconds by step, from the lines in which jobs and peer say that a step is done."""
    found = (DONE.match(line) for line in said)
    return {match[1]: float(match[2]) for match in found if match}


def gibibytes(memory: str) -> str:
    """An engine's way to write memory (4g, 512m) as DuckDB's."""
    return re.sub(r"(?i)^(\d+)([gm])$", lambda match: f"{match[1]}{match[2].upper()}iB", memory)


def commit_of(project: Path) -> str:
    """The commit of a checkout."""
    said = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=project, capture_output=True, text=True, check=False
    )
    return said.stdout.strip()


def size_of(files: Iterable[Path]) -> int:
    """Bytes of all of them."""
    return sum(os.path.getsize(file) for file in files)


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
