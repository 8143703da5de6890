"""The notes of the summary: what stands beside findings, each as a sentence."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import functions as F

from pipelines.activation.read import unconfigured_monitors
from pipelines.config.catalog import Catalog
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.console.invocation import command_line
from pipelines.console.wording import format_count, format_queue
from pipelines.questions.open_messages import RECEIVE, read_open
from pipelines.questions.overtaken import rank_overtaken
from pipelines.questions.view import describe_statuses
from pipelines.storage.collect import collect_first, collect_rows
from pipelines.storage.monitors import read_latest_monitors
from pipelines.storage.snapshots.newest import read_latest_statuses
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import (
    ACTIVATION_SUMMARY,
    GROUP_PRIORITIES,
    REJECTED_EVENTS,
)

Row = dict[str, Any]
Question = Callable[[Warehouse, datetime], Iterable[str]]
"""Whose answers are sentences."""


def find_note_questions(catalog: Catalog, off: Sequence[Row], *, is_whole: bool) -> list[Question]:
    """Return the questions whose answers are notes.

    Args:
        catalog: of the as_of.
        off: `queues_off_at`.
        is_whole: whether one of them is about overtaken messages.
    """
    return [
        partial(_activation_notes, off),
        partial(_monitor_notes, catalog),
        _single_groups,
        *([_overtaken_notes] if is_whole else []),
        _rejected_notes,
        _status_notes,
    ]


def _activation_notes(off: Sequence[Row], warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    troubled = warehouse.read_as_of(ACTIVATION_SUMMARY, as_of).where(
        "advice <> 'keeps_up' and (advice <> 'not_known' or ready_at_end > 0)"
    )
    first = [
        ~F.col("advice").isin("queue_off", "not_received"),
        F.col("advice") == "not_known",
        F.desc("need_seconds"),
    ]
    # A finding about a queue that is off says more than its activation row.
    off_queues = {format_queue(row) for row in off}
    rows = collect_rows(troubled.orderBy(*first, *QUEUE).limit(len(off) + 2).select(*QUEUE, "sentence"))
    for row in [row for row in rows if format_queue(row) not in off_queues][:2]:
        yield f"{format_queue(row)}: {row['sentence']}"


def _monitor_notes(catalog: Catalog, warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Monitors that a snapshot has as NOTIFIED, of queues without a monitor in the catalog."""
    for row in unconfigured_monitors(warehouse, catalog, as_of):
        if row["advice"] == "not_received":
            yield f"{format_queue(row)}: {row['sentence']}"


def _single_groups(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """Queues whose messages are all of one group, while an activated task runs."""
    tasks = {
        tuple(row[name] for name in QUEUE): row["tasks_running"]
        for row in read_latest_monitors(warehouse, as_of)
        if row["tasks_running"]
    }
    if not tasks:
        return
    groups = warehouse.read_as_of(GROUP_PRIORITIES, as_of).groupBy(*QUEUE)
    counted = groups.agg(F.count(F.lit(1)).alias("groups"), F.sum("messages").alias("messages"))
    for row in collect_rows(counted.where("groups = 1 and messages > 1").orderBy(*QUEUE)):
        running = tasks.get(tuple(row[name] for name in QUEUE))
        if running:
            yield (
                f"{format_queue(row)}: all {row['messages']:,} messages are of one conversation group, which "
                f"one reader at a time serves, and {format_count(running, 'activated task')} "
                f"{'runs' if running == 1 else 'run'}: more readers do not help"
            )


def _overtaken_notes(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    late = rank_overtaken(read_open(warehouse, RECEIVE, as_of), within=RECEIVE.within, most=1)
    for row in collect_rows(late.orderBy(F.desc("passed_by"), *QUEUE).limit(1)):
        if row["passed_by"]:
            yield (
                f"{format_queue(row)}: message {row['message_id']} has waited since "
                f"{format_instant(row['since'])}; {row['passed_by']:,} later messages are ahead of it"
            )


def _status_notes(warehouse: Warehouse, as_of: datetime) -> Iterator[str]:
    """The queue with most rows that do not wait, and how many other queues have such rows."""
    shown = read_latest_statuses(warehouse, as_of)
    first = max(shown, key=lambda queue: sum(shown[queue].values()), default=None)
    if first is not None:
        more = len(shown) - 1
        has = "has" if more == 1 else "have"
        others = f"; {format_count(more, 'other queue')} {has} such rows, too" if more else ""
        yield f"{queue_text(first)}: {describe_statuses(shown[first])}{others}"


def _rejected_notes(warehouse: Warehouse, _: datetime) -> Iterator[str]:
    counts = F.count(F.lit(1)).alias("rejected")
    counted = warehouse.read(REJECTED_EVENTS).groupBy("source", "reason").agg(counts)
    ordered = counted.orderBy(F.desc("rejected"), "source", "reason")
    first, sums = collect_first(ordered, 1, "rejected")
    for row in first:
        yield (
            f"{format_count(sums['rejected'], 'rejected row')} so far, {row['rejected']:,} of them of "
            f"{row['source']} ({row['reason']}): {command_line('rejected')}"
        )
