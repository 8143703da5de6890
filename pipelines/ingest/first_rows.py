"""The first rows of a mapped source, as a run would take them."""

import json

from pyspark.sql import DataFrame, SparkSession

from pipelines.config.load import Settings
from pipelines.config.model import EventSource, LogSource
from pipelines.ingest.log_transactions import outcomes
from pipelines.ingest.logs import map_log
from pipelines.ingest.mapped import with_message_ids
from pipelines.ingest.reasons import with_reasons
from pipelines.storage.inputs.delta_log import current_version
from pipelines.storage.inputs.listing import InputFile
from pipelines.storage.inputs.log_rows import LogReading, read_log
from pipelines.storage.inputs.mapped_rows import SourceMapping
from pipelines.storage.inputs.paths import list_files
from pipelines.storage.inputs.read import read_input

SHOWN = 3
"""Rows that are shown."""


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
    rows = with_reasons(with_message_ids(read, mapping), mapping.contract, is_mapped=True)
    names = [column.name for column in mapping.mapped if column.name != "event_id"]
    found = rows.limit(SHOWN).select(*names, "payload", "reasons").collect()
    return [_told({name: row[name] for name in names}, row["payload"], row["reasons"]) for row in found]


def _told(values: dict[str, object], payload: str | None, reasons: str | None) -> str:
    there = {name: value for name, value in values.items() if value is not None}
    said = payload or json.dumps(there, default=str, ensure_ascii=False)
    return f"{said}; rejected: {reasons}" if reasons else said
