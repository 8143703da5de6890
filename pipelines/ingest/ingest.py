"""Ingest: read new input as one batch, write it into the ledger, and close rows that no as_of needs any more.

An interrupted batch is run again. Its rows have its number, so the next attempt ignores the rows of its own
batch and replaces them. The rows of `batches` are written last and mark the batch as complete.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import partial

from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import InputError
from pipelines.config.model import EventSource, LogSource, Snapshot
from pipelines.console.wording import format_count
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import union_all, with_same_columns
from pipelines.engine.materialize import Materialize
from pipelines.ingest.days import end_of, full_days, newest_day
from pipelines.ingest.late_events import SMALL_HISTORY, Lookback
from pipelines.ingest.log_transactions import OUTCOMES
from pipelines.ingest.logs import logs_to_read, read_new_log
from pipelines.ingest.pending import (
    known_endpoints,
    pending_sources,
    remove_tried,
    write_pending,
)
from pipelines.ingest.read_input import InputBatch, read_new_input, with_pending
from pipelines.ingest.retention import CloseAt
from pipelines.ingest.sends import write_sends
from pipelines.ingest.snapshots.partners import Key, remove_replaced
from pipelines.ingest.snapshots.read import SnapshotBatch, ViewsRead, take_snapshots
from pipelines.ingest.snapshots.taken import (
    NewSnapshots,
    complete_views,
    find_new_snapshots,
    new_views,
    write_moved,
    write_taken,
)
from pipelines.ingest.working_set import Batch
from pipelines.ingest.write_ledger import write_ledger
from pipelines.server.snapshots.history import binding_periods
from pipelines.settings.load import Settings
from pipelines.state.open_messages import StateOfMessages
from pipelines.storage.batches import (
    EVENT_COUNTS,
    SNAPSHOTS,
    CompletedBatches,
    read_completed_batches,
    replace_batch,
)
from pipelines.storage.collect import collect_rows
from pipelines.storage.inputs.contract import contract_problems, raise_together
from pipelines.storage.inputs.faulty_files import find_faulty_files, name_files_on_error
from pipelines.storage.inputs.listing import InputFile, find_new_files, require_unchanged
from pipelines.storage.inputs.log_rows import LogReading, read_log, taken_contract
from pipelines.storage.inputs.mapped_rows import mapping_of
from pipelines.storage.inputs.read import read_input
from pipelines.storage.placed import without_left_out
from pipelines.storage.warehouse import Warehouse
from schemas import ACCEPTED, CONTRACTS
from schemas.events import ENDPOINT_FACTS, table_of
from schemas.outputs import BATCHES, FILES, QUEUE_MONITORS, QUEUE_STATUSES, REJECTED_EVENTS, RUNS, SENDS

FILE = ("source", "path", "length", "modified_at", "version")


SMALL_INPUT_BYTES = 16 << 20
"""Bytes of new input up to which the settings for small jobs are faster, on a small ledger."""


@dataclass(frozen=True)
class NewInput:
    """The input of the next batch.

    Attributes:
        files: files and versions of Delta tables that no batch has read.
        snapshots: snapshots and captures that no batch has read.
        completed: the completed batches.
        bindings: `fingerprint` of the settings.
        is_interrupted: whether an earlier attempt at this batch left rows.
        mappings: how the columns of each source map, as JSON; null for the contract's own.
        changed: by source, how many files a batch read by another mapping.
    """

    files: Sequence[InputFile]
    snapshots: NewSnapshots
    completed: CompletedBatches
    bindings: str
    is_interrupted: bool
    mappings: Mapping[str, str | None] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether the ledger is up to date."""
        return not self.files and not self.snapshots and not self.is_interrupted and not self.are_bindings_new

    @property
    def are_bindings_new(self) -> bool:
        """Whether the settings bind services, or name databases, otherwise than when the last batch came."""
        return self.completed.bindings not in (None, self.bindings)

    def describe_changes(self) -> list[str]:
        """Say of which sources the mapping changed."""
        return [
            f"{source}: its mapping has changed, and {format_count(count, 'file')} that another one read "
            "stay as they were taken"
            for source, count in sorted(self.changed.items())
        ]

    @property
    def is_small(self) -> bool:
        """Whether files and ledger are small; of a Delta input the size is not known."""
        size = sum(SMALL_INPUT_BYTES + 1 if file.length is None else file.length for file in self.files)
        return self.completed.is_small and not self.snapshots and size <= SMALL_INPUT_BYTES


