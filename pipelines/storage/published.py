"""Which as_of readers may rely on."""

import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any

from pyspark.sql import functions as F

from pipelines.config.errors import ConfigError, UnpublishedError, WarehouseError, foreign_value
from pipelines.config.instants import LATEST, AsOf, format_instant
from pipelines.console.invocation import command_line
from pipelines.settings.load import Settings
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.collect import collect_rows
from pipelines.storage.freshness import describe_age
from pipelines.storage.integrity import require_as_left, runs_are_gone
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.outputs import BATCHES, FINDINGS, RUNS, WAITS

log = logging.getLogger(__name__)

AS_OFS_SHOWN = 5


def read_published_runs(warehouse: Warehouse, *columns: str) -> list[dict[str, Any]]:
    """These columns of the runs that were published, in no order; they are few."""
    return collect_rows(warehouse.read(RUNS).where("status = 'succeeded'").select(*columns))


def checked_runs(warehouse: Warehouse) -> list[dict[str, Any]]:
    """The published runs, once the tables are as they left them.

    Each has as_of, started_at, finished_at, versions, last_batch and newest_data.

    Raises:
        WarehouseError: as `pipelines.storage.integrity.require_as_left`.
    """
    columns = ("as_of", "started_at", "finished_at", "versions", "last_batch", "newest_data")
    runs = read_published_runs(warehouse, *columns)
    require_as_left(warehouse.root, runs, warehouse.spark)
    return runs


def settings_of(warehouse: Warehouse, as_of: datetime) -> dict[str, Any]:
    """The settings of the last run of this as_of, as `runs` has them; empty if it failed.

    What a failed run left of an as_of may be by its settings or by those of the run before.
    """
    runs = warehouse.read(RUNS).where(F.col("as_of") == F.lit(as_of))
    rows = collect_rows(runs.select("started_at", "status", "settings"))
    last = max(rows, key=itemgetter("started_at"), default=None)
    if last is None or last["status"] != "succeeded":
        return {}
    try:
        return dict(json.loads(last["settings"]))
    except (ValueError, TypeError) as error:
        raise foreign_value(f"{warehouse.root}/{RUNS.name}", "settings", error) from error


def batches_since(warehouse: Warehouse, as_of: datetime) -> int:
    """Count the batches of events that came in after an as_of was published last: its tables lack them.

    Raises:
        UnpublishedError: as `last_batch_of`.
    """
    covered = last_batch_of(warehouse, as_of)
    came = {row["batch"] for row in read_completed_batches(warehouse).batches}
    return sum(batch > covered for batch in came)


def last_batch_of(warehouse: Warehouse, as_of: datetime) -> int:
    """The last batch that an as_of was published with; 0 if that was before any.

    Raises:
        UnpublishedError: `runs` has no published run of this as_of.
    """
    runs = read_published_runs(warehouse, "as_of", "last_batch")
    batches = [row["last_batch"] or 0 for row in runs if row["as_of"] == as_of]
    if not batches:
        raise UnpublishedError(
            f"{warehouse.root}/{RUNS.name} has no published run of {format_instant(as_of)}; run "
            f"{command_line('nightly', '--as-of', format_instant(as_of))} first"
        )
    return max(batches)


def newest_data_at(runs: Iterable[Mapping[str, Any]], as_of: datetime) -> datetime | None:
    """The newest data at an as_of, by its last published run; null if that is not known."""
    of_as_of = (run for run in runs if run["as_of"] == as_of)
    last = max(of_as_of, key=itemgetter("started_at"), default=None)
    return last["newest_data"] if last else None


def warn_of_age(runs: Iterable[Mapping[str, Any]], as_of: datetime) -> None:
    """Say how old the newest data is at an as_of, if it is old."""
    if age := describe_age(newest_data_at(runs, as_of), as_of):
        log.warning("%s", age)


