"""The first rows of a mapped source, as a run would take them."""

import json

from pyspark.sql import DataFrame, Row, SparkSession, functions as F

from pipelines.config.model import EventSource, LogSource
from pipelines.engine.frames import empty_frame
from pipelines.ingest.ids import with_message_ids
from pipelines.ingest.log_transactions import outcomes
from pipelines.ingest.logs import is_incomplete, map_log
from pipelines.ingest.pending import is_pending, resolve_handles
from pipelines.ingest.reasons import with_reasons
from pipelines.ingest.snapshots.identity import HANDLE
from pipelines.settings.load import Settings
from pipelines.storage.inputs.delta_log import current_version
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.log_rows import LogReading, read_log
from pipelines.storage.inputs.mapped_rows import SourceMapping
from pipelines.storage.inputs.paths import list_files
from pipelines.storage.inputs.read import read_input
from schemas.ledger import ENDPOINTS

SHOWN = 3
"""Rows that are shown."""
TIME = "timestamp"


def read_first_rows(
    spark: SparkSession, mapping: SourceMapping, given: EventSource, settings: Settings
) -> list[str]:
    """The first rows of a source's first file that count, each as JSON without nulls; why one is rejected."""
    file = _first_file(mapping.source, given)
    contract = mapping.contract
    limit = settings.quality.max_line_bytes
    read = read_input(spark, contract, given.format, [file], max_line_bytes=limit, mapping=mapping)
    return _shown(read, mapping)


def read_first_log_rows(spark: SparkSession, log: LogReading, settings: Settings) -> list[str]:
    """The first rows of a log's first file that become events; why one does not, and what that file lacks."""
    file = _first_file(log.source, log.given)
    raw = read_log(spark, log, [file], max_line_bytes=settings.quality.max_line_bytes)
    found: list[str] = []
    for table in log.tables:
        if len(found) < SHOWN:
            rows = map_log(raw, log, table, has_broken=not found)
            found += _shown(rows.orderBy("event_time", "event_id"), log.whole(table))
    shown = [f"row {number}: {row}" for number, row in enumerate(found[:SHOWN], start=1)]
    if log.mapping.transactions is not None and outcomes(raw, log).isEmpty():
        shown.append("no row says how a transaction ended, so rows of all transactions count")
    return shown


def _first_file(source: str, given: EventSource | LogSource) -> InputFile:
    if given.format == "delta":
        return InputFile(source, given.path, version=current_version(given.path))
    return InputFile(source, list_files(given.path)[0].path)


def _shown(read: DataFrame, mapping: SourceMapping) -> list[str]:
    if mapping.has_handles:
        nothing = empty_frame(read.sparkSession, ENDPOINTS.struct).select(*HANDLE)
        read = resolve_handles(read, nothing, mapping)
    rows = with_reasons(with_message_ids(read, mapping), mapping.contract, is_mapped=True)
    is_waiting = is_pending() if mapping.has_handles else F.lit(False)
    lacks = is_incomplete() if mapping.table is not None else F.lit(False)
    names = [column.name for column in mapping.mapped if column.name != "event_id"]
    # The year of a time may be too large for Python.
    times = {
        column.name: F.col(column.name).cast("string") for column in mapping.mapped if column.type == TIME
    }
    found = rows.limit(SHOWN).select(
        *[times.get(name, F.col(name)).alias(name) for name in names],
        *("payload", "reasons", is_waiting.alias("is_waiting"), lacks.alias("is_incomplete")),
    )
    return [_told({name: row[name] for name in names}, row) for row in found.collect()]


def _told(values: dict[str, object], row: Row) -> str:
    there = {name: value for name, value in values.items() if value is not None}
    said = row["payload"] or json.dumps(there, ensure_ascii=False)
    if row["is_waiting"]:
        return f"{said}; the endpoint of its handle says the rest"
    if row["is_incomplete"]:
        lacking = row["reasons"].replace("missing_", "").replace(",", ", ")
        return f"{said}; incomplete unless another input shows {lacking}"
    return f"{said}; rejected: {row['reasons']}" if row["reasons"] else said
