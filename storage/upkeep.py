"""What a table needs from time to time: old instants removed, small files joined, unused files deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from delta.tables import DeltaTable
from pyspark.sql import SparkSession, functions as F

from schemas.table import Table
from storage.warehouse import Warehouse

SAFE_HOURS = 168
"""Delta refuses to delete younger files unless told otherwise: a reader may still be at them."""
_SAFETY = "spark.databricks.delta.retentionDurationCheck.enabled"


@dataclass(frozen=True)
class Needs:
    """What there is to do for a table.

    Attributes:
        outdated: the as_ofs (UTC) that are too old, in order; none where the table has no as_of.
        files: how many files the table's rows are in.
        folders: how many folders these are in; files of different partitions are never joined.
        unused: how many files on disk no kept version uses; Delta names 1,000 at most.
    """

    outdated: Sequence[str]
    files: int
    folders: int
    unused: int


class Upkeep:
    """Looks after the tables of one warehouse. Nothing else may write to it at the same time."""

    def __init__(self, spark: SparkSession, warehouse: Warehouse, *, keep_hours: int) -> None:
        """Name the warehouse, and for how many hours files are kept that newer versions do without."""
        self._spark, self._warehouse, self._keep_hours = spark, warehouse, keep_hours
        if keep_hours < SAFE_HOURS:
            spark.conf.set(_SAFETY, "false")

    def needs(self, table: Table, *, before: datetime | None) -> Needs:
        """Look at a table that exists, and change nothing; as_ofs before the given one are too old."""
        rows = self._warehouse.read(table)
        outdated: list[str] = []
        if before is not None and "as_of" in table.partition_by:
            old = rows.where(F.col("as_of") < F.lit(before)).select(F.col("as_of").cast("string")).distinct()
            outdated = sorted(row.as_of for row in old.collect())
        files = rows.inputFiles()
        folders = {file.rpartition("/")[0] for file in files}
        path = self._warehouse.path(table).replace("`", "``")
        listed = self._spark.sql(f"VACUUM delta.`{path}` RETAIN {self._keep_hours} HOURS DRY RUN")
        # Folders that a vacuum has emptied are listed too, and go with the next one.
        unused = listed.where(F.col("path").rlike(r"\.(parquet|bin)$")).count()
        return Needs(outdated, len(files), len(folders), unused)

    def remove(self, table: Table, *, before: datetime) -> None:
        """Remove the rows of the as_ofs before the given one, in one commit."""
        self._open(table).delete(F.col("as_of") < F.lit(before))

    def join_files(self, table: Table) -> None:
        """Write small files of the same partition as one, in one commit; the rows stay the same."""
        self._open(table).optimize().executeCompaction()

    def delete_unused(self, table: Table) -> None:
        """Delete the files that no kept version uses. Older versions cannot be read after that."""
        self._open(table).vacuum(self._keep_hours)

    def _open(self, table: Table) -> DeltaTable:
        return DeltaTable.forPath(self._spark, self._warehouse.path(table))
