"""What Spark's event log says about the work of an application."""

import json
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LONG = 0.03
"""The share of all task time from which a stage is worth a look."""


@dataclass
class Work:
    """Sums over all tasks of an application.

    Attributes:
        session_at: when its session was there, seconds since the epoch; None if the log does not say.
        jobs, stages, tasks: how many ran.
        bytes_read, bytes_written: of files.
        bytes_shuffled: written for a shuffle, as compressed.
        bytes_spilled: written to disk because memory was short.
        task_seconds: time of all tasks.
        longest_task_seconds: of the longest task.
        heaviest_share: of the stages that took `LONG` of all task time or more, the greatest share of a
            stage's time that one of its tasks took; None if no stage took so much.
    """

    session_at: float | None = None
    jobs: int = 0
    stages: int = 0
    tasks: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    bytes_shuffled: int = 0
    bytes_spilled: int = 0
    task_seconds: float = 0.0
    longest_task_seconds: float = 0.0
    heaviest_share: float | None = None

    def __post_init__(self) -> None:
        self._stages: dict[tuple[int, int], list[float]] = {}

    def add(self, event: dict[str, Any]) -> None:
        """Take one event into the sums."""
        kind = event.get("Event")
        if kind == "SparkListenerApplicationStart":
            self.session_at = event["Timestamp"] / 1000
        elif kind == "SparkListenerJobStart":
            self.jobs += 1
        elif kind == "SparkListenerStageCompleted":
            self.stages += 1
        elif kind == "SparkListenerTaskEnd":
            self._add_task(event)

    def close(self) -> None:
        """Work out what needs all events."""
        long = [times for times in self._stages.values() if sum(times) >= self.task_seconds * LONG]
        shares = [max(times) / sum(times) for times in long if len(times) > 1]
        # A stage of one task that takes long is the worst of all.
        if any(len(times) == 1 and times[0] > 0 for times in long):
            shares.append(1.0)
        self.heaviest_share = max(shares, default=None)

    def _add_task(self, event: dict[str, Any]) -> None:
        metrics = event.get("Task Metrics") or {}
        seconds = metrics.get("Executor Run Time", 0) / 1000
        self.tasks += 1
        self.bytes_read += metrics.get("Input Metrics", {}).get("Bytes Read", 0)
        self.bytes_written += metrics.get("Output Metrics", {}).get("Bytes Written", 0)
        self.bytes_shuffled += metrics.get("Shuffle Write Metrics", {}).get("Shuffle Bytes Written", 0)
        self.bytes_spilled += metrics.get("Disk Bytes Spilled", 0)
        self.task_seconds += seconds
        self.longest_task_seconds = max(self.longest_task_seconds, seconds)
        stage = event.get("Stage ID", -1), event.get("Stage Attempt ID", 0)
        self._stages.setdefault(stage, []).append(seconds)


def read_event_log(folder: Path) -> Work:
    """Add up the event logs under a folder, which was empty before the application started."""
    return work_of(_events(folder, of_sql=False))


def work_of(events: Iterable[dict[str, Any]]) -> Work:
    """Add up events."""
    work = Work()
    for event in events:
        work.add(event)
    work.close()
    return work


def files_read(folder: Path) -> dict[str, int]:
    """Count the data files that queries opened, by their job's description; Delta's own log is left out."""
    files: dict[str, int] = {}
    for query in _queries(folder):
        files[query.description] = files.get(query.description, 0) + query.files
    return files


def files_read_from(folder: Path, moments: Sequence[float]) -> list[int]:
    """Count the data files that queries opened, from each moment to the next; Delta's own log is left out.

    Args:
        folder: where the event log is.
        moments: seconds since the epoch, in order; what began before the first one does not count.
    """
    files = [0] * len(moments)
    for query in _queries(folder):
        if place := bisect_right(moments, query.began):
            files[place - 1] += query.files
    return files


@dataclass
class _Query:
    """A query: its job's description, when it began (seconds since the epoch), the data files it opened."""

    description: str
    began: float
    files: int = 0


def _queries(folder: Path) -> Collection[_Query]:
    queries: dict[int, _Query] = {}
    counters: set[int] = set()
    for event in _events(folder, of_sql=True):
        kind = event["Event"].rsplit(".", 1)[-1]
        if kind == "SparkListenerSQLExecutionStart":
            began = event.get("time", 0) / 1000
            queries[event["executionId"]] = _Query(event.get("description", ""), began)
        if kind in ("SparkListenerSQLExecutionStart", "SparkListenerSQLAdaptiveExecutionUpdate"):
            counters.update(_file_counters(event["sparkPlanInfo"]))
        if kind == "SparkListenerDriverAccumUpdates" and event["executionId"] in queries:
            counted = sum(value for id, value in event["accumUpdates"] if id in counters)
            queries[event["executionId"]].files += counted
    return queries.values()


def _file_counters(plan: dict[str, Any]) -> Iterator[int]:
    """The accumulators that count the files of a plan's scans."""
    if "DeltaLogFileIndex" not in plan["simpleString"]:
        yield from (m["accumulatorId"] for m in plan["metrics"] if m["name"] == "number of files read")
    for child in plan["children"]:
        yield from _file_counters(child)


SQL_EVENT = '{"Event":"org.'
"""How the events of Spark SQL begin: the plans of large queries make up most of a log."""


def _events(folder: Path, *, of_sql: bool) -> Iterator[dict[str, Any]]:
    """Events of Spark SQL, or all others."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        # Spark marks the state of a log with an empty file, and checksums begin with a dot.
        if file.name.startswith((".", "appstatus")):
            continue
        with file.open(encoding="utf-8") as lines:
            yield from (json.loads(line) for line in lines if line.startswith(SQL_EVENT) == of_sql)
