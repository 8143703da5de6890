"""One queue's activation as a person wants to read it."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from pipelines.activation.queues_off import rolled_back_sentence, waiting_sentence
from pipelines.config.instants import format_instant
from pipelines.console.terminal import open_console
from pipelines.console.wording import format_queue

BINS = 96
"""Pieces of the drawn timeline; of a day, a quarter of an hour each."""

FIRST_RUNS = 40

MARKS = {"": " ", "started": "+", "notification_pending": "-", "max_queue_readers": "#"}
"""What the timeline draws, the weightier last: nothing needed, a reader to start, one kept away."""

COLUMNS = ("from", "until", "checks", "trigger", "reason", "ready", "tasks", "a monitor would")
NOT_KNOWN = "not known"


def print_activation(told: Mapping[str, Any], start: datetime, end: datetime) -> None:
    """Print what `activation_of_queue` says of the window from start to end."""
    console = open_console()
    name = format_queue(told)
    mode = told["mode"] or "no monitor in the catalog"
    console.print(f"{name} ({mode}), {_minute(start)} to {_minute(end)}", soft_wrap=True)
    console.print(told["sentence"], soft_wrap=True)
    if told.get("queue_off"):
        off = {**told["queue_off"], "instance": told["instance"]}
        for sentence in filter(None, [waiting_sentence(off), rolled_back_sentence(off)]):
            console.print(f"At the end of the window: {sentence}.", soft_wrap=True)
    if told.get("monitor"):
        console.print(_monitor(told["monitor"]), soft_wrap=True)
    if told["mode"]:
        _replayed(console, told, start, end)
    for what, count in sorted(told["oddities"].items()):
        console.print(f"{what}: {count:,}")


def _replayed(console: Console, told: Mapping[str, Any], start: datetime, end: datetime) -> None:
    """Print the runs of checks that a replay found."""
    runs = told["runs"]
    console.print(
        "What a monitor would have done, by the events that are known; it is no log of what it did:",
        soft_wrap=True,
    )
    console.print(f"[{drawn(runs, start, end)}]")
    console.print(
        "   + start or notify a reader   - wait, a notification is pending   # wait, max_queue_readers run",
    )
    console.print(_grid(told["mode"], runs))
    if len(runs) > FIRST_RUNS:
        console.print(f"{len(runs) - FIRST_RUNS:,} more; --format json has them all")


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
            run["suppressed_by"] or ("start a reader" if mode == "internal" else "send a notification"),
        )
    return grid


def _monitor(row: Mapping[str, Any]) -> str:
    """The monitor as a snapshot shows it."""
    waiting, running = row["tasks_waiting"], row["tasks_running"]
    facts = [
        f"{row['state'] or 'state not known'}",
        f"last activated {_known(row['last_activated_time'])}",
        f"last empty RECEIVE {_known(row['last_empty_rowset_time'])}",
        f"sessions in a RECEIVE {NOT_KNOWN if waiting is None else waiting}",
        f"activated tasks {NOT_KNOWN if running is None else running}",
    ]
    return f"The monitor at {format_instant(row['taken_at'])}: {'; '.join(facts)}."


def _known(moment: datetime | None) -> str:
    return NOT_KNOWN if moment is None else format_instant(moment)


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
