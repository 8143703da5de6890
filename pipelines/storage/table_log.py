"""The log of a Delta table: its columns, and the first commit of a new one, as `schemas` declares it."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import uuid4

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession, types as T

from pipelines.engine.files import engine_path
from pipelines.engine.housekeeping import sql_text
from pipelines.engine.materialize import is_on_this_machine
from pipelines.engine.table_writes import identifier_of_new
from pipelines.storage.inputs.paths import local_path
from pipelines.storage.versions import stored_types
from schemas.table import Column, Table

LOG = "_delta_log"
FIRST = "00000000000000000000"
"""The name of the first commit, without its ending."""
WRITER_VERSION, WRITER_VERSION_WITH_CHECKS = 2, 3
"""Of Delta's protocol; NOT NULLs need the one, CHECKs the other."""


def folder_on_this_machine(spark: SparkSession, path: str) -> Path | None:
    """The folder of a table that engine and driver find on the same disk; None if it lies elsewhere."""
    local = local_path(path) if is_on_this_machine(spark) else None
    return None if local is None else Path(local)


def types_on_this_machine(spark: SparkSession, path: str) -> dict[str, str] | None:
    """The types of a table's columns, by name, none of a missing table; None if the engine has to say it.

    delta-rs opens a log on the local disk many times as fast as an engine.
    """
    folder = folder_on_this_machine(spark, path)
    if folder is None:
        return None
    if not (folder / LOG).is_dir():
        return {}
    try:
        return stored_types(DeltaTable(folder))
    except (DeltaError, OSError):
        return None


def create_table(spark: SparkSession, table: Table, path: str) -> None:
    """Create the table, if there is none.

    On this machine the commit is written as a file: it saves the job that Apache Spark runs for CREATE TABLE.
    Elsewhere the engine knows how to write one that no other writer overwrites.
    """
    folder = folder_on_this_machine(spark, path)
    if folder is None:
        spark.sql(_create_statement(spark, table, engine_path(path)))
    else:
        _write_first_commit(folder / LOG, table)


def tells_comments(table: Table) -> bool:
    """Whether the stored columns have comments."""
    # A batch unions columns of tables with other columns, which fails on an engine if one has a comment.
    return "fold" not in table.partition_by


def stored_field(table: Table, column: Column) -> T.StructField:
    """The column as the table stores it."""
    field = column.field
    return field if tells_comments(table) else T.StructField(field.name, field.dataType, field.nullable)


def _write_first_commit(log: Path, table: Table) -> None:
    log.mkdir(parents=True, exist_ok=True)
    now = time.time_ns() // 1_000_000
    protocol = {
        "minReaderVersion": 1,
        "minWriterVersion": WRITER_VERSION_WITH_CHECKS if table.checks else WRITER_VERSION,
    }
    described = {
        "id": str(uuid4()),
        "description": table.comment,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": T.StructType([stored_field(table, column) for column in table.columns]).json(),
        "partitionColumns": list(table.partition_by),
        "configuration": _properties(table),
        "createdTime": now,
    }
    actions: list[Mapping[str, object]] = [
        {"commitInfo": {"timestamp": now, "operation": "CREATE TABLE", "operationParameters": {}}},
        {"protocol": protocol},
        {"metaData": described},
    ]
    # Of a commit with a checksum Apache Spark knows the state, for which it runs two jobs else.
    checksum = {
        **{"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1},
        **{"setTransactions": [], "domainMetadata": [], "metadata": described, "protocol": protocol},
        "allFiles": [],
    }
    _write(log / f"{FIRST}.crc", [checksum])
    _write(log / f"{FIRST}.json", actions)


def _write(path: Path, lines: Sequence[Mapping[str, object]]) -> None:
    """Write a file under a name that readers of the log pass over, and name it when it is whole."""
    partial = path.with_name(f".{uuid4()}.tmp")
    partial.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    os.replace(partial, path)


def _create_statement(spark: SparkSession, table: Table, path: str) -> str:
    """The table as SQL: columns with comments and NOT NULLs, partitions, CHECKs."""
    named = ", ".join(f"{sql_text(name)} = {sql_text(value)}" for name, value in _properties(table).items())
    columns = [column.ddl(comment=tells_comments(table)) for column in table.columns]
    return " ".join(
        [
            f"CREATE TABLE IF NOT EXISTS {identifier_of_new(spark, path)}",
            f"({', '.join(columns)})",
            f"USING delta LOCATION {sql_text(path)}",
            f"PARTITIONED BY ({', '.join(table.partition_by)})" if table.partition_by else "",
            f"COMMENT {sql_text(table.comment)}",
            f"TBLPROPERTIES ({named})" if named else "",
        ]
    )


def _properties(table: Table) -> dict[str, str]:
    properties = {f"delta.constraints.{name}": check for name, check in table.checks.items()}
    if table.statistics:
        properties["delta.dataSkippingStatsColumns"] = ",".join(table.statistics)
    elif table.statistics is not None:
        properties["delta.dataSkippingNumIndexedCols"] = "0"
    return properties
