"""What the queue monitor of one queue found."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.read import queues_off_at, unconfigured_monitors
from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.load import Settings
from pipelines.config.queue_filter import KnownQueues, QueueFilter, QueueName
from pipelines.console.invocation import name_command
from pipelines.storage.collect import collect_rows
from pipelines.storage.monitors import latest_monitors
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import ACTIVATION, ACTIVATION_SUMMARY


def find_queue(settings: Settings, warehouse: Warehouse, as_of: datetime, name: str) -> QueueName:
    """The queue that a name means: one with a monitor, or one that the window of as_of or a snapshot has.

    Raises:
        ConfigError: no such queue has the name, or several have.
    """
    asked, in_catalog = QueueFilter(name), KnownQueues.of(settings.catalog)
    monitored = replace(in_catalog, queues=frozenset(row[:3] for row in settings.catalog.monitor_rows()))
    if asked.find(monitored):
        return asked.only(monitored)
    # Queue events may name queues that the catalog lacks, and snapshots may show monitors that it lacks.
    rows = collect_rows(warehouse.read_as_of(ACTIVATION_SUMMARY, as_of).select(*QUEUE))
    rows += latest_monitors(warehouse, as_of)
    known = monitored.and_queues((row["instance"], row["database"], row["queue"]) for row in rows)
    if not asked.find(known) and asked.find(in_catalog):
        hint = known.nearest(name) if known.queues else "no queue has one"
        raise ConfigError(
            f"command line: {asked} has no monitor in {settings.catalog_path or settings.path}; {hint}"
        )
    return asked.only(known)


def activation_of_queue(
    warehouse: Warehouse, as_of: datetime, queue: QueueName, catalog: Catalog | None = None
) -> dict[str, Any]:
    """The summary of a queue's window, with its runs of checks in order as `runs`; nothing is replayed.

    `monitor` is the queue's monitor as the newest snapshot shows it (`queue_monitors`), `queue_off` what
    waits if the queue is off (`queues_off_at`, by the catalog); null else. Where only a snapshot shows the
    monitor (`unconfigured_monitors`), there are no runs, and the figures of a replay are null.

    Raises:
        PipelineError: the window of this as_of was not replayed.
    """

    def of_queue(rows: DataFrame) -> DataFrame:
        for column, value in zip(QUEUE, queue, strict=True):
            rows = rows.where(F.col(column) == F.lit(value))
        return rows.drop("as_of_key")

    place = dict(zip(QUEUE, queue, strict=True))
    summary = collect_rows(of_queue(warehouse.read_as_of(ACTIVATION_SUMMARY, as_of)))
    if not summary:
        shown = [
            row
            for row in unconfigured_monitors(warehouse, catalog or Catalog(), as_of)
            if place.items() <= row.items()
        ]
        summary = [_not_replayed(row, as_of) for row in shown]
    if not summary:
        raise PipelineError(
            f"--as-of {format_instant(as_of)}: its window was not replayed yet; run "
            f"{name_command('nightly')} for it, "
            f"or {name_command('activation')} without --queue"
        )
    # The runs of one queue in one window: a few, and at most one per check.
    runs = collect_rows(of_queue(warehouse.read_as_of(ACTIVATION, as_of)).orderBy("ordinal"))
    [told] = summary
    return {
        **told,
        "monitor": _at(latest_monitors(warehouse, as_of), place, without="batch"),
        "queue_off": _at(queues_off_at(warehouse, catalog or Catalog(), as_of), place),
        "runs": list(_own(runs, told)),
    }


def _at(
    rows: Sequence[Mapping[str, Any]], queue: Mapping[str, str], *, without: str = ""
) -> dict[str, Any] | None:
    """The row of a queue, without the queue's own columns; None if it has none."""
    for row in rows:
        if all(row[name] == value for name, value in queue.items()):
            return {name: value for name, value in row.items() if name not in (*QUEUE, without)}
    return None


def _not_replayed(row: Mapping[str, Any], as_of: datetime) -> dict[str, Any]:
    """A row as of `activation_summary` for a monitor that only a snapshot shows."""
    names = [name for name in ACTIVATION_SUMMARY.names if name != "as_of_key"]
    known = {"as_of": as_of, "ready_at_end": row["ready"], "oddities": {}}
    return {**dict.fromkeys(names), **{name: row[name] for name in names if name in row}, **known}


def _own(runs: list[dict[str, Any]], summary: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The runs without what the summary says already."""
    for run in runs:
        yield {name: value for name, value in run.items() if name not in summary}
