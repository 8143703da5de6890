"""The report of activation on one queue."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.activation.read import queues_off_at, unconfigured_monitors
from pipelines.config.catalog import Catalog
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import KnownQueues, QueueFilter, QueueName
from pipelines.console.invocation import command_line
from pipelines.settings.load import Settings
from pipelines.storage.collect import collect_rows
from pipelines.storage.monitors import read_latest_monitors
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import ACTIVATION, ACTIVATION_SUMMARY


def find_queue(settings: Settings, warehouse: Warehouse, as_of: datetime, name: str) -> QueueName:
    """Find the queue that a name means: it has a monitor, or the window of as_of or a snapshot has it.

    Raises:
        ConfigError: no such queue has the name, or several have.
    """
    wanted, in_catalog = QueueFilter(name), KnownQueues.of(settings.catalog)
    monitored = replace(in_catalog, queues=frozenset(row[:3] for row in settings.catalog.monitor_rows()))
    if wanted.find(monitored):
        return wanted.only(monitored)
    # Queue events may name queues that the catalog lacks, and snapshots may show monitors that it lacks.
    rows = collect_rows(warehouse.read_as_of(ACTIVATION_SUMMARY, as_of).select(*QUEUE))
    rows += read_latest_monitors(warehouse, as_of)
    known = monitored.and_queues((row["instance"], row["database"], row["queue"]) for row in rows)
    if not wanted.find(known) and wanted.find(in_catalog):
        hint = known.nearest(name) if known.queues else "no queue has one"
        raise ConfigError(
            f"command line: {wanted} has no monitor in {settings.catalog_path or settings.path}; {hint}"
        )
    return wanted.only(known)


def activation_of_queue(
    warehouse: Warehouse, as_of: datetime, queue: QueueName, catalog: Catalog | None = None
) -> dict[str, Any]:
    """Read the summary of a queue's window, with its runs of checks in order as `runs`.

    `monitor` is the queue's monitor as the newest snapshot shows it (`queue_monitors`), `queue_off` the
    waiting messages if the queue is off (`queues_off_at`); else null. If only a snapshot shows the monitor
    (`unconfigured_monitors`), there are no runs, and the figures of a replay are null.

    Raises:
        PipelineError: the window of this as_of was not replayed.
    """

    def of_queue(rows: DataFrame) -> DataFrame:
        for column, value in zip(QUEUE, queue, strict=True):
            rows = rows.where(F.col(column) == F.lit(value))
        return rows.drop("as_of_key")

    names = dict(zip(QUEUE, queue, strict=True))
    summary = collect_rows(of_queue(warehouse.read_as_of(ACTIVATION_SUMMARY, as_of)))
    if not summary:
        monitors = [
            row
            for row in unconfigured_monitors(warehouse, catalog or Catalog(), as_of)
            if names.items() <= row.items()
        ]
        summary = [_not_replayed(row, as_of) for row in monitors]
    if not summary:
        at = format_instant(as_of)
        raise PipelineError(
            f"--as-of {at}: its window was not replayed yet; run "
            f"{command_line('nightly', '--as-of', at)}, or {command_line('activation', '--as-of', at)}"
        )
    # The runs of one queue in one window are few, at most one per check.
    runs = collect_rows(of_queue(warehouse.read_as_of(ACTIVATION, as_of)).orderBy("ordinal"))
    [figures] = summary
    return {
        **figures,
        "monitor": _at(read_latest_monitors(warehouse, as_of), names, without="batch"),
        "queue_off": _at(queues_off_at(warehouse, as_of), names),
        "runs": list(_without_columns_of(figures, runs)),
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
    """A row like those of `activation_summary` for a monitor that only a snapshot shows."""
    names = [name for name in ACTIVATION_SUMMARY.names if name != "as_of_key"]
    known = {"as_of": as_of, "ready_at_end": row["ready"], "oddities": {}}
    return {**dict.fromkeys(names), **{name: row[name] for name in names if name in row}, **known}


def _without_columns_of(summary: dict[str, Any], runs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The runs without the columns of the summary."""
    for run in runs:
        yield {name: value for name, value in run.items() if name not in summary}