def find_new_input(warehouse: Warehouse, settings: Settings) -> NewInput:
    """Find the input of the next batch; only lists of files are read.

    Raises:
        InputError: an input is missing or unreadable, or a file changed after it was taken.
        CaptureError: a capture that was taken has other content now.
    """
    completed, taken = run_concurrently(
        warehouse.spark,
        partial(read_completed_batches, warehouse),
        lambda: collect_rows(warehouse.read(FILES)),
    )
    files = [InputFile(*[row[name] for name in FILE]) for row in taken if row["batch"] <= completed.batch]
    mappings = {name: source.describe_mapping() for name, source in settings.inputs.by_name().items()}
    return NewInput(
        files=find_new_files(settings.inputs.by_name(), files),
        snapshots=find_new_snapshots(
            warehouse,
            [*settings.snapshots, *settings.left_out],
            settings.captures,
            completed.batch,
            settings.replaced,
        ),
        completed=completed,
        bindings=fingerprint(settings),
        is_interrupted=any(row["batch"] > completed.batch for row in taken),
        mappings=mappings,
        changed=Counter(
            row["source"]
            for row in taken
            if row["batch"] <= completed.batch
            and row["source"] in mappings
            and row["mapping"] != mappings[row["source"]]
        ),
    )


@dataclass(frozen=True)
class IngestResult:
    """The result of `ingest`.

    Attributes:
        completed: the completed batches, with this one.
        details: the counts of the batch as text, for the progress line.
        state: the state of messages by which the batch closed rows; None without a new batch.
    """

    completed: CompletedBatches
    details: str
    state: StateOfMessages | None = None


