"""One queue's activation as a person or a program wants to read it."""

import json
import sys
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession, functions as F
from rich.table import Table as Grid

from jobs.display import terminal
from pipelines.errors import ConfigError
from pipelines.settings.load import Settings
from pipelines.settings.nearest import instead
from schemas.outputs import ACTIVATION, ACTIVATION_SUMMARY
from storage.warehouse import Warehouse

QueueName = tuple[str, str, str]

BINS = 96
"""Pieces of the drawn timeline; of a day, a quarter of an hour each."""

FIRST_RUNS = 40

MARKS = {"": " ", "started": "+", "notification_pending": "-", "max_queue_readers": "#"}
"""What the timeline draws, the weightier last: nothing needed, a reader started, one kept away."""


def find_queue(settings: Settings, name: str) -> QueueName:
    """The monitored queue that a name means, alone or as INSTANCE.DATABASE.QUEUE.

    Raises:
        ConfigError: no queue with a monitor has the name, or several have.
    """
    queues = {row[:3]: ".".join(row[:3]) for row in settings.catalog.monitor_rows()}
    found = [queue for queue, full in queues.items() if name in (full, queue[2])]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(queues[queue] for queue in found)
        raise ConfigError(f"command line: --queue {name!r} is one of {names}; write one of these")
    hint = instead(name, dict.fromkeys(queue[2] for queue in queues))
    raise ConfigError(f"command line: --queue {name!r} has no monitor in {settings.catalog_path}; {hint}")


def show(spark: SparkSession, settings: Settings, as_of: datetime, queue: QueueName, *, format: str) -> None:
    """Print the runs of a queue and what they amount to; nothing is computed or written.

    Args:
        spark: the session.
        settings: where the warehouse is, and the length of the window.
        as_of: the end of the window.
        queue: instance, database, queue.
        format: table, for a terminal, or json: one object.

    Raises:
        ConfigError: the window of this as_of was not replayed.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    names = dict(zip(("instance", "database", "queue"), queue, strict=True))
    here = F.col("as_of") == F.lit(as_of)
    for column, value in names.items():
        here &= F.col(column) == F.lit(value)
    summary = warehouse.read(ACTIVATION_SUMMARY).where(here).first()
    if summary is None:
        raise ConfigError(
            f"command line: --as-of {as_of.isoformat()}: its window was not replayed yet; run "
            "jobs/nightly.py for it, or jobs/activation.py without --queue"
        )
    # The runs of one queue in one window: a few, and at most one per check.
    runs = warehouse.read(ACTIVATION).where(here).orderBy("ordinal").toLocalIterator()
    told = summary.asDict(recursive=True)
    if format == "json":
        _print_json(told, (run.asDict() for run in runs))
    else:
        _print_table(told, [run.asDict() for run in runs], as_of - settings.activation.window, as_of)


def _print_json(summary: dict[str, Any], runs: Iterable[dict[str, Any]]) -> None:
    head = json.dumps(summary, default=_text, ensure_ascii=False)
    sys.stdout.write(head[:-1] + ', "runs": [')
    for number, run in enumerate(runs):
        own = {name: value for name, value in run.items() if name not in summary}
        sys.stdout.write((",\n" if number else "\n") + json.dumps(own, default=_text, ensure_ascii=False))
    sys.stdout.write("]}\n")


def _print_table(summary: dict[str, Any], runs: list[dict[str, Any]], start: datetime, end: datetime) -> None:
    console = terminal()
    name = ".".join((summary["instance"], summary["database"], summary["queue"]))
    console.print(f"{name} ({summary['mode']}), {_minute(start)} to {_minute(end)}")
    console.print(summary["sentence"])
    console.print(f"[{drawn(runs, start, end)}]")
    console.print(
        "   + a reader was started or notified   - a notification was pending   # max_queue_readers",
    )
    grid = Grid(title=f"{len(runs)} runs of checks", title_justify="left")
    for column in ("from", "until", "checks", "trigger", "reason", "ready", "tasks", "what happened"):
        grid.add_column(column)
    for run in runs[:FIRST_RUNS]:
        grid.add_row(
            f"{run['first_check']:%d %H:%M:%S.%f}"[:-3],
            f"{run['until']:%d %H:%M:%S.%f}"[:-3],
            f"{run['checks']:,}",
            run["trigger"],
            run["reason"],
            f"{run['ready_messages']:,}",
            str(run["running_tasks"]),
            run["suppressed_by"] or ("reader started" if run["mode"] == "internal" else "notification sent"),
        )
    console.print(grid)
    if len(runs) > FIRST_RUNS:
        console.print(f"{len(runs) - FIRST_RUNS:,} more; --format json has them all")
    for what, count in sorted(summary["oddities"].items()):
        console.print(f"{what}: {count:,}")


def drawn(runs: Iterable[dict[str, Any]], start: datetime, end: datetime) -> str:
    """The window in BINS characters, each with the weightiest thing that happened in its piece."""
    weights = list(MARKS)
    bins = [0] * BINS
    for run in runs:
        weight = weights.index(run["suppressed_by"] or "started")
        first = int((_utc(run["first_check"]) - start) / (end - start) * BINS)
        last = int((_utc(run["until"]) - start - timedelta(microseconds=1)) / (end - start) * BINS)
        for number in range(first, min(max(first, last), BINS - 1) + 1):
            bins[number] = max(bins[number], weight)
    return "".join(MARKS[weights[weight]] for weight in bins)


def _utc(moment: datetime) -> datetime:
    """Spark hands out naive datetimes, in UTC."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


def _text(value: object) -> str:
    assert isinstance(value, datetime)
    return _utc(value).isoformat()
