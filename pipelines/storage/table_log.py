"""The log of a Delta table: its columns, and the first commit of a new one, as `schemas` declares it."""

import json
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession, types as T
from pyspark.sql.pandas.types import to_arrow_schema

from pipelines.engine.files import engine_path, literal_paths, local_folder_path
from pipelines.engine.frames import empty_frame
from pipelines.engine.housekeeping import COMPRESSED, sql_text
from pipelines.engine.materialize import is_on_this_machine
from pipelines.engine.small_jobs import is_set_for_small_jobs
from pipelines.engine.table_writes import identifier_of_new
from pipelines.storage.inputs.paths import local_path
from pipelines.storage.versions import stored_types
from schemas.table import Column, Table

LOG = "_delta_log"
FIRST = "00000000000000000000"
"""The name of the first commit, without its ending."""
WRITER_VERSION, WRITER_VERSION_WITH_CHECKS = 2, 3
"""Of Delta's protocol; NOT NULLs need the one, CHECKs the other."""
PLAIN_READER_VERSION = 1
"""The greatest of Delta's protocol of tables whose Parquet files have all rows, under the columns' names."""


WriteMode = Literal["append", "overwrite"]
KnownRows = Sequence[Sequence[Any]]
"""A few rows that the driver knows: the values in the order of the table's columns; moments are aware."""


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


def read_small_table(spark: SparkSession, path: str, struct: T.StructType) -> DataFrame | None:
    """The rows of the newest version, by its files; None if the engine has to find them.

    Apache Spark runs jobs of its own to find the files of a Delta table that a query reads. With few rows,
    that takes longer than reading them, and delta-rs reads the log of a small table at once.

    Args:
        spark: the session.
        path: the table, which exists.
        struct: the columns that it has.
    """
    folder = folder_on_this_machine(spark, path) if is_set_for_small_jobs(spark) else None
    if folder is None:
        return None
    try:
        table = DeltaTable(folder)
        if table.protocol().min_reader_version > PLAIN_READER_VERSION:
            return None
        # Relative, unless the table is a clone of another one. The root of `file_uris` has escapes of URLs.
        files = [unquote(path) for path in pa.table(table.get_add_actions())["path"].to_pylist()]
    except (DeltaError, OSError):
        return None
    if not files:
        return empty_frame(spark, struct)
    if any("://" in file for file in files):
        return None
    reader = spark.read.schema(struct).option("basePath", local_folder_path(spark, folder))
    paths = [local_folder_path(spark, folder / file) for file in files]
    return reader.parquet(*literal_paths(spark, paths))


def write_known_rows(
    spark: SparkSession,
    table: Table,
    path: str,
    rows: KnownRows,
    *,
    mode: WriteMode,
    where: str | None,
) -> bool:
    """Write a few rows to a table on this machine, in one commit; else do nothing, and say so.

    An engine plans a query for them, which takes it several times as long as delta-rs takes for all.

    Args:
        spark: the session.
        table: its declaration.
        path: the table, which exists.
        rows: the rows.
        mode: whether they are added, or replace others.
        where: the rows that are replaced; all if null.
    """
    folder = folder_on_this_machine(spark, path)
    if folder is None:
        return False
    named = [dict(zip(table.names, row, strict=True)) for row in rows]
    arrow = pa.Table.from_pylist(named, to_arrow_schema(table.struct, timezone="UTC"))
    if mode == "append":
        write_deltalake(folder, arrow, mode=mode, writer_properties=COMPRESSED)
    else:
        write_deltalake(folder, arrow, mode=mode, predicate=where, writer_properties=COMPRESSED)
    return True


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