def ingest(
    warehouse: Warehouse,
    settings: Settings,
    new: NewInput,
    *,
    run_id: str,
    started_at: datetime,
    materialize_state: Materialize,
    views: ViewsRead | None = None,
    as_of: datetime | None = None,
) -> IngestResult:
    """Read the new input as one batch and write the ledger; without new input, nothing is written.

    Args:
        warehouse: the tables.
        settings: inputs and catalog.
        new: `find_new_input`.
        views: what its snapshots show; None if it has none.
        run_id: the run, for `rejected_events.run_id`.
        started_at: its start, for `rejected_events.first_seen`.
        materialize_state: materializes the returned state, which outlives the batch.
        as_of: the instant that the run describes, by which rows close; None closes at the end of the log's
            newest day.

    Raises:
        InputError: an input breaks its contract, or a file changed while it was read.
    """
    if new.is_empty:
        write_moved(warehouse, new.completed.batch, new.snapshots.moved)
        return IngestResult(new.completed, "; ".join(["nothing new", *new.describe_changes()]))
    completed, number, state = new.completed, new.completed.batch + 1, None
    replaced = new.snapshots.replaced
    # `pipelines.storage.integrity` expects it beside any other table.
    warehouse.create_missing(RUNS)
    with_ends = {row["source"] for row in completed.batches if dict(row["counts"] or {}).get(OUTCOMES)}
    with warehouse.materializing() as materialize:
        inputs, _ = run_concurrently(
            warehouse.spark,
            partial(_read_inputs, warehouse, settings, new.files, number, with_ends, views, materialize),
            partial(_write_taken_input, warehouse, number, new, started_at, views),
        )
        snapshot_batch = None
        if views is not None:
            events = {
                table: without_left_out(rows, settings.places) for table, rows in _by_table(inputs).items()
            }
            snapshot_batch = take_snapshots(warehouse, views, events, materialize)
            replace_batch(warehouse, QUEUE_MONITORS, number, snapshot_batch.monitors)
            replace_batch(warehouse, QUEUE_STATUSES, number, snapshot_batch.statuses)
        newest = _newest_moment(_all_batches(inputs, snapshot_batch), completed.newest)
        inputs = [with_pending(each, newest) for each in inputs]
        # Files with types are read again where their rows are written.
        with name_files_on_error(partial(_name_faulty_files, warehouse, settings, new.files)):
            if newest is not None:
                # Views of one moment cannot contradict each other.
                moments = {each.taken_at for each in new.snapshots.snapshots}
                is_one_moment = number == 1 and not inputs and len(moments) == 1
                complete = None if is_one_moment else complete_views(warehouse, number, replaced, materialize)
                has_new = complete is not None and bool(new.snapshots.snapshots)
                shown_in = new_views(warehouse, number, replaced, materialize) if has_new else None
                close_at = CloseAt.at(as_of, newest, warehouse.first_day)
                batch = _plan_batch(
                    settings, inputs, snapshot_batch, complete, shown_in, completed, close_at, replaced
                )
                state = write_ledger(warehouse, batch, materialize_state)
            # The files were read for the last time. If one grew meanwhile, its last row may be cut off.
            require_unchanged(settings.inputs.by_name(), new.files)
            _, counts = run_concurrently(
                warehouse.spark,
                partial(_write_rejected, warehouse, _all_batches(inputs, snapshot_batch), run_id, started_at),
                partial(_count_events, warehouse, settings, inputs, number),
            )
        write_sends(warehouse, number, [each for each in inputs if each.table == SENDS.name], materialize)
        _write_pending(warehouse, number, inputs, started_at)
    if snapshot_batch is not None:
        counts.append(_count_snapshots(snapshot_batch, new.snapshots))
    # A batch without input was made for its bindings, which a row has to say.
    counts = counts or [(SNAPSHOTS, 0, 0, 0, 0, None, {}, 0)]
    rows = [
        (number, *count, newest, new.bindings, newest_data, more or None, pending)
        for *count, newest_data, more, pending in counts
    ]
    warehouse.replace(BATCHES, rows, where=f"batch = {number}")
    remove_replaced(warehouse, replaced)
    remove_tried(warehouse, number)
    warehouse.mark_ids()
    if replaced:
        completed = read_completed_batches(warehouse)
    else:
        batches = [dict(zip(BATCHES.names, row, strict=True)) for row in rows]
        completed = CompletedBatches([*completed.batches, *batches])
    totals = Counter[str]()
    for count in counts:
        totals.update({**dict(zip(EVENT_COUNTS, count[1:5], strict=True)), **count[6]})
        totals.update({"pending": count[7]} if count[7] else {})
    told = [*EVENT_COUNTS, *sorted(totals.keys() - {*EVENT_COUNTS})]
    details = ", ".join(f"{totals[name]:,} {name}" for name in told)
    details = "; ".join([details, *new.describe_changes()])
    return IngestResult(completed, details, state)


