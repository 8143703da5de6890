"""Read the new files of one input: accepted events, duplicates and rejected rows."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime

from pyspark.sql import DataFrame, Row, functions as F

from pipelines.config.errors import InputError
from pipelines.config.model import EventSource, Format
from pipelines.engine.files import is_slow_to_open_files
from pipelines.engine.frames import union_all
from pipelines.engine.materialize import Materialize
from pipelines.ingest.days import full_days
from pipelines.ingest.duplicates import (
    EVENT,
    decide_duplicates,
    find_repeated,
    find_repeated_hashes,
    narrow_rows,
    recorded_names,
    select_accepted,
    select_near_suspects,
    select_suspects,
    select_with_hashes,
)
from pipelines.ingest.ids import with_canonical_ids, with_message_ids, with_written_ids
from pipelines.ingest.pending import (
    is_given_up,
    is_pending,
    resolve_handles,
    select_pending,
    with_pending_before,
)
from pipelines.ingest.reasons import CONFLICTING_DUPLICATE, LINE_TOO_LONG, with_reasons
from pipelines.ingest.snapshots.contradictions import as_accepted
from pipelines.settings.load import Settings
from pipelines.storage.collect import instant_of
from pipelines.storage.inputs.contract import raise_together
from pipelines.storage.inputs.listing import InputFile, has_many_small_files
from pipelines.storage.inputs.mapped_rows import NOTES, SourceMapping, mapping_of, with_numbered_ids
from pipelines.storage.inputs.payloads import with_payload
from pipelines.storage.inputs.read import mistyped_fields, read_input
from pipelines.storage.inputs.text_copies import TOO_LONG
from pipelines.storage.placed import placed_events
from pipelines.storage.warehouse import Warehouse
from schemas import ACCEPTED, CONTRACTS, EventContract
from schemas.events import ENDPOINT_FACTS, table_of

TEXT = ("json", "csv")


@dataclass(frozen=True)
class InputBatch:
    """The new rows of one input.

    Attributes:
        source: the input's name.
        table: the table of its events; a log has several batches of this kind, one a table.
        rows: rows read.
        duplicates: exact duplicates among them.
        rejected: rows rejected, each counted once.
        events: the accepted events, with the contract's columns.
        reports: (source, event_id, reason, payload) of rejected rows; None if there are none.
        by_day: accepted and repeated events by UTC day.
        newest: the newest moment of each of these days.
        counts: what is counted of mapped rows beside that, by name.
        waiting: `select_pending`, which `with_pending` counts; None for a source without handles.
        pending: events among these that stay pending.
        accepted: how many are accepted, where that is known before they are written.
    """

    source: str
    table: str
    rows: int
    duplicates: int
    rejected: int
    events: DataFrame
    reports: DataFrame | None
    by_day: dict[date, int]
    newest: dict[date, datetime]
    counts: Mapping[str, int] = field(default_factory=dict)
    waiting: DataFrame | None = None
    pending: int = 0
    accepted: int | None = None


def read_new_input(
    warehouse: Warehouse,
    settings: Settings,
    source: str,
    files: Sequence[InputFile],
    batch: int,
    materialize: Materialize,
    before: Sequence[DataFrame] = (),
    known: DataFrame | None = None,
) -> InputBatch:
    """Read the new files of a source.

    Args:
        warehouse: the tables.
        settings: sources and quality.
        source: the source's name.
        files: its new files.
        batch: the number of the batch.
        materialize: computes a frame once.
        before: the accepted events of other sources of the table in this batch.
        known: `known_endpoints`, for a source with handles, whose pending rows are tried again.

    Raises:
        InputError: a file breaks its contract; every difference is listed.
    """
    table = table_of(source)
    given = settings.inputs.by_name()[source]
    assert isinstance(given, EventSource)
    contract, format, mapping = CONTRACTS[table], given.format, mapping_of(source, given)
    max_line_bytes = settings.quality.max_line_bytes
    read = None
    if files:
        read = read_input(
            warehouse.spark, contract, format, files, max_line_bytes=max_line_bytes, mapping=mapping
        )
    if mapping is not None and known is not None:
        read = with_pending_before(read, warehouse, mapping, batch)
        if table == ENDPOINT_FACTS.name:
            read = materialize(read)
        read = resolve_handles(placed_events(read, warehouse.places), known, mapping)
    assert read is not None
    is_slow_to_read = is_slow_to_open_files(warehouse.spark) and has_many_small_files(files)
    is_made = mapping is not None and (not mapping.has_ids or known is not None)
    is_read_once = format in TEXT or is_slow_to_read or is_made
    if mapping is not None and (is_read_once or _lacks_message_ids(read, mapping)):
        read = with_message_ids(read, mapping)
    is_mapped = mapping is not None
    judged = with_reasons(read, contract, first_day=warehouse.first_day, is_mapped=is_mapped)
    rows = placed_events(judged, warehouse.places)
    waiting, notes = None, Counter[str]()
    if is_read_once:
        # Text is parsed once, and ids are made once. Other files are read again faster than their rows
        # are materialized, unless they are many and small.
        rows = materialize(rows)
        if mapping is not None and not mapping.has_ids:
            rows = with_numbered_ids(rows, materialize)
        if known is not None:
            waiting = materialize(select_pending(rows))
            notes = count_notes(rows.where(is_pending()))
            rows = rows.where(~is_pending())
        few_bytes = narrow_rows(rows, contract, is_mapped=is_mapped)
    else:
        few_bytes = materialize(narrow_rows(rows, contract, is_mapped=is_mapped))
    counted = count_by_day(few_bytes, is_mapped=is_mapped)
    if format == "json" and any(row.mistyped for row in counted):
        raise_together([mistyped_fields(warehouse.spark, contract, files, max_line_bytes=max_line_bytes)])
        raise InputError(f"{source}: a file changed while it was read; move files in whole, run again")
    found = judge_rows(
        warehouse, source, contract, rows, few_bytes, counted, batch, materialize, before, format=format
    )
    return replace(found, waiting=waiting, counts=Counter(found.counts) + notes)


def _lacks_message_ids(read: DataFrame, mapping: SourceMapping) -> bool:
    """Whether messages lack ids: to make them, each query would read the columns of which they are made."""
    if "message_id" not in mapping.contract.names:
        return False
    return not mapping.reads("message_id") or not read.where("message_id is null").isEmpty()


def count_by_day(few_bytes: DataFrame, *, is_mapped: bool) -> list[Row]:
    """How many of `narrow_rows` are events, by UTC day, with what is odd about them."""
    # The time of a row that is no event can be outside of the range of Python's dates.
    day = F.when(F.col("is_event"), F.to_date("event_time"))
    totals = few_bytes.groupBy(day.alias("day"), "is_event").agg(
        F.count(F.lit(1)).alias("rows"),
        F.max(F.unix_micros("event_time")).alias("newest"),
        F.bool_or("is_mistyped").alias("mistyped"),
        F.bool_or("is_in_other_spelling").alias("other_spelling"),
        F.bool_or("has_more_than_case").alias("more_than_case"),
        *[F.count_if(F.col("time_note") == note).alias(note) for note in NOTES if is_mapped],
    )
    return totals.collect()


def count_notes(rows: DataFrame) -> Counter[str]:
    """How many rows there are of each of `NOTES` on their times."""
    [found] = rows.agg(*[F.count_if(F.col("time_note") == note).alias(note) for note in NOTES]).collect()
    return Counter({note: found[note] for note in NOTES if found[note]})


def judge_rows(
    warehouse: Warehouse,
    source: str,
    contract: EventContract,
    rows: DataFrame,
    few_bytes: DataFrame,
    counted: Sequence[Row],
    batch: int,
    materialize: Materialize,
    before: Sequence[DataFrame],
    *,
    format: Format,
) -> InputBatch:
    """Say which rows are events, which of them are there twice, and which are rejected.

    Args:
        warehouse: the tables.
        source: the source's name.
        contract: the contract of the rows.
        rows: rows of `with_reasons`.
        few_bytes: their `narrow_rows`, materialized.
        counted: `count_by_day` of these.
        batch: the number of the batch.
        materialize: computes a frame once.
        before: the accepted events of other sources of the table in this batch.
        format: how its files are written.
    """
    table = contract.source
    if any(row.other_spelling for row in counted):
        # Most logs have canonical GUIDs and need no conversion, and rows are read several times.
        by_case = not any(row.more_than_case for row in counted)
        rows = with_canonical_ids(rows, contract, by_case=by_case)
    by_day = {row.day: row.rows for row in counted if row.is_event}
    newest = {row.day: moment for row in counted if row.is_event and (moment := instant_of(row.newest))}
    total = sum(row.rows for row in counted)
    counts = {note: sum(row[note] for row in counted if note in row) for note in NOTES}
    counts = {name: count for name, count in counts.items() if count}
    recorded = warehouse.read_with_left_out(ACCEPTED[table]).where(F.col("batch") < batch)
    if ACCEPTED[table] is ENDPOINT_FACTS:
        recorded = recorded.withColumn("event_type", as_accepted())
    if before:
        recorded = union_all([frame.select(*contract.names) for frame in (recorded, *before)])
    full = full_days(by_day)
    hashes = materialize(
        find_repeated_hashes(few_bytes, recorded, full_days=full, other_days=by_day.keys() - full)
    )
    invalid = sum(row.rows for row in counted if not row.is_event)
    if invalid == 0 and hashes.isEmpty():
        events = rows.select(*recorded_names(rows, contract))
        return InputBatch(source, table, total, 0, 0, events, None, by_day, newest, counts)
    near_rows = materialize(select_near_suspects(rows, few_bytes, hashes))
    few = select_suspects(near_rows, hashes)
    repeats = find_repeated(few.where("reasons is null"), select_with_hashes(recorded, hashes), contract)
    verdicts = materialize(decide_duplicates(few, repeats, contract))
    # Two steps take less memory than a count of distinct pairs.
    by_event = verdicts.groupBy("verdict", *EVENT).agg(F.count(F.lit(1)).alias("rows"))
    judged_rows = by_event.groupBy("verdict").agg(
        F.sum("rows").alias("rows"), F.count(F.lit(1)).alias("events")
    )
    judgement = {row.verdict: row for row in judged_rows.collect()}

    def of(verdict: str, what: str = "rows") -> int:
        return int(judgement[verdict][what]) if verdict in judgement else 0

    rejected = of("invalid") + of("conflict")
    return InputBatch(
        source=source,
        table=table,
        rows=total,
        duplicates=of("duplicate") + of("twin") - of("twin", "events"),
        rejected=rejected,
        events=select_accepted(rows, near_rows, verdicts, contract, materialize),
        reports=_reports(verdicts, source, contract, format) if rejected else None,
        by_day=by_day,
        newest=newest,
        counts=counts,
    )


def with_pending(read: InputBatch, newest: datetime | None) -> InputBatch:
    """Count the waiting rows of a source: pending, or rejected if the log has gone on for long.

    Args:
        read: what was read of the source.
        newest: the newest moment of the log.
    """
    if read.waiting is None:
        return read
    waiting = read.waiting.withColumn("is_given_up", is_given_up(newest))
    by_end = waiting.groupBy("is_given_up").agg(
        F.sum("rows").alias("rows"), F.count(F.lit(1)).alias("events")
    )
    found = {row.is_given_up: (row.rows, row.events) for row in by_end.collect()}
    rows, events = (sum(each[index] for each in found.values()) for index in (0, 1))
    _, rejected = found.get(True, (0, 0))
    reports = read.reports
    if rejected:
        told = waiting.where("is_given_up").select(
            F.lit(read.source).alias("source"), "event_id", "reason", "payload"
        )
        reports = told if reports is None else reports.unionByName(told)
    return replace(
        read,
        rows=read.rows + rows,
        duplicates=read.duplicates + rows - events,
        rejected=read.rejected + rejected,
        reports=reports,
        waiting=waiting.where("not is_given_up"),
        pending=events - rejected,
    )


def _reports(verdicts: DataFrame, source: str, contract: EventContract, format: Format) -> DataFrame:
    """The rejected rows, one per row and reason."""
    reasons = F.when(F.col("verdict") == "conflict", F.lit(CONFLICTING_DUPLICATE)).otherwise(F.col("reasons"))
    reasons = F.when(F.startswith("raw", F.lit(TOO_LONG)), F.lit(LINE_TOO_LONG)).otherwise(reasons)
    invalid = with_written_ids(verdicts, contract).where("verdict in ('invalid', 'conflict')")
    rows = with_payload(invalid, contract, format)
    return rows.select(
        F.lit(source).alias("source"), "event_id", F.explode(F.split(reasons, ",")).alias("reason"), "payload"
    )
