"""Replay queue monitors from the ledger, and write the tables of activation."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from pyspark.sql import DataFrame

from pipelines.activation.checks import Clock
from pipelines.activation.monitor import Monitor
from pipelines.activation.window import MonitoredQueues, activation_of_window, without_monitors
from pipelines.config.instants import format_instant
from pipelines.config.model import Activation
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import empty_frame, small_frame
from pipelines.settings.load import Settings
from pipelines.state.read import read_ledger
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.checks import renew_checks
from pipelines.storage.collect import micros
from pipelines.storage.monitors import activated_between, read_latest_monitors
from pipelines.storage.pruned_days import require_left
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import ACTIVATION, ACTIVATION_SUMMARY

MICROSECOND = timedelta(microseconds=1)
NAMED = (
    "queue_number int, instance string, database string, queue string, mode string, max_queue_readers int, "
    "is_on boolean"
)
SERVICES = "instance string, database string, local_service string, queue_number int"
QUEUES = "instance string, database string, queue string"
SNAPSHOT_MONITORS = (
    "queue_number int, state string, taken_at timestamp, last_activated_time timestamp, "
    "activated_from timestamp, activated_until timestamp, tasks_running bigint"
)


def require_as_of_left(warehouse: Warehouse, settings: Settings, as_of: datetime) -> None:
    """Refuse an as_of if its day, or a day of its activation window, was pruned.

    Raises:
        ConfigError: housekeeping has pruned the day.
    """
    subject = f"command line: --as-of {format_instant(as_of)}"
    require_left(warehouse.first_day, as_of, subject=subject, moment=as_of)
    if settings.activation is not None:
        start = _window_start(settings.activation, as_of)
        subject += f" with an activation window of {settings.activation.window_hours:g} hours"
        require_left(warehouse.first_day, start, subject=subject, moment=as_of)


def write_activation(
    warehouse: Warehouse, settings: Settings, as_of: datetime, batches: CompletedBatches
) -> str:
    """Replace the rows of this as_of in `activation` and `activation_summary`; other rows stay.

    Args:
        warehouse: the tables.
        settings: the catalog, and the activation settings; without activation settings nothing is replayed.
        as_of: the end of the window.
        batches: the batches that made the ledger.

    Returns:
        A description of the replay.
    """
    options = settings.activation
    if options is None:
        _remove_rows(warehouse, as_of)
        return "left out by the settings"
    renew_checks(warehouse, ACTIVATION_SUMMARY)
    start = _window_start(options, as_of)
    clock = _clock(options, start, as_of)
    ledger = read_ledger(warehouse, start, has_queue_events=batches.has_queue_events)
    monitored = _monitored_queues(warehouse, settings, as_of)
    if not monitored.monitors:
        nothing = empty_frame(warehouse.spark, ACTIVATION.struct).drop("as_of", "as_of_key")
        unknown = without_monitors(ledger.queue_events, monitored.queues, clock, as_of=as_of)
        warehouse.replace_as_of(ACTIVATION, nothing, as_of)
        warehouse.replace_as_of(ACTIVATION_SUMMARY, unknown, as_of)
        return "no queue has a monitor"
    with warehouse.materializing() as materialize:
        runs, summaries = activation_of_window(ledger, monitored, clock, as_of=as_of, materialize=materialize)
        run_concurrently(
            warehouse.spark,
            lambda: warehouse.replace_as_of(ACTIVATION, runs, as_of),
            # Materialized: to plan CHECKs over the whole computation costs more than a row for each queue.
            lambda: warehouse.replace_as_of(ACTIVATION_SUMMARY, materialize(summaries), as_of),
        )
    count = len(monitored.monitors)
    return f"{options.window_hours:g} hours of {count:,} queue{'' if count == 1 else 's'}"


def _window_start(options: Activation, as_of: datetime) -> datetime:
    """The start of the window before as_of; it cannot begin before the first instant."""
    return as_of - min(options.window, as_of - datetime.min.replace(tzinfo=as_of.tzinfo))


def _remove_rows(warehouse: Warehouse, as_of: datetime) -> None:
    """Remove the rows that an earlier run of this as_of wrote by other settings."""
    for table in (ACTIVATION, ACTIVATION_SUMMARY):
        if warehouse.exists(table) and not warehouse.read_as_of(table, as_of).isEmpty():
            nothing = empty_frame(warehouse.spark, table.struct).drop("as_of", "as_of_key")
            warehouse.replace_as_of(table, nothing, as_of)


def _clock(options: Activation, start: datetime, end: datetime) -> Clock:
    return Clock(
        start=micros(start),
        end=micros(end),
        check=options.check // MICROSECOND,
        empty=options.empty // MICROSECOND,
    )


def _monitored_queues(warehouse: Warehouse, settings: Settings, as_of: datetime) -> MonitoredQueues:
    """The catalog as monitors and frames; monitored queues have numbers instead of names."""
    spark, catalog = warehouse.spark, settings.catalog
    is_on = {row[:3]: row[3] for row in catalog.queue_rows()}
    monitors, named, numbers = [], [], {}
    for number, (*names, mode, readers, timeout) in enumerate(catalog.monitor_rows()):
        queue = (names[0], names[1], names[2])
        numbers[queue] = number
        named.append((number, *queue, mode, readers, is_on[queue]))
        expires = None if timeout is None else timedelta(seconds=timeout) // MICROSECOND
        monitors.append(
            Monitor(number=number, max_queue_readers=readers, timeout=expires, is_on=is_on[queue])
        )
    services = [
        (instance, database, service, numbers[instance, database, queue])
        for instance, database, service, queue in catalog.service_bindings()
        if (instance, database, queue) in numbers
    ]
    return MonitoredQueues(
        monitors=monitors,
        named=small_frame(spark, named, NAMED),
        services=small_frame(spark, services, SERVICES),
        queues=small_frame(spark, is_on, QUEUES),
        snapshot_monitors=_snapshot_monitors(warehouse, numbers, as_of),
    )


def _snapshot_monitors(
    warehouse: Warehouse, numbers: Mapping[tuple[str, str, str], int], as_of: datetime
) -> DataFrame | None:
    """The monitors of these queues as the newest snapshots show them; None if they show none."""
    rows = [
        (
            numbers[queue],
            row["state"],
            row["taken_at"],
            row["last_activated_time"],
            *(activated_between(row) or (None, None)),
            row["tasks_running"],
        )
        for row in read_latest_monitors(warehouse, as_of)
        if (queue := (row["instance"], row["database"], row["queue"])) in numbers
    ]
    return small_frame(warehouse.spark, rows, SNAPSHOT_MONITORS) if rows else None