def _read_inputs(
    warehouse: Warehouse,
    settings: Settings,
    files: Sequence[InputFile],
    number: int,
    with_ends: Collection[str],
    views: ViewsRead | None,
    materialize: Materialize,
) -> list[InputBatch]:
    """Read every source that has new files or pending rows; errors of all sources are raised together.

    Sources with handles come last, those of endpoint events and logs before those of messages: all before may
    show whose handles these are. Logs `with_ends` have shown how transactions ended.
    """
    found: list[InputBatch | InputError] = []

    def read(
        source: str, others: Sequence[InputBatch | InputError], known: DataFrame | None = None
    ) -> InputBatch | InputError:
        """Read a source after the others of its table, as they may have the same events."""
        of_source = by_source.get(source, [])
        table = table_of(source)
        before = [each.events for each in others if isinstance(each, InputBatch) and each.table == table]
        try:
            with name_files_on_error(partial(_name_faulty_files, warehouse, settings, of_source)):
                return read_new_input(
                    warehouse, settings, source, of_source, number, materialize, before, known
                )
        except InputError as error:
            return error

    def read_table(sources: Sequence[str]) -> list[InputBatch | InputError]:
        results: list[InputBatch | InputError] = []
        for source in sources:
            results.append(read(source, results))
        return results

    def shown() -> list[DataFrame]:
        """The endpoint events that were read so far, and those of new snapshots."""
        of_batches = [each for each in found if isinstance(each, InputBatch)]
        events = [each.events for each in of_batches if each.table == ENDPOINT_FACTS.name]
        if views is not None and ENDPOINT_FACTS.name in views.made:
            events.append(views.made[ENDPOINT_FACTS.name])
        return events

    by_source = _by_source(files)
    with_handles = _with_handles(warehouse, settings, by_source)
    logs = logs_to_read(warehouse, settings, by_source)
    of_tables: dict[str, list[str]] = {}
    for source in by_source:
        if source not in with_handles and source not in {each.source for each in logs}:
            of_tables.setdefault(table_of(source), []).append(source)
    for several in run_concurrently(
        warehouse.spark, *[partial(read_table, sources) for sources in of_tables.values()]
    ):
        found += several

    def read_handles(*, of_endpoints: bool) -> None:
        for source in with_handles:
            if (table_of(source) == ENDPOINT_FACTS.name) == of_endpoints:
                found.append(read(source, found, known_endpoints(warehouse, shown())))

    read_handles(of_endpoints=True)
    for log in logs:
        has_ends = log.source in with_ends
        of_log = by_source.get(log.source, [])
        others: dict[str, list[DataFrame]] = {}
        for each in found:
            if isinstance(each, InputBatch):
                others.setdefault(each.table, []).append(each.events)
        try:
            with name_files_on_error(partial(_name_faulty_files, warehouse, settings, of_log)):
                found += read_new_log(
                    *(warehouse, settings, log, of_log, number, materialize, others, shown(), has_ends),
                    {} if views is None else views.made,
                )
        except InputError as error:
            found.append(error)
    read_handles(of_endpoints=False)
    raise_together(str(result) for result in found if isinstance(result, InputError))
    return [result for result in found if isinstance(result, InputBatch)]


def _with_handles(
    warehouse: Warehouse, settings: Settings, by_source: Mapping[str, Sequence[InputFile]]
) -> list[str]:
    """The sources with handles that have new files or pending rows: those of endpoint events first."""
    named = [
        source
        for source, given in settings.inputs.by_name().items()
        if isinstance(given, EventSource)
        and (mapping := mapping_of(source, given)) is not None
        and mapping.has_handles
    ]
    waiting = pending_sources(warehouse) if named else set()
    return [source for source in named if source in by_source or source in waiting]


def _write_pending(
    warehouse: Warehouse, number: int, inputs: Sequence[InputBatch], started_at: datetime
) -> None:
    tried = [(each.source, each.waiting) for each in inputs if each.waiting is not None]
    rows = [
        waiting.select(F.lit(source).alias("source"), "event_id", "reason", "payload", "first_seen")
        for source, waiting in tried
    ]
    write_pending(warehouse, number, rows, [source for source, _ in tried], started_at)


def _name_faulty_files(
    warehouse: Warehouse, settings: Settings, files: Sequence[InputFile], error: Exception
) -> None:
    """Raise an error that names the files that can't be read to their end.

    Raises:
        InputError: there is any.
    """

    def problems(source: str, files: Sequence[InputFile]) -> str:
        given, limit = settings.inputs.by_name()[source], settings.quality.max_line_bytes
        if isinstance(given, LogSource):
            log = LogReading(source, given, settings.log_names)
            contract = taken_contract(log, (), given.format)
            opened = partial(read_log, warehouse.spark, log, max_line_bytes=limit)
        else:
            contract = CONTRACTS[table_of(source)]
            opened = partial(
                read_input,
                warehouse.spark,
                contract,
                given.format,
                max_line_bytes=limit,
                mapping=mapping_of(source, given),
            )
        faulty = find_faulty_files(files, opened, error, are_parquet=given.format == "parquet")
        return contract_problems(contract, faulty)

    raise_together(problems(source, files) for source, files in _by_source(files).items())


