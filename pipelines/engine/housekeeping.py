"""Housekeeping of one Delta table: by delta-rs in this process, or by Apache Spark.

delta-rs needs no engine and no Java, but reaches local disks and object stores only. Apache Spark also
reaches HDFS, and stores whose credentials only its own settings have.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

import pyarrow as pa
from deltalake import DeltaTable, Field, QueryBuilder, WriterProperties, write_deltalake
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as F, types as T

from pipelines.config.paths import URI, local_folder
from pipelines.engine.errors import is_missing_table
from pipelines.engine.files import delta_identifier
from pipelines.engine.materialize import is_on_this_machine
from pipelines.engine.session import is_embedded

FILE_SIZE = 1 << 30
"""Bytes of the largest file that a compaction writes; it is the default of Delta on Spark as well."""
COMPRESSED = WriterProperties(compression="ZSTD", compression_level=1)
DATA_FILES = (".parquet", ".bin")
"""Endings of files of rows and of deletion vectors: Spark's checksums are not worth a commit."""
CHECKED_RETENTION = "spark.databricks.delta.retentionDurationCheck.enabled"
"""Whether Delta refuses to delete files that are younger than a week."""


def sql_text(value: str) -> str:
    """A text as SQL, whatever stands in it."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


Partition = tuple[Any, ...]


class HousekeptTable(Protocol):
    """A Delta table that exists. Each method that changes it makes one commit; a vacuum may make two."""

    def version(self) -> int:
        """The newest version."""

    def rows(self, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """All rows of a small table, or some of their columns; timestamps are in UTC."""

    def files(self, partition_by: Sequence[str]) -> dict[Partition, list[int]]:
        """The bytes of each file of the newest version, by partition."""

    def count(self, where: str) -> int:
        """How many rows match."""

    def get_property(self, name: str) -> str | None:
        """The value of a property of the table; None if it has none."""

    def set_property(self, name: str, value: str) -> None:
        """Set a property of the table."""

    def delete(self, where: str) -> None:
        """Delete rows."""

    def set_column(self, column: str, value: int, *, where: str, partition_by: Sequence[str]) -> None:
        """Give the rows that match another value of a BIGINT column; each partition becomes one file."""

    def add_columns(self, columns: Sequence[T.StructField]) -> None:
        """Add columns, which are null in the rows that are there."""

    def compact(self) -> None:
        """Write small files of a partition as one; the rows stay the same."""

    def unused(self, keep_hours: int) -> int:
        """How many files no kept version uses."""

    def vacuum(self, keep_hours: int) -> None:
        """Delete these files."""


def housekept_table(path: str, spark: SparkSession | None) -> HousekeptTable | None:
    """The table at a path; None if there is none.

    Args:
        path: the folder of the table, or its URI.
        spark: the session that does the work. Without one, or if it works on this machine alone, delta-rs
            does it: many times as fast on small tables.
    """
    folder = local_folder(path)
    if spark is None or is_embedded(spark) or (is_on_this_machine(spark) and URI.match(folder) is None):
        return _DeltaRsTable(DeltaTable(folder)) if DeltaTable.is_deltatable(folder) else None
    try:
        # Nothing is looked up until the schema is wanted.
        _ = spark.read.format("delta").load(path).schema
    except AnalysisException as error:
        if is_missing_table(error):
            return None
        raise
    return _SparkTable(spark, path)


class _DeltaRsTable:
    def __init__(self, table: DeltaTable) -> None:
        self._table = table

    def version(self) -> int:
        return self._table.version()

    def rows(self, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        found = self._table.to_pyarrow_table(columns=None if columns is None else list(columns))
        return cast(list[dict[str, Any]], found.to_pylist())

    def files(self, partition_by: Sequence[str]) -> dict[Partition, list[int]]:
        sizes: dict[Partition, list[int]] = {}
        for file in pa.table(self._table.get_add_actions(flatten=True)).to_pylist():
            partition = tuple(file[f"partition.{name}"] for name in partition_by)
            sizes.setdefault(partition, []).append(file["size_bytes"])
        return sizes

    def count(self, where: str) -> int:
        query = f"SELECT count(*) AS found FROM rows WHERE {where}"
        found = QueryBuilder().register("rows", self._table).execute(query)
        return int(pa.table(found)["found"][0].as_py())

    def get_property(self, name: str) -> str | None:
        return self._table.metadata().configuration.get(name)

    def set_property(self, name: str, value: str) -> None:
        self._table.alter.set_table_properties({name: value}, raise_if_not_exists=False)

    def delete(self, where: str) -> None:
        self._table.delete(where)

    def set_column(self, column: str, value: int, *, where: str, partition_by: Sequence[str]) -> None:
        names = [field.name for field in self._table.schema().fields]
        columns = ", ".join(
            f"CAST({value} AS BIGINT) AS {name}" if name == column else f'"{name}"' for name in names
        )
        rows = (
            QueryBuilder().register("rows", self._table).execute(f"SELECT {columns} FROM rows WHERE {where}")
        )
        write_deltalake(
            self._table,
            rows,
            mode="overwrite",
            predicate=where,
            target_file_size=FILE_SIZE,
            writer_properties=COMPRESSED,
        )

    def add_columns(self, columns: Sequence[T.StructField]) -> None:
        # Spark and Delta write a column in the same form.
        self._table.alter.add_columns([Field.from_json(column.json()) for column in columns])

    def compact(self) -> None:
        self._table.optimize.compact(target_size=FILE_SIZE, writer_properties=COMPRESSED)

    def unused(self, keep_hours: int) -> int:
        # A vacuum names those too that an earlier one has deleted.
        named = {path for path in self._vacuum(keep_hours, dry_run=True) if path.endswith(DATA_FILES)}
        if not named:
            return 0
        folder = fs.PyFileSystem(DeltaStorageHandler.from_table(self._table._table))
        there = {file.path for file in folder.get_file_info(fs.FileSelector("", recursive=True))}
        return len(named & there)

    def vacuum(self, keep_hours: int) -> None:
        self._vacuum(keep_hours, dry_run=False)

    def _vacuum(self, keep_hours: int, *, dry_run: bool) -> list[str]:
        # full: what the log does not name goes as well, files of writes that were broken off.
        return self._table.vacuum(keep_hours, dry_run=dry_run, enforce_retention_duration=False, full=True)


class _SparkTable:
    """A table by SQL."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark, self._path = spark, path
        self._name = delta_identifier(path)

    def version(self) -> int:
        history = self._spark.sql(f"DESCRIBE HISTORY {self._name} LIMIT 1")
        [newest] = history.select("version").collect()
        return int(newest.version)

    def rows(self, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        frame = self._frame() if columns is None else self._frame().select(*columns)
        return cast(list[dict[str, Any]], frame.toArrow().to_pylist())

    def files(self, partition_by: Sequence[str]) -> dict[Partition, list[int]]:
        file = F.col("_metadata.file_path").alias("file"), F.col("_metadata.file_size").alias("size")
        sizes: dict[Partition, list[int]] = {}
        for row in self._frame().select(*partition_by, *file).distinct().collect():
            sizes.setdefault(tuple(row[name] for name in partition_by), []).append(row.size)
        return sizes

    def count(self, where: str) -> int:
        return self._frame().where(where).count()

    def get_property(self, name: str) -> str | None:
        [detail] = self._spark.sql(f"DESCRIBE DETAIL {self._name}").select("properties").collect()
        value: str | None = detail.properties.get(name)
        return value

    def set_property(self, name: str, value: str) -> None:
        self._spark.sql(
            f"ALTER TABLE {self._name} SET TBLPROPERTIES ({sql_text(name)} = {sql_text(value)})"
        ).collect()

    def delete(self, where: str) -> None:
        self._spark.sql(f"DELETE FROM {self._name} WHERE {where}").collect()

    def set_column(self, column: str, value: int, *, where: str, partition_by: Sequence[str]) -> None:
        rows = self._frame().where(where).withColumn(column, F.lit(value).cast("bigint"))
        writer = rows.repartition(*partition_by).write.format("delta").mode("overwrite")
        writer.option("replaceWhere", where).save(self._path)

    def add_columns(self, columns: Sequence[T.StructField]) -> None:
        added = ", ".join(
            f"`{column.name}` {column.dataType.simpleString()}"
            + (f" COMMENT {sql_text(column.metadata['comment'])}" if column.metadata else "")
            for column in columns
        )
        self._spark.sql(f"ALTER TABLE {self._name} ADD COLUMNS ({added})")

    def compact(self) -> None:
        self._spark.sql(f"OPTIMIZE {self._name}").collect()

    def unused(self, keep_hours: int) -> int:
        with self._any_retention():
            found = self._spark.sql(f"VACUUM {self._name} RETAIN {keep_hours} HOURS DRY RUN").collect()
        return sum(row.path.endswith(DATA_FILES) for row in found)

    def vacuum(self, keep_hours: int) -> None:
        with self._any_retention():
            self._spark.sql(f"VACUUM {self._name} RETAIN {keep_hours} HOURS").collect()

    def _frame(self) -> DataFrame:
        return self._spark.read.format("delta").load(self._path)

    @contextmanager
    def _any_retention(self) -> Iterator[None]:
        before = self._spark.conf.get(CHECKED_RETENTION, "true") or "true"
        self._spark.conf.set(CHECKED_RETENTION, "false")
        try:
            yield
        finally:
            self._spark.conf.set(CHECKED_RETENTION, before)
