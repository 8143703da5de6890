"""Delta tables under a warehouse folder, each as `schemas` declares it."""

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession, types as T

from schemas.table import Table
from storage.small_frame import empty_frame


class Warehouse:
    """Opens, creates and writes the tables under one folder.

    A table that was never written reads as empty; the first write creates it with its comments,
    NOT NULLs and CHECKs. Every write is one atomic commit.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        """Name the folder; nothing is read or written yet."""
        self._spark = spark
        self.root = root.rstrip("/")

    def path(self, table: Table) -> str:
        """The table's folder."""
        return f"{self.root}/{table.name}"

    def exists(self, table: Table) -> bool:
        """Whether the table was ever written."""
        return DeltaTable.isDeltaTable(self._spark, self.path(table))

    def read(self, table: Table) -> DataFrame:
        """All rows of the table; none if it was never written."""
        if not self.exists(table):
            return empty_frame(self._spark, table.struct)
        return self._spark.read.format("delta").load(self.path(table))

    def replace(self, table: Table, rows: DataFrame, *, where: str | None = None) -> int:
        """Replace the rows that match `where` (all rows if null) by these, atomically.

        Delta refuses rows that do not match `where` themselves, and a frame without rows clears it.

        Returns:
            How many rows were written, as Delta counted them.
        """
        self._create(table)
        writer = self._laid_out(table, rows).write.format("delta").mode("overwrite")
        if where is not None:
            writer = writer.option("replaceWhere", where)
        writer.save(self.path(table))
        return self._rows_of_last_write(table)

    def insert_new(self, table: Table, rows: DataFrame) -> None:
        """Insert the rows whose key is not there yet; nulls in a key are equal."""
        target = self._create(table)
        same_key = " AND ".join(f"old.`{name}` <=> new.`{name}`" for name in table.key)
        new = self._laid_out(table, rows).alias("new")
        target.alias("old").merge(new, same_key).whenNotMatchedInsertAll().execute()

    def _create(self, table: Table) -> DeltaTable:
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
        if not table.statistics:
            builder = builder.property("delta.dataSkippingNumIndexedCols", "0")
        if self.exists(table):
            return DeltaTable.forPath(self._spark, self.path(table))
        return builder.execute()

    def _laid_out(self, table: Table, rows: DataFrame) -> DataFrame:
        """The rows with exactly the declared columns, in files that follow the table's file order."""
        _require_declared(table, rows)
        rows = rows.select(*table.names)
        if not table.file_order:
            return rows
        return rows.repartitionByRange(*table.file_order).sortWithinPartitions(*table.file_order)

    def _rows_of_last_write(self, table: Table) -> int:
        metrics = (
            DeltaTable.forPath(self._spark, self.path(table)).history(1).select("operationMetrics").first()
        )
        assert metrics is not None
        return int(metrics[0].get("numOutputRows", 0))


def _require_declared(table: Table, rows: DataFrame) -> None:
    found = {field.name: _shape(field.dataType) for field in rows.schema.fields}
    declared = {column.name: _shape(column.field.dataType) for column in table.columns}
    if found != declared:
        wrong = sorted(set(found.items()) ^ set(declared.items()))
        raise ValueError(f"table {table.name}: columns differ from its declaration: {wrong}")


def _shape(data_type: T.DataType) -> str:
    """A type without its nullability, which Spark derives differently from plan to plan."""
    return data_type.simpleString()