def published_as_of(
    warehouse: Warehouse, settings: Settings, as_of: AsOf | None, *, says_age: bool = True
) -> datetime:
    """Find an as_of that was published and is still there: the one asked for, or the newest.

    The tables are compared with what the runs left first: every question starts here.

    Args:
        warehouse: the tables.
        settings: for messages.
        as_of: the one asked for; None is the newest.
        says_age: whether the question depends on how old the data is.

    A warning says so where a later run of it failed among its writes, or has not ended: its tables may be of
    both. Another one says how old the newest data was at that moment, if it was old.

    Another warning says so if its day was pruned: its tables are whole, the ledger is not.

    Raises:
        UnpublishedError: nothing was published, or not this as_of, or housekeeping has removed it.
        WarehouseError: a table has lost commits, or is gone.
    """
    warehouse.read_first_day()
    # An engine would sort and shuffle for what is done here at once.
    rows = warehouse.read(RUNS).drop("run_id", "code_version", "settings", "reconciliation")
    all_runs = sorted(collect_rows(rows), key=itemgetter("started_at"))
    published = [row for row in all_runs if row["status"] == "succeeded"]
    require_as_left(warehouse.root, published, warehouse.spark)
    found = _find_run(warehouse, settings, None if as_of == LATEST else as_of, published)
    last = [row for row in all_runs if row["as_of"] == found][-1]
    # A run that failed before it wrote anything covers no batch.
    if last["status"] != "succeeded" and last["last_batch"] is not None:
        log.warning(
            "the run of %s that started at %s did not succeed (%s): the tables of this as_of may be of it "
            "and of the one before; run %s, which writes them again",
            format_instant(found),
            format_instant(last["started_at"]),
            last["error"],
            command_line("schedules", "--as-of", format_instant(found), config=settings.path),
        )
    if says_age:
        warn_of_age(published, found)
    if warehouse.is_pruned(found):
        log.warning(
            "the log of %s was pruned (maintain --keep-event-days; the first day left is %s): the tables of "
            "this as_of are whole, but why a queue is off, and closed messages, are not known",
            format_instant(found),
            warehouse.first_day,
        )
    return found


def _find_run(
    warehouse: Warehouse, settings: Settings, as_of: datetime | None, runs: Sequence[Mapping[str, Any]]
) -> datetime:
    """The as_of to take of published runs, which come in the order of their starts."""
    latest = {row["as_of"]: row for row in runs}
    if as_of is None:
        for row in sorted(latest.values(), key=itemgetter("as_of"), reverse=True):
            if has_rows(warehouse, row):
                found: datetime = row["as_of"]
                return found
        what = "the rows of all published runs are gone" if runs else "no run was published yet"
        raise UnpublishedError(
            f"{settings.warehouse}: {what}; run "
            f"{command_line('nightly', '--as-of', LATEST, config=settings.path)} first"
        )
    if as_of not in latest:
        there = ", ".join(map(format_instant, sorted(latest, reverse=True)[:AS_OFS_SHOWN])) or "none yet"
        raise UnpublishedError(
            f"--as-of {format_instant(as_of)} was not published; the latest are: {there}; take one of these, "
            f"or run {command_line('nightly', '--as-of', format_instant(as_of), config=settings.path)} first"
        )
    if not has_rows(warehouse, latest[as_of]):
        if warehouse.is_pruned(as_of):
            raise UnpublishedError(
                f"--as-of {format_instant(as_of)} was published, but its rows were removed since "
                f"(maintain --keep-days), and its day was pruned: the first day left is "
                f"{warehouse.first_day}; take a later as_of"
            )
        raise UnpublishedError(
            f"--as-of {format_instant(as_of)} was published, but its rows were removed since "
            "(maintain --keep-days); run "
            f"{command_line('schedules', '--as-of', format_instant(as_of), config=settings.path)}, which "
            "writes them again"
        )
    return as_of


def has_rows(warehouse: Warehouse, run: Mapping[str, Any]) -> bool:
    """Whether the tables still hold what a run wrote: one is looked at, of which it has counted rows."""
    counts = dict(run["row_counts"] or {})
    counted = [table for name, table in TABLES.items() if counts.get(name)]
    return not counted or not warehouse.read_as_of(counted[0], run["as_of"]).isEmpty()


def require_findings(
    warehouse: Warehouse, settings: Settings, as_of: datetime, option: str = "--as-of"
) -> None:
    """Refuse a published as_of whose findings and waits were not kept.

    Raises:
        ConfigError: an older version published it.
    """
    runs = read_published_runs(warehouse, "as_of", "row_counts")
    kept = {FINDINGS.name, WAITS.name}
    if any(run["as_of"] == as_of and kept <= dict(run["row_counts"]).keys() for run in runs):
        return
    again = command_line("schedules", "--as-of", format_instant(as_of), config=settings.path)
    raise ConfigError(
        f"command line: {option} {format_instant(as_of)}: an older version published it, without the tables "
        f"findings and waits; run {again}, which writes them, or name a later one"
    )


def require_whole(warehouse: Warehouse) -> Sequence[Mapping[str, Any]]:
    """Do what `find_whole_runs` does, before anything is written.

    A warehouse without tables gets `runs`, so that no other table is ever there without it.
    """
    runs = find_whole_runs(warehouse)
    warehouse.create_missing(RUNS)
    return runs


def find_whole_runs(warehouse: Warehouse) -> Sequence[Mapping[str, Any]]:
    """Compare the tables with what the last published run left.

    Returns:
        The published runs: as_of, finished_at, versions, last_batch.

    Raises:
        WarehouseError: as `require_as_left`.
    """
    runs = checked_runs(warehouse)
    # The engine may reach what delta-rs does not.
    if not warehouse.exists(RUNS) and warehouse.exists(BATCHES):
        raise WarehouseError(runs_are_gone(warehouse.root))
    return runs