def _by_source(files: Sequence[InputFile]) -> dict[str, list[InputFile]]:
    """The files of the inputs that have any, in the order of the inputs."""
    by_source: dict[str, list[InputFile]] = {}
    for file in files:
        by_source.setdefault(file.source, []).append(file)
    return by_source


def _by_table(inputs: Sequence[InputBatch]) -> dict[str, DataFrame]:
    """The accepted events of all sources by their table; what only logs say is null in others."""
    events: dict[str, list[DataFrame]] = {}
    for each in inputs:
        if each.table in ACCEPTED:
            events.setdefault(each.table, []).append(each.events)
    return {table: union_all(with_same_columns(frames)) for table, frames in events.items()}


def _all_batches(
    inputs: Sequence[InputBatch], snapshot_batch: SnapshotBatch | None
) -> list[InputBatch | SnapshotBatch]:
    """The batches of all inputs and of the snapshots."""
    return [*inputs, *([] if snapshot_batch is None else [snapshot_batch])]


def _newest_moment(inputs: Sequence[InputBatch | SnapshotBatch], known: datetime | None) -> datetime | None:
    """The newest moment of the log; null if no event was ever accepted."""
    events = Counter[date]()
    for each in inputs:
        events.update(each.by_day)
    day = newest_day(events, known.date() if known else None)
    moments = [each.newest[day] for each in inputs if day in each.newest]
    return max([*moments, *([known] if known else [])], default=None)


def _plan_batch(
    settings: Settings,
    inputs: Sequence[InputBatch],
    snapshot_batch: SnapshotBatch | None,
    views: DataFrame | None,
    shown_in: DataFrame | None,
    completed: CompletedBatches,
    close_at: CloseAt,
    replaced: Sequence[Key],
) -> Batch:
    by_day = Counter[date]()
    for each in _all_batches(inputs, snapshot_batch):
        by_day.update(each.by_day)
    full = full_days(by_day)
    # No log of a server says which transactions committed a RECEIVE.
    queue_events = sum(
        sum(each.by_day.values()) for each in inputs if table_of(each.source) == "queue_events"
    )
    return Batch(
        number=completed.batch + 1,
        events=_by_table(inputs),
        view_events={} if snapshot_batch is None else snapshot_batch.events,
        places=settings.places,
        views=views,
        new_views=shown_in,
        close_at=close_at,
        closed_until=None if completed.newest is None else end_of(completed.newest.date()),
        lookback=Lookback(full, by_day.keys() - full, everywhere=completed.events <= SMALL_HISTORY),
        bindings=list(settings.catalog.service_bindings()),
        binding_periods=binding_periods(settings.written_catalog, settings.catalog_history),
        has_queue_events=completed.has_queue_events or queue_events > 0,
        has_views_by_hand=any(isinstance(each, Snapshot) for each in settings.snapshot_entries),
        # Without queue events every RECEIVED counted as committed. Rows closed by that rule can be open now.
        starts_over=not completed.has_queue_events and queue_events > 0,
        replaced=replaced,
    )


def _write_taken_input(
    warehouse: Warehouse, number: int, new: NewInput, started_at: datetime, views: ViewsRead | None
) -> None:
    """Record the files of the batch before the ledger is written.

    They count as read once `batches` has rows of the batch.
    """
    rows = [(*[getattr(file, name) for name in FILE], new.mappings.get(file.source)) for file in new.files]
    rows = [(number, *row) for row in rows]
    warehouse.replace(FILES, rows, where=f"batch >= {number}")
    write_taken(warehouse, number, new.snapshots, started_at, {} if views is None else views.counts())


