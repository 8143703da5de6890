"""Print the activation of one queue."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from pipelines.activation.queues_off import rolled_back_sentence, waiting_sentence
from pipelines.blocks.tables import Column, Table, column, place_column
from pipelines.config.instants import format_instant, format_written
from pipelines.console.tables import print_answer
from pipelines.console.terminal import Terminal, open_console
from pipelines.console.wording import format_count, format_queue

BINS = 96
"""Parts of the drawn timeline; in a day, a quarter of an hour each."""

FIRST_RUNS = 40

MARKS = {"": " ", "started": "+", "notification_pending": "-", "max_queue_readers": "#"}
"""The characters of the timeline, the weightiest last: no need, a reader to start, one that must wait."""

GOOD_ADVICE = ("keeps_up", "not_known")
ADVICE = Table(
    "activation",
    "Queues with a monitor, those that need attention first",
    [
        place_column("Queue"),
        Column(
            "Advice",
            "word",
            lambda row: row["advice"],
            ("advice",),
            lambda row: row["advice"] not in GOOD_ADVICE,
        ),
        column("In words", "text", "sentence"),
        column("In need of a reader", "duration", "need_seconds"),
        column("Kept away by the limit", "duration", "short_seconds"),
        column("Limit", "level", "max_queue_readers"),
        column("Readers to start", "count", "activations"),
        column("Most ready", "count", "most_ready"),
        column("Ready at the end", "count", "ready_at_end"),
    ],
    first="queues that were longest in need of a reader",
)
"""On the page; the console prints one queue."""
RUNS = Table(
    "activation-runs",
    "Runs of checks",
    [
        Column("From", "text", lambda row: _milliseconds(row["first_check"]), ("first_check",)),
        Column("Until", "text", lambda row: _milliseconds(row["until"]), ("until",)),
        column("Checks", "count", "checks"),
        column("Trigger", "name", "trigger"),
        column("Reason", "name", "reason"),
        column("Ready", "count", "ready_messages"),
        column("Tasks", "count", "running_tasks"),
        column("A monitor would", "text", "action"),
    ],
)
NOT_KNOWN = "not known"


def print_activation(report: Mapping[str, Any], start: datetime, end: datetime) -> None:
    """Print `activation_of_queue` of the window from start to end."""
    console = open_console()
    name = format_queue(report)
    mode = report["mode"] or "no monitor in the catalog"
    console.write_line(f"{name} ({mode}), {_minute(start)} to {_minute(end)}")
    console.write_line(report["sentence"])
    if report.get("queue_off"):
        off = {**report["queue_off"], "instance": report["instance"]}
        for sentence in filter(None, [waiting_sentence(off), rolled_back_sentence(off)]):
            console.write_line(f"At the end of the window: {sentence}.")
    if report.get("monitor"):
        console.write_line(_monitor(report["monitor"]))
    if report["mode"]:
        _print_runs(console, report, start, end)
    for what, count in sorted(report["oddities"].items()):
        console.print(f"{what}: {count:,}")


def _print_runs(console: Terminal, report: Mapping[str, Any], start: datetime, end: datetime) -> None:
    """Print the runs of checks of the replay."""
    runs = report["runs"]
    console.write_line(
        "What a monitor would have done, by the events that are known; it is no log of what it did:"
    )
    console.print(f"[{draw_runs(runs, start, end)}]")
    console.print(
        "   + start or notify a reader   - wait, a notification is pending   # wait, max_queue_readers run",
    )
    start_one = "start a reader" if report["mode"] == "internal" else "send a notification"
    rows = [{**run, "action": run["suppressed_by"] or start_one} for run in runs[:FIRST_RUNS]]
    print_answer(console, RUNS.with_title(f"{format_count(len(runs), 'run')} of checks"), rows)
    if len(runs) > FIRST_RUNS:
        console.print(f"{len(runs) - FIRST_RUNS:,} more; --format json has them all")


def draw_runs(runs: Iterable[Mapping[str, Any]], start: datetime, end: datetime) -> str:
    """Draw the window in BINS characters, each with the weightiest state in its part."""
    weights = list(MARKS)
    bins = [0] * BINS
    for run in runs:
        weight = weights.index(run["suppressed_by"] or "started")
        first = int((run["first_check"] - start) / (end - start) * BINS)
        last = int((run["until"] - start - timedelta(microseconds=1)) / (end - start) * BINS)
        for number in range(first, min(max(first, last), BINS - 1) + 1):
            bins[number] = max(bins[number], weight)
    return "".join(MARKS[weights[weight]] for weight in bins)


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
    return NOT_KNOWN if moment is None else format_written(moment)


def _milliseconds(moment: datetime) -> str:
    return f"{moment:%d %H:%M:%S.%f}"[:-3]


def _minute(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M}"
