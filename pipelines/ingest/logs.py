"""Read the new files of a log that a server wrote: events of several tables."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.errors import ConfigError
from pipelines.config.model import LogSource
from pipelines.engine.frames import union_all
from pipelines.engine.materialize import Materialize
from pipelines.ingest.duplicates import narrow_rows
from pipelines.ingest.ids import with_message_ids
from pipelines.ingest.log_numbers import count_steps, number_steps, shown_sequences, with_numbers
from pipelines.ingest.log_transactions import (
    OUTCOMES,
    ROLLED_BACK,
    SEQUENCE,
    TRANSACTION,
    outcomes,
    with_outcomes,
)
from pipelines.ingest.pending import (
    is_pending,
    known_endpoints,
    pending_sources,
    resolve_handles,
    select_pending,
    with_pending_before,
)
from pipelines.ingest.read_input import InputBatch, count_by_day, count_notes, judge_rows
from pipelines.ingest.reasons import with_reasons
from pipelines.ingest.sends import judge_sends
from pipelines.ingest.snapshots.message_endpoints import made_of_messages
from pipelines.settings.load import Settings
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.log_rows import LogReading, read_log, rows_without_offset
from pipelines.storage.inputs.mapped_rows import (
    SourceMapping,
    map_rows,
    with_event_ids,
    with_numbered_ids,
)
from pipelines.storage.placed import placed_events
from pipelines.storage.warehouse import Warehouse
from schemas.events import CREATIONS, ENDPOINT_FACTS, MESSAGES, SENT_MESSAGES
from schemas.ids import canonical_id
from schemas.outputs import SENDS

INCOMPLETE, NUMBERED = "incomplete", "numbered"
"""What the names of counts begin with, of rows that lack what an event needs, and of messages that were
counted; their class follows."""
OTHERS = "other_events"
"""The count of rows of other classes or events."""
LACKING = r"^missing_[a-z_]+(,missing_[a-z_]+)*$"


def logs_to_read(warehouse: Warehouse, settings: Settings, with_files: Collection[str]) -> list[LogReading]:
    """The logs that have new files or pending rows."""
    logs = {name: each for name, each in settings.inputs.by_name().items() if isinstance(each, LogSource)}
    waiting = pending_sources(warehouse) if logs else set()
    return [
        LogReading(name, each, settings.log_names)
        for name, each in logs.items()
        if name in with_files or name in waiting
    ]


def read_new_log(
    warehouse: Warehouse,
    settings: Settings,
    log: LogReading,
    files: Sequence[InputFile],
    batch: int,
    materialize: Materialize,
    before: Mapping[str, Sequence[DataFrame]],
    shown: Sequence[DataFrame],
    has_ends: bool,
    of_snapshots: Mapping[str, DataFrame],
) -> list[InputBatch]:
    """Read the new files of a log.

    Args:
        warehouse: the tables.
        settings: sources and quality.
        log: how they are read.
        files: its new files; none if only its pending rows are tried again.
        batch: the number of the batch.
        materialize: computes a frame once.
        before: by table, the accepted events of other sources in this batch.
        shown: the endpoint events of this batch, of files and of snapshots.
        has_ends: whether batches before read rows that say how transactions ended.
        of_snapshots: by table, the events of the snapshots of this batch.

    Returns:
        A batch for each table that the log may have rows of.

    Raises:
        ConfigError: captures do not show the offset of its times.
        InputError: a file breaks its contract.
    """
    raw, counts = None, Counter[str]()
    if files:
        limit = settings.quality.max_line_bytes
        raw = materialize(read_log(warehouse.spark, log, files, max_line_bytes=limit))
        if unknown := rows_without_offset(raw, log):
            raise ConfigError(*unknown)
        counts = count_classes(raw, log)
    ends = None
    if log.mapping.transactions is not None and raw is not None:
        ends = materialize(outcomes(raw, log))
        counts += Counter({OUTCOMES: ends.count()})
    # Without a row that says how one ended, all transactions count.
    decides = has_ends or counts[OUTCOMES] > 0
    known = known_endpoints(warehouse, shown)
    numbered = None
    if log.mapping.sequences is not None and raw is not None:
        steps = materialize(count_steps(raw, log, ends, warehouse))
        sequences = shown_sequences(warehouse, of_snapshots.get(ENDPOINT_FACTS.name), steps)
        if sequences is not None and not (said := materialize(sequences)).isEmpty():
            numbered = materialize(number_steps(steps, said))
    found = []
    for number, table in enumerate(log.tables):
        whole = log.whole(table)
        rows = None if raw is None else map_log(raw, log, table, has_broken=number == 0)
        if table == SENDS.name:
            if rows is not None:
                found.append(_sends(warehouse, log, rows, batch, materialize, before))
            continue
        rows = with_pending_before(rows, warehouse, whole, batch)
        rows = placed_events(materialize(rows), warehouse.places)
        if whole.has_handles:
            rows = resolve_handles(rows, known, whole)
        else:
            rows = rows.withColumn("pending_reason", F.lit(None).cast("string"))
        if table == ENDPOINT_FACTS.name:
            rows = with_shown_endpoints(rows, warehouse, shown)
        if table == MESSAGES.name and numbered is not None:
            of_captures, logged = of_snapshots.get(table), before.get(table, ())
            rows = with_numbers(rows, numbered, known, of_captures, logged, warehouse, materialize)
        rows = with_message_ids(rows, whole)
        rows = with_reasons(rows, whole.contract, first_day=warehouse.first_day, is_mapped=True)
        rows = with_numbered_ids(materialize(placed_events(rows, warehouse.places)), materialize)
        told, rows = _without_incomplete(rows)
        if table == MESSAGES.name and numbered is not None:
            told += count_by_class(rows.where(f"{SEQUENCE} is not null and reasons is null"), NUMBERED)
        if decides and TRANSACTION in [column.name for column in whole.kept]:
            rows = materialize(with_outcomes(rows, ends, whole))
            told += Counter({ROLLED_BACK: rows.where("is_rolled_back").count()})
            rows = rows.where("not is_rolled_back")
        waiting = materialize(select_pending(rows))
        told += count_notes(rows.where(is_pending()))
        rows = rows.where(~is_pending())
        few_bytes = materialize(narrow_rows(rows, whole.contract, is_mapped=True))
        judged = judge_rows(
            warehouse,
            log.source,
            whole.contract,
            rows,
            few_bytes,
            count_by_day(few_bytes, is_mapped=True),
            batch,
            materialize,
            before.get(table, ()),
            format=log.given.format,
        )
        found.append(replace(judged, waiting=waiting, counts=Counter(judged.counts) + told))
    found[0] = replace(found[0], counts=Counter(found[0].counts) + counts)
    return found


def _sends(
    warehouse: Warehouse,
    log: LogReading,
    rows: DataFrame,
    batch: int,
    materialize: Materialize,
    before: Mapping[str, Sequence[DataFrame]],
) -> InputBatch:
    reasoned = with_reasons(rows, SENT_MESSAGES, first_day=warehouse.first_day, is_mapped=True)
    told, rows = _without_incomplete(materialize(placed_events(reasoned, warehouse.places)))
    told += count_notes(rows)
    judged = judge_sends(
        warehouse,
        log.source,
        rows,
        batch,
        materialize,
        before.get(SENDS.name, ()),
        format=log.given.format,
    )
    return replace(judged, counts=told)


def with_shown_endpoints(rows: DataFrame, warehouse: Warehouse, shown: Sequence[DataFrame]) -> DataFrame:
    """Give creations that lack names those of the endpoint, if another input or a capture shows it.

    Args:
        rows: mapped rows of endpoint events.
        warehouse: the tables.
        shown: endpoint events of this batch.
    """
    of_endpoint = ["conversation_id", "is_initiator"]
    frames = list(shown)
    if warehouse.exists(ENDPOINT_FACTS):
        frames.append(warehouse.read(ENDPOINT_FACTS).where("closed_on is null"))
    if not frames:
        return rows
    names = ("conversation_group_id", "contract", "local_service", "remote_service")
    is_creation = F.col("event_type").isin(*CREATIONS)
    creations = union_all(
        [each.where(is_creation & ~made_of_messages()).select(*of_endpoint, *names) for each in frames]
    )
    lacking = rows.where(is_creation).select(
        canonical_id(F.col("conversation_id")).alias("conversation_id"), "is_initiator"
    )
    known = (
        creations.join(lacking.distinct(), of_endpoint, "left_semi")
        .groupBy(*of_endpoint)
        .agg(*[F.min(name).alias(f"shown_{name}") for name in names])
        .withColumnsRenamed({"conversation_id": "shown_id", "is_initiator": "shown_side"})
    )
    is_same = (
        is_creation
        & (F.col("shown_id") == canonical_id(F.col("conversation_id")))
        & (F.col("shown_side") == F.col("is_initiator"))
    )
    joined = rows.join(known, is_same, "left")
    return joined.withColumns({name: F.coalesce(name, f"shown_{name}") for name in names}).select(
        *rows.columns
    )


def map_log(raw: DataFrame, log: LogReading, table: str, *, has_broken: bool) -> DataFrame:
    """The rows of a log that are of a table, mapped.

    Args:
        raw: `read_log`.
        log: how it was read.
        table: the table.
        has_broken: whether rows that can't be read are among them: one table has them all.
    """
    whole = log.whole(table)
    names = [column.name for column in whole.mapped]
    frames = []
    for number, part in enumerate(log.parts(table)):
        rows = raw if has_broken and number == 0 else raw.where(~F.col("broken"))
        frames.append(_as_whole(map_rows(rows, part), part, whole))
    others = ("broken", "unreadable", "mistyped", "raw", "time_note", "payload", "file", "class")
    return with_event_ids(union_all([each.select(*names, *others) for each in frames]), whole)


def _as_whole(rows: DataFrame, part: SourceMapping, whole: SourceMapping) -> DataFrame:
    """The rows of a part with all columns of its table."""
    there = {column.name for column in part.mapped}
    lacking = {
        column.name: F.lit(None).cast(column.type) for column in whole.mapped if column.name not in there
    }
    return rows.withColumns(lacking) if lacking else rows


def _without_incomplete(rows: DataFrame) -> tuple[Counter[str], DataFrame]:
    """How many rows of each class lack what an event needs, and the others."""
    return count_by_class(rows.where(is_incomplete()), INCOMPLETE), rows.where(~is_incomplete())


def is_incomplete() -> Column:
    """Whether a row of a log with `reasons` lacks names, a number or a type alone."""
    lacks = F.col("reasons").rlike(LACKING) & ~F.contains("reasons", F.lit("missing_event_time"))
    return F.coalesce(lacks, F.lit(False)) & F.col("class").isNotNull()


def count_by_class(rows: DataFrame, name: str) -> Counter[str]:
    """How many rows there are of each class, by the name of the count."""
    by_class = rows.groupBy("class").agg(F.count(F.lit(1)).alias("rows")).collect()
    return Counter({f"{name}_{row['class']}": row["rows"] for row in by_class if row["class"]})


def count_classes(raw: DataFrame, log: LogReading) -> Counter[str]:
    """How many rows there are of those that are counted alone, and of those that no part knows."""
    whole, named = raw.where(~F.col("broken")), log.mapping.counted
    is_known = reduce(or_, map(log.holds, log.mapping.known))
    counts = [F.count_if(log.holds(each)).alias(name) for name, each in named.items()]
    [found] = whole.agg(*counts, F.count_if(~is_known).alias(OTHERS)).collect()
    return Counter({name: found[name] for name in (*named, OTHERS) if found[name]})
