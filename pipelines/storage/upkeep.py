"""What a table needs from time to time: old instants removed, small files joined, unused files deleted."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from pyspark.sql import SparkSession

from pipelines.engine.housekeeping import FILE_SIZE, HousekeptTable, Partition, housekept_table
from pipelines.storage.ranges import few_ranges
from schemas.events import FOLD, LEDGER_PARTITIONS
from schemas.outputs import AS_OF_KEY
from schemas.reading import as_of_key, as_of_of_key, before_day, day_column
from schemas.table import Table

SAFE_HOURS = 168
"""How long a file is kept that no version needs any more: a reader may still be at it."""


@dataclass(frozen=True)
class Needs:
    """What there is to do for a table.

    Attributes:
        pruned: the days whose rows are pruned, in order; none where rows have no day.
        pruned_files: how many files have these rows.
        outdated: the as_ofs (UTC) that are too old, in order; none where the table has no as_of.
        spread: the closed days whose rows several folds wrote, so that they lie in a partition for each, in
            order; none where folds are not kept apart.
        files: how many files lie beside others that they can be joined with.
        partitions: in how many partitions these are; files of different partitions are never joined.
        unused: how many files on disk no kept version uses.
    """

    pruned: Sequence[date]
    pruned_files: int
    outdated: Sequence[datetime]
    spread: Sequence[date]
    files: int
    partitions: int
    unused: int


class Upkeep:
    """Looks after the tables of one warehouse. Nothing else may write to it at the same time."""

    def __init__(self, root: str, *, keep_hours: int, spark: SparkSession | None = None) -> None:
        """Name the warehouse's folder, and for how many hours unused files are kept.

        A session of Apache Spark does the work; without one delta-rs does it, in this process.
        """
        self._root, self._keep_hours, self._spark = root, keep_hours, spark

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """All rows of a small table; none if it was never written."""
        found = self._open(table.name)
        return found.rows() if found else []

    def get_property(self, table: Table, name: str) -> str | None:
        """A property of a table; None if it has none, or was never written."""
        found = self._open(table.name)
        return found.get_property(name) if found else None

    def set_property(self, table: Table, name: str, value: str) -> None:
        """Set a property of a table that exists, in a commit of its own."""
        self._opened(table).set_property(name, value)

    def needs(
        self, table: Table, *, before: datetime | None, last_fold: int, first_day: date | None = None
    ) -> Needs | None:
        """Look at a table and change nothing; None if it was never written.

        Args:
            table: the table.
            before: as_ofs before this one are too old; null if none is.
            last_fold: the last fold that was completed; what later ones left is left alone.
            first_day: rows of days before this one are pruned; null if none are.
        """
        found = self._open(table.name)
        if found is None:
            return None
        sizes = found.files(table.partition_by)
        outdated: list[datetime] = []
        if before is not None and table.partition_by == (AS_OF_KEY.name,):
            kept = {place: files for place, files in sizes.items() if place[0] >= as_of_key(before)}
            outdated = [as_of_of_key(place[0]) for place in sorted(sizes.keys() - kept.keys())]
            sizes = kept
        is_ledger, has_days = table.partition_by == LEDGER_PARTITIONS, day_column(table) is not None
        pruned = {
            place: files
            for place, files in sizes.items()
            if has_days and first_day is not None and place[0] is not None and place[0] < first_day
        }
        sizes = {place: files for place, files in sizes.items() if place not in pruned}
        spread = _spread(sizes, last_fold) if is_ledger else []
        joined = [files for files in sizes.values() if sum(sorted(files)[:2]) <= FILE_SIZE and files[1:]]
        unused = found.unused(self._keep_hours)
        return Needs(
            pruned=sorted({place[0] for place in pruned}),
            pruned_files=sum(map(len, pruned.values())),
            outdated=outdated,
            spread=spread,
            files=sum(map(len, joined)),
            partitions=len(joined),
            unused=unused,
        )

    def count_pruned(self, table: Table, first_day: date) -> int:
        """How many rows are of days before this one."""
        return self._opened(table).count(before_day(table, first_day))

    def prune(self, table: Table, first_day: date) -> None:
        """Delete the rows of days before this one, in one commit."""
        self._opened(table).delete(before_day(table, first_day))

    def remove(self, table: Table, *, before: datetime) -> None:
        """Remove the rows of the as_ofs before the given one, in one commit."""
        self._opened(table).delete(f"{AS_OF_KEY.name} < '{as_of_key(before)}'")

    def join_folds(self, table: Table, days: Sequence[date], *, last_fold: int) -> None:
        """Write the rows of each of these days as rows of one fold, the last one, in one commit.

        A fold tells its own rows, those of a broken-off attempt, from all others, and looks at no other
        number. So which of the completed folds a row is said to be of makes no difference to any.

        Args:
            table: a table whose partitions are kept apart by fold.
            days: `Needs.spread`.
            last_fold: the last fold that was completed.
        """
        # Days between them may be written again; what they have stays.
        ranges = few_ranges(days, timedelta(days=1))
        # Delta on Apache Spark can't read BETWEEN in the condition of a write.
        named = " OR ".join(
            f"(closed_on >= DATE '{first}' AND closed_on <= DATE '{last}')" for first, last in ranges
        )
        where = f"({named}) AND {FOLD.name} <= {last_fold}"
        self._opened(table).set_column(FOLD.name, last_fold, where=where, partition_by=table.partition_by)

    def join_files(self, table: Table) -> None:
        """Write small files of the same partition as one, in one commit; the rows stay the same."""
        self._opened(table).compact()

    def delete_unused(self, table: Table, needs: Needs) -> None:
        """Delete the files that no kept version uses. Older versions cannot be read after that.

        A vacuum is two commits, whether it finds any file or not. Files that this very call replaced are old
        enough only if none is kept for any hour.
        """
        is_changed = bool(needs.pruned or needs.outdated or needs.spread or needs.files)
        if needs.unused or (is_changed and not self._keep_hours):
            self._opened(table).vacuum(self._keep_hours)

    def _open(self, name: str) -> HousekeptTable | None:
        return housekept_table(f"{self._root}/{name}", self._spark)

    def _opened(self, table: Table) -> HousekeptTable:
        found = self._open(table.name)
        assert found is not None
        return found


def _spread(partitions: Iterable[Partition], last_fold: int) -> list[date]:
    # Open rows have no day; every fold writes them again.
    folds = Counter(day for day, fold in partitions if day is not None and fold <= last_fold)
    return sorted(day for day, count in folds.items() if count > 1)
