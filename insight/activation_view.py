"""One queue's activation as a person wants to read it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rich.table import Table as Grid

from insight.terminal import terminal
from insight.wording import queue_name

BINS = 96
"""Pieces of the drawn timeline; of a day, a quarter of an hour each."""

FIRST_RUNS = 40

MARKS = {"": " ", "started": "+", "notification_pending": "-", "max_queue_readers": "#"}
"""What the timeline draws, the weightier last: nothing needed, a reader started, one kept away."""

COLUMNS = ("from", "until", "checks", "trigger", "reason", "ready", "tasks", "what happened")


def show_activation(told: Mapping[str, Any], start: datetime, end: datetime) -> None:
    """Print what `activation_of_queue` says of the window from start to end."""
    console, runs = terminal(), told["runs"]
    name = queue_name(told)
    console.print(f"{name} ({told['mode']}), {_minute(start)} to {_minute(end)}")
    console.print(told["sentence"])
    console.print(f"[{drawn(runs, start, end)}]")
    console.print(
        "   + a reader was started or notified   - a notification was pending   # max_queue_readers",
    )
    console.print(_grid(told["mode"], runs))
    if len(runs) > FIRST_RUNS:
        console.print(f"{len(runs) - FIRST_RUNS:,} more; --format json has them all")
    for what, count in sorted(told["oddities"].items()):
        console.print(f"{what}: {count:,}")


def drawn(runs: Iterable[Mapping[str, Any]], start: datetime, end: datetime) -> str:
    """The window in BINS characters, each with the weightiest thing that happened in its piece."""
    weights = list(MARKS)
    bins = [0] * BINS
    for run in runs:
        weight = weights.index(run["suppressed_by"] or "started")
        first = int((run["first_check"] - start) / (end - start) * BINS)
        last = int((run["until"] - start - timedelta(microseconds=1)) / (end - start) * BINS)
        for number in range(first, min(max(first, last), BINS - 1) + 1):
            bins[number] = max(bins[number], weight)
    return "".join(MARKS[weights[weight]] for weight in bins)


def _grid(mode: str, runs: Sequence[Mapping[str, Any]]) -> Grid:
    grid = Grid(title=f"{len(runs)} runs of checks", title_justify="left")
    for column in COLUMNS:
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
            run["suppressed_by"] or ("reader started" if mode == "internal" else "notification sent"),
        )
    return grid


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
