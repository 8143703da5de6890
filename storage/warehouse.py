"""Delta tables under a warehouse folder, each as `schemas` declares it."""

import re
from collections import defaultdict
from datetime import date, datetime
from functools import reduce

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, functions as F, types as T
from pyspark.sql.utils import is_remote

from pipelines.errors import ConfigError
from pipelines.settings.model import SparkSchema
from schemas.table import Table
from storage.small_frame import empty_frame
from storage.spark_schema import folder_of, register

CLOSED_DAY = re.compile(r"closed_on=(?P<day>\d{4}-\d\d-\d\d)/.*")
NOT_WRITTEN = ("PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND")


class Warehouse:
    """Opens, creates and writes the tables under one folder.

    A table that was never written reads as empty; the first write creates it with its comments,
    NOT NULLs and CHECKs. Every write is one atomic commit.

    The folder may be that of a schema. Its tables then have a name in Spark's catalog as well, from
    their first write on; the rows are found by path all the same.
    """

    def __init__(self, spark: SparkSession, place: str | SparkSchema) -> None:
        """Name the folder, or the schema whose location it is; no table is read or written yet.

        Raises:
            ConfigError: the session's catalog has no such schema.
        """
        self._spark = spark
        self._schema = None if isinstance(place, str) else place
        self.root = (place if isinstance(place, str) else folder_of(spark, place)).rstrip("/")

    @property
    def checkpoints(self) -> str:
        """The folder in which the reading of the inputs keeps its place."""
        return f"{self.root}/_checkpoints"

    def path(self, table: Table) -> str:
        """The table's folder."""
        return f"{self.root}/{table.name}"

    def exists(self, table: Table) -> bool:
        """Whether the table was ever written."""
        if not is_remote():
            return DeltaTable.isDeltaTable(self._spark, self.path(table))
        # Spark Connect can't ask. It looks nothing up until the schema is wanted.
        try:
            return bool(self._load(table).schema.names)
        except AnalysisException as error:
            if error.getCondition() in NOT_WRITTEN:
                return False
            raise

    def read(self, table: Table) -> DataFrame:
        """All rows of the table; none if it was never written."""
        return self._load(table) if self.exists(table) else empty_frame(self._spark, table.struct)

    def read_pinned(self, table: Table) -> DataFrame:
        """All rows as they are now, whatever is written later.

        For a frame that is kept in memory while its own table is written: after the write Spark throws it
        away and computes it anew, from the new rows, unless what it reads is a certain version.
        """
        if not self.exists(table):
            return empty_frame(self._spark, table.struct)
        # In Python only the history tells a version, for the price of a Spark job.
        jvm = self._spark._jvm
        assert jvm is not None
        log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(self._spark._jsparkSession, self.path(table))
        version = log.unsafeVolatileSnapshot().version()
        return self._spark.read.format("delta").option("versionAsOf", version).load(self.path(table))

    def files_by_day(self, table: Table) -> dict[date, list[str]]:
        """The data files of each closed day, in order. Files never change: the same files, the same rows."""
        files = defaultdict[date, list[str]](list)
        for file in sorted(self.read(table).inputFiles()):
            if found := CLOSED_DAY.search(file):
                files[date.fromisoformat(found["day"])].append(found[0])
        return files

    def replace(self, table: Table, rows: DataFrame, *, where: str | None = None) -> None:
        """Replace the rows that match `where` (all rows if null) by these, atomically.

        Delta refuses rows that do not match `where` themselves, and a frame without rows clears it.
        """
        self._prepare(table)
        writer = self._laid_out(table, rows).write.format("delta").mode("overwrite")
        if where is not None:
            writer = writer.option("replaceWhere", where)
        writer.save(self.path(table))

    def replace_as_of(self, table: Table, rows: DataFrame, as_of: datetime) -> None:
        """Replace the rows of one as_of by these, which come without that column; other rows stay."""
        self.replace(
            table, rows.withColumn("as_of", F.lit(as_of)), where=f"as_of = TIMESTAMP'{as_of.isoformat()}'"
        )

    def insert_new(self, table: Table, rows: DataFrame) -> None:
        """Insert the rows whose key is not there yet, in one commit; nulls in a key are equal.

        Args:
            table: the table. Nothing else may insert into it meanwhile.
            rows: unique by the table's key.
        """
        old, new = self.read(table).alias("old"), rows.alias("new")
        same_key = reduce(
            Column.__and__,
            [F.col(f"new.{name}").eqNullSafe(F.col(f"old.{name}")) for name in table.key],
        )
        self._prepare(table)
        missing = new.join(old, same_key, "left_anti").select("new.*")
        self._laid_out(table, missing).write.format("delta").mode("append").save(self.path(table))

    def _load(self, table: Table) -> DataFrame:
        return self._spark.read.format("delta").load(self.path(table))

    def _prepare(self, table: Table) -> None:
        """Create the table if it was never written, and see that the schema knows it."""
        if is_remote():
            raise ConfigError(
                "a Spark Connect session can only read the tables; run jobs with spark-submit.sh"
            )
        if not self.exists(table):
            self._create(table)
        if self._schema is not None:
            register(self._spark, self._schema, table.name, self.path(table))

    def _create(self, table: Table) -> None:
        builder = (
            DeltaTable.createIfNotExists(self._spark)
            .location(self.path(table))
            .comment(table.comment)
            .addColumns(table.struct)
        )
        if table.partition_by:
            builder = builder.partitionedBy(*table.partition_by)
        for name, check in table.checks.items():
            builder = builder.property(f"delta.constraints.{name}", check)
        if table.statistics:
            builder = builder.property("delta.dataSkippingStatsColumns", ",".join(table.statistics))
        elif table.statistics is not None:
            builder = builder.property("delta.dataSkippingNumIndexedCols", "0")
        builder.execute()

    def _laid_out(self, table: Table, rows: DataFrame) -> DataFrame:
        """The rows with exactly the declared columns, in files that follow the table's file order."""
        _require_declared(table, rows)
        rows = rows.select(*table.names)
        if not table.file_order:
            return rows
        ranges = [F.expr(each) for each in table.file_ranges or table.file_order]
        return rows.repartitionByRange(*ranges).sortWithinPartitions(*table.file_order)


def _require_declared(table: Table, rows: DataFrame) -> None:
    found = {field.name: _shape(field.dataType) for field in rows.schema.fields}
    declared = {column.name: _shape(column.field.dataType) for column in table.columns}
    if found != declared:
        wrong = sorted(set(found.items()) ^ set(declared.items()))
        raise ValueError(f"table {table.name}: columns differ from its declaration: {wrong}")


def _shape(data_type: T.DataType) -> str:
    """A type without its nullability, which Spark derives differently from plan to plan."""
    return data_type.simpleString()
