"""The fold: take in what is new, write it into the ledger, and close what no as_of needs any more.

A fold that was broken off is done again: its rows carry its number, so the next attempt passes over those of
its own batch and replaces all that it wrote. The rows of `batches` come last and say that it is completed.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import partial

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import InputError
from pipelines.config.load import Settings
from pipelines.config.snapshots.server import ServerSnapshot
from pipelines.engine.differences import Materialize, run_concurrently
from pipelines.engine.small_frame import small_frame
from pipelines.engine.union import union_all
from pipelines.ingest.days import full_days, newest_day
from pipelines.ingest.late_events import SMALL_HISTORY, Lookback
from pipelines.ingest.read_input import InputBatch, read_new_input
from pipelines.ingest.retention import CloseAt
from pipelines.ingest.snapshots.monitors import write_monitors
from pipelines.ingest.snapshots.read import (
    SOURCE,
    SnapshotBatch,
    complete_views,
    new_snapshots,
    take_snapshots,
    write_taken,
)
from pipelines.ingest.working_set import Batch
from pipelines.ingest.write_ledger import write_ledger
from pipelines.state.open_messages import StateOfMessages
from pipelines.storage.batches import CompletedBatches, completed_batches
from pipelines.storage.collect import collect_rows
from pipelines.storage.inputs.contract import contract_problems, raise_together
from pipelines.storage.inputs.listing import InputFile, new_files, require_unchanged
from pipelines.storage.inputs.read import read_input
from pipelines.storage.inputs.unreadable import blaming_files, faulty_files
from pipelines.storage.warehouse import Warehouse
from schemas import ACCEPTED, CONTRACTS
from schemas.outputs import BATCHES, FILES, REJECTED_EVENTS, RUNS

FILE = ("source", "path", "length", "modified_at", "version")
SUMS = ("events", "accepted", "duplicates", "rejected")


SMALL_INPUT_BYTES = 16 << 20
"""Bytes of new input up to which the settings for small jobs are faster, on a small ledger."""


@dataclass(frozen=True)
class New:
    """What a fold finds to do.

    Attributes:
        files: what was not taken yet.
        snapshots: likewise.
        completed: the completed batches.
        bindings: `fingerprint` of the settings.
        broken_off: whether an earlier attempt at this fold left rows.
    """

    files: Sequence[InputFile]
    snapshots: Sequence[ServerSnapshot]
    completed: CompletedBatches
    bindings: str
    broken_off: bool

    @property
    def is_empty(self) -> bool:
        """Whether the ledger is up to date."""
        return (
            not self.files
            and not self.snapshots
            and not self.broken_off
            and self.completed.bindings in (None, self.bindings)
        )

    @property
    def is_small(self) -> bool:
        """Whether files and ledger are small; of a Delta input the size is not known."""
        size = sum(SMALL_INPUT_BYTES + 1 if file.length is None else file.length for file in self.files)
        return self.completed.is_small and not self.snapshots and size <= SMALL_INPUT_BYTES


def new_input(warehouse: Warehouse, settings: Settings) -> New:
    """Find what the next fold has to do; nothing is read but lists of files.

    Raises:
        InputError: an input is missing or unreadable, or a file changed after it was taken.
    """
    completed, taken = run_concurrently(
        warehouse.spark, partial(completed_batches, warehouse), lambda: collect_rows(warehouse.read(FILES))
    )
    files = [InputFile(*[row[name] for name in FILE]) for row in taken if row["batch"] <= completed.batch]
    return New(
        files=new_files(settings.inputs.by_name(), files),
        snapshots=new_snapshots(warehouse, settings.snapshots, completed.batch),
        completed=completed,
        bindings=fingerprint(settings),
        broken_off=any(row["batch"] > completed.batch for row in taken),
    )


@dataclass(frozen=True)
class IngestResult:
    """What a fold has completed.

    Attributes:
        completed: the completed batches, with this one.
        details: what came in, in words.
        state: the state of messages at the end of the log's newest day; None if nothing came in.
    """

    completed: CompletedBatches
    details: str
    state: StateOfMessages | None = None


def ingest(
    warehouse: Warehouse,
    settings: Settings,
    new: New,
    *,
    run_id: str,
    started_at: datetime,
    materialize_state: Materialize,
) -> IngestResult:
    """Take in what is new as one batch, and write the ledger; nothing happens if nothing is new.

    Args:
        warehouse: the tables.
        settings: inputs and catalog.
        new: `new_input`.
        run_id: the run that rejected rows are reported by.
        started_at: its start, for `rejected_events.first_seen`.
        materialize_state: keeps the state that is returned: what describes that moment next needs it, too.

    Raises:
        InputError: an input breaks its contract, or a file changed while it was read.
    """
    if new.is_empty:
        return IngestResult(new.completed, "nothing new")
    completed, number, state = new.completed, new.completed.batch + 1, None
    # No other table is ever there without it (`pipelines.storage.integrity`).
    warehouse.create_missing(RUNS)
    with warehouse.materializing() as materialize:
        came, _ = run_concurrently(
            warehouse.spark,
            partial(_take_in, warehouse, settings, new.files, number, materialize),
            partial(_write_what_is_taken, warehouse, number, new),
        )
        shown = None
        if new.snapshots:
            events = {each.source: each.events for each in came}
            shown = take_snapshots(warehouse, new.snapshots, events, materialize)
            write_monitors(warehouse, number, shown.monitors)
        newest = _newest(_brought(came, shown), completed.newest)
        # Files with types are read again where their rows are written.
        with blaming_files(partial(_blame, warehouse, settings, new.files)):
            if newest is not None:
                # Facts of one moment alone can't contradict each other.
                moments = {each.taken_at for each in new.snapshots}
                is_one_moment = number == 1 and not came and len(moments) == 1
                views = None if is_one_moment else complete_views(warehouse, number)
                batch = _batch(settings, came, shown, views, completed, number, newest)
                state = write_ledger(warehouse, batch, materialize_state)
            # They have been read for the last time. What was cut off as a file was still growing is no row.
            require_unchanged(settings.inputs.by_name(), new.files)
            _, counts = run_concurrently(
                warehouse.spark,
                partial(_write_rejected, warehouse, _brought(came, shown), run_id, started_at),
                partial(_counts, warehouse, settings, came, shown, number),
            )
    rows = [(number, *count, newest, new.bindings) for count in counts]
    warehouse.replace(BATCHES, small_frame(warehouse.spark, rows, BATCHES.struct), where=f"batch = {number}")
    warehouse.mark_ids()
    batches = [dict(zip(BATCHES.names, row, strict=True)) for row in rows]
    totals = Counter[str]()
    for count in counts:
        totals.update(dict(zip(SUMS, count[1:], strict=True)))
    details = ", ".join(f"{totals[name]:,} {name}" for name in SUMS)
    return IngestResult(CompletedBatches([*completed.batches, *batches]), details, state)


def _take_in(
    warehouse: Warehouse,
    settings: Settings,
    files: Sequence[InputFile],
    number: int,
    materialize: Materialize,
) -> list[InputBatch]:
    """Read every input that has new files; what breaks the contracts is said of all of them at once."""

    def read(source: str, found: Sequence[InputFile]) -> InputBatch | InputError:
        try:
            with blaming_files(partial(_blame, warehouse, settings, found)):
                given, limit = settings.inputs.by_name()[source], settings.quality.max_line_bytes
                return read_new_input(warehouse, source, given, found, number, materialize, limit)
        except InputError as error:
            return error

    tasks = [partial(read, source, found) for source, found in _by_source(files).items()]
    results = run_concurrently(warehouse.spark, *tasks)
    raise_together(str(result) for result in results if isinstance(result, InputError))
    return [result for result in results if isinstance(result, InputBatch)]


def _blame(warehouse: Warehouse, settings: Settings, files: Sequence[InputFile], error: Exception) -> None:
    """Name the files that can't be read to their end.

    Raises:
        InputError: there is any.
    """

    def problems(source: str, found: Sequence[InputFile]) -> str:
        contract, format = CONTRACTS[source], settings.inputs.by_name()[source].format
        limit = settings.quality.max_line_bytes
        opened = partial(read_input, warehouse.spark, contract, format, max_line_bytes=limit)
        faulty = faulty_files(found, opened, error, are_parquet=format == "parquet")
        return contract_problems(contract, faulty)

    raise_together(problems(source, found) for source, found in _by_source(files).items())


def _by_source(files: Sequence[InputFile]) -> dict[str, list[InputFile]]:
    """The files of the inputs that have any, in the order of the inputs."""
    by_source = {source: [file for file in files if file.source == source] for source in ACCEPTED}
    return {source: found for source, found in by_source.items() if found}


def _brought(came: Sequence[InputBatch], shown: SnapshotBatch | None) -> list[InputBatch | SnapshotBatch]:
    """All that came in."""
    return [*came, *([] if shown is None else [shown])]


def _newest(came: Sequence[InputBatch | SnapshotBatch], known: datetime | None) -> datetime | None:
    """The newest moment of the log; null if no event was ever accepted."""
    events = Counter[date]()
    for each in came:
        events.update(each.by_day)
    day = newest_day(events, known.date() if known else None)
    moments = [each.newest[day] for each in came if day in each.newest]
    return max([*moments, *([known] if known else [])], default=None)


def _batch(
    settings: Settings,
    came: Sequence[InputBatch],
    shown: SnapshotBatch | None,
    views: DataFrame | None,
    completed: CompletedBatches,
    number: int,
    newest: datetime,
) -> Batch:
    by_day = Counter[date]()
    for each in _brought(came, shown):
        by_day.update(each.by_day)
    full = full_days(by_day)
    queue_events = sum(sum(each.by_day.values()) for each in came if each.source == "queue_events")
    return Batch(
        number=number,
        events={each.source: each.events for each in came},
        shown={} if shown is None else shown.events,
        views=views,
        until=CloseAt.newest(newest),
        reach=Lookback(full, by_day.keys() - full, everywhere=completed.events <= SMALL_HISTORY),
        bindings=list(settings.catalog.service_bindings()),
        has_queue_events=completed.has_queue_events or queue_events > 0,
        # Without queue events every RECEIVED counted; what was closed by that means something else now.
        starts_anew=not completed.has_queue_events and queue_events > 0,
    )


def _write_what_is_taken(warehouse: Warehouse, number: int, new: New) -> None:
    """Say before the ledger is written what the batch takes: it is taken again without rows in `batches`."""
    rows = [
        (number, file.source, file.path, file.length, file.modified_at, file.version) for file in new.files
    ]
    warehouse.replace(FILES, small_frame(warehouse.spark, rows, FILES.struct), where=f"batch >= {number}")
    write_taken(warehouse, number, new.snapshots)


def _write_rejected(
    warehouse: Warehouse, came: Sequence[InputBatch | SnapshotBatch], run_id: str, started_at: datetime
) -> None:
    """Add the rejected rows that are not there yet; nulls in a key are equal."""
    reports = [each.reports for each in came if each.reports is not None]
    if not reports:
        return
    key = list(REJECTED_EVENTS.key)
    found = union_all(reports).dropDuplicates(key).alias("new")
    same = [F.col(f"new.{name}").eqNullSafe(F.col(f"old.{name}")) for name in key]
    missing = found.join(warehouse.read(REJECTED_EVENTS).alias("old"), same, "left_anti")
    warehouse.append(
        REJECTED_EVENTS, missing.withColumns({"run_id": F.lit(run_id), "first_seen": F.lit(started_at)})
    )


def _counts(
    warehouse: Warehouse,
    settings: Settings,
    came: Sequence[InputBatch],
    shown: SnapshotBatch | None,
    number: int,
) -> list[tuple[str, int, int, int, int]]:
    """(source, events, accepted, duplicates, rejected); what was accepted is counted in the tables."""
    brought = {each.source: each for each in came}

    def counted(source: str) -> tuple[str, int, int, int, int]:
        each = brought.get(source)
        if each is None:
            return source, 0, 0, 0, 0
        rows = warehouse.read(ACCEPTED[source]).where(
            f"fold = {number} and batch = {number} and seen_at is null"
        )
        return source, each.rows, rows.count(), each.duplicates, each.rejected

    counts = list(
        run_concurrently(warehouse.spark, *[partial(counted, name) for name in settings.inputs.by_name()])
    )
    if shown is not None:
        counts.append((SOURCE, shown.rows, shown.rows - shown.rejected, 0, shown.rejected))
    return counts


def fingerprint(settings: Settings) -> str:
    """A hash of the catalog's services with their queues, to see that it changed."""
    bindings = json.dumps(sorted(settings.catalog.service_bindings()))
    return hashlib.sha256(bindings.encode()).hexdigest()
