"""What a table needs from time to time: old instants removed, small files joined, unused files deleted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from delta.tables import DeltaTable
from pyspark.sql import SparkSession, functions as F

from schemas.ledger import LEDGER_BATCH
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
        spread: the days whose rows several folds wrote, so that they lie in a partition for each, in
            order; one null where the table has no days; none where folds are not kept apart.
        files: how many files the table's rows are in.
        folders: how many folders these are in; files of different partitions are never joined.
        unused: how many files on disk no kept version uses; Delta names 1,000 at most.
    """

    outdated: Sequence[str]
    spread: Sequence[date | None]
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

    def needs(self, table: Table, *, before: datetime | None, last_fold: int) -> Needs:
        """Look at a table that exists, and change nothing.

        Args:
            table: the table.
            before: as_ofs before this one are too old; null if none is.
            last_fold: the last fold that was completed; what later ones left is left alone.
        """
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
        return Needs(outdated, self._spread(table, last_fold), len(files), len(folders), unused)

    def remove(self, table: Table, *, before: datetime) -> None:
        """Remove the rows of the as_ofs before the given one, in one commit."""
        self._open(table).delete(F.col("as_of") < F.lit(before))

    def join_folds(self, table: Table, days: Sequence[date | None], *, last_fold: int) -> None:
        """Write the rows of each of these days as rows of one fold, the last one, in one commit.

        A fold tells its own rows, those of a broken-off attempt, from all others, and looks at no other
        number. So which of the completed folds a row is said to be of makes no difference to any.

        Args:
            table: a table whose partitions are kept apart by fold.
            days: `Needs.spread`.
            last_fold: the last fold that was completed.
        """
        others = _beside_fold(table)
        where = f"{LEDGER_BATCH.name} <= {last_fold}"
        if others:
            named = ", ".join(f"DATE'{day}'" for day in days)
            where += f" AND {others[0]} IN ({named})"
        rows = self._warehouse.read(table).where(where)
        rows = rows.withColumn(LEDGER_BATCH.name, F.lit(last_fold).cast(LEDGER_BATCH.type))
        # One file a day, more where a day is large.
        self._warehouse.replace(table, rows.hint("rebalance", *others), where=where)

    def join_files(self, table: Table) -> None:
        """Write small files of the same partition as one, in one commit; the rows stay the same."""
        self._open(table).optimize().executeCompaction()

    def delete_unused(self, table: Table) -> None:
        """Delete the files that no kept version uses. Older versions cannot be read after that."""
        self._open(table).vacuum(self._keep_hours)

    def _spread(self, table: Table, last_fold: int) -> list[date | None]:
        if LEDGER_BATCH.name not in table.partition_by:
            return []
        rows = self._warehouse.read(table).where(F.col(LEDGER_BATCH.name) <= last_fold)
        day = F.lit(None).cast("date")
        for other in _beside_fold(table):
            # Open rows have no day; every fold writes them anew.
            rows, day = rows.where(F.col(other).isNotNull()), F.col(other)
        folds = rows.groupBy(day.alias("day")).agg(F.count_distinct(LEDGER_BATCH.name).alias("folds"))
        return [row.day for row in folds.where("folds > 1").orderBy("day").collect()]

    def _open(self, table: Table) -> DeltaTable:
        return DeltaTable.forPath(self._spark, self._warehouse.path(table))


def _beside_fold(table: Table) -> list[str]:
    """The table's partition columns without that of the fold: one with a day, or none."""
    return [name for name in table.partition_by if name != LEDGER_BATCH.name]