def _write_rejected(
    warehouse: Warehouse, inputs: Sequence[InputBatch | SnapshotBatch], run_id: str, started_at: datetime
) -> None:
    """Append the rejected rows that the table lacks; nulls in a key are equal."""
    reports = [each.reports for each in inputs if each.reports is not None]
    if not reports:
        return
    key = list(REJECTED_EVENTS.key)
    files = union_all(reports).dropDuplicates(key).alias("new")
    same = [F.col(f"new.{name}").eqNullSafe(F.col(f"old.{name}")) for name in key]
    missing = files.join(warehouse.read(REJECTED_EVENTS).alias("old"), same, "left_anti")
    warehouse.append(
        REJECTED_EVENTS, missing.withColumns({"run_id": F.lit(run_id), "first_seen": F.lit(started_at)})
    )


Counts = tuple[str, int, int, int, int, datetime | None, Mapping[str, int], int]
"""Source, events, accepted, duplicates, rejected, newest_data, counts, pending: the columns of `batches`."""


def _count_events(
    warehouse: Warehouse, settings: Settings, inputs: Sequence[InputBatch], number: int
) -> list[Counts]:
    """The counts of each input; accepted events are counted in their tables."""

    def count(rows: DataFrame) -> tuple[int, datetime | None]:
        accepted = rows.agg(F.count(F.lit(1)).alias("events"), F.max("event_time").alias("newest"))
        [found] = collect_rows(accepted)
        return found["events"], found["newest"]

    def of_table(table: str) -> list[Counts]:
        new = [each for each in inputs if each.table == table]
        if table not in ACCEPTED:
            return [_counts_of(each, each.accepted or 0, None) for each in new]
        rows = warehouse.read_with_left_out(ACCEPTED[table]).where(
            f"fold = {number} and batch = {number} and seen_at is null"
        )
        written, newest = count(rows)
        # The table does not say from which source an event is: the last source has what the others leave.
        each_alone = [count(each.events) for each in new] if len(new) > 1 else [(written, newest)]
        each_alone[-1] = (written - sum(events for events, _ in each_alone[:-1]), each_alone[-1][1])
        return [_counts_of(each, *found) for each, found in zip(new, each_alone, strict=True)]

    tables = dict.fromkeys(each.table for each in inputs)
    found = run_concurrently(warehouse.spark, *[partial(of_table, table) for table in tables])
    counted = [each for several in found for each in several]
    return [
        _sum_of(name, [each for each in counted if each[0] == name]) for name in settings.inputs.by_name()
    ]


def _counts_of(read: InputBatch, accepted: int, newest: datetime | None) -> Counts:
    return (
        *(read.source, read.rows, accepted, read.duplicates, read.rejected),
        *(newest, read.counts, read.pending),
    )


def _sum_of(source: str, counted: Sequence[Counts]) -> Counts:
    """The counts of a source: a log has some in several tables."""
    numbers = [each[1:5] for each in counted] or [(0, 0, 0, 0)]
    events, accepted, duplicates, rejected = (sum(several) for several in zip(*numbers, strict=True))
    pending = sum(each[7] for each in counted)
    newest = max((each[5] for each in counted if each[5] is not None), default=None)
    more = Counter[str]()
    for each in counted:
        more.update(each[6])
    return source, events, accepted, duplicates, rejected, newest, more, pending


def _count_snapshots(batch: SnapshotBatch, new: NewSnapshots) -> Counts:
    """The counts of all views; a snapshot without rows is data, a capture of no database is none."""
    newest = max((each.taken_at for each in new.snapshots), default=None)
    accepted = batch.rows - batch.rejected - batch.duplicates
    return SNAPSHOTS, batch.rows, accepted, batch.duplicates, batch.rejected, newest, {}, 0


def fingerprint(settings: Settings) -> str:
    """A hash of services with their queues and of names of databases; a change of it needs a new batch."""
    bindings = json.dumps([*sorted(settings.catalog.service_bindings()), *settings.places.describe()])
    return hashlib.sha256(bindings.encode()).hexdigest()
