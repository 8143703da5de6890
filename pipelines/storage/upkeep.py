"""What a table needs from time to time: old instants removed, small files joined, unused files deleted.

All of it is done by delta-rs, in this process: no engine has to start for it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder, WriterProperties, write_deltalake
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from pipelines.config.paths import local_part
from pipelines.storage.older_shape import OLD_TABLE, older_shape
from schemas.events import FOLD, LEDGER_PARTITIONS
from schemas.outputs import AS_OF_KEY, BATCHES
from schemas.reading import as_of_key, as_of_of_key
from schemas.table import Table

SAFE_HOURS = 168
"""How long a file is kept that no version needs any more: a reader may still be at it."""
FILE_SIZE = 1 << 30
"""Files are joined up to so many bytes."""
COMPRESSED = WriterProperties(compression="ZSTD", compression_level=1)


@dataclass(frozen=True)
class Needs:
    """What there is to do for a table.

    Attributes:
        outdated: the as_ofs (UTC) that are too old, in order; none where the table has no as_of.
        spread: the closed days whose rows several folds wrote, so that they lie in a partition for each, in
            order; none where folds are not kept apart.
        files: how many files lie beside others that they can be joined with.
        partitions: in how many partitions these are; files of different partitions are never joined.
        unused: how many files on disk no kept version uses.
    """

    outdated: Sequence[datetime]
    spread: Sequence[date]
    files: int
    partitions: int
    unused: int


class Upkeep:
    """Looks after the tables of one warehouse. Nothing else may write to it at the same time."""

    def __init__(self, root: str, *, keep_hours: int) -> None:
        """Name the warehouse's folder, and for how many hours unused files are kept."""
        self._root, self._keep_hours = local_folder(root), keep_hours

    def require_this_shape(self) -> None:
        """Refuse the tables of an older version; see `Warehouse.require_this_shape`.

        Raises:
            ConfigError: this is a warehouse of an older version.
        """
        if self._open(BATCHES) is None and DeltaTable.is_deltatable(f"{self._root}/{OLD_TABLE}"):
            raise older_shape(self._root)

    def rows(self, table: Table) -> list[dict[str, Any]]:
        """All rows of a small table; none if it was never written."""
        found = self._open(table)
        return found.to_pyarrow_table().to_pylist() if found else []

    def needs(self, table: Table, *, before: datetime | None, last_fold: int) -> Needs | None:
        """Look at a table and change nothing; None if it was never written.

        Args:
            table: the table.
            before: as_ofs before this one are too old; null if none is.
            last_fold: the last fold that was completed; what later ones left is left alone.
        """
        found = self._open(table)
        if found is None:
            return None
        sizes = defaultdict[tuple[Any, ...], list[int]](list)
        for file in pa.table(found.get_add_actions(flatten=True)).to_pylist():
            place = tuple(file[f"partition.{name}"] for name in table.partition_by)
            sizes[place].append(file["size_bytes"])
        outdated: list[datetime] = []
        if before is not None and table.partition_by == (AS_OF_KEY.name,):
            kept = {place: files for place, files in sizes.items() if place[0] >= as_of_key(before)}
            outdated = [as_of_of_key(place[0]) for place in sorted(sizes.keys() - kept.keys())]
            sizes = defaultdict(list, kept)
        spread = _spread(sizes, last_fold) if table.partition_by == LEDGER_PARTITIONS else []
        joined = [files for files in sizes.values() if sum(sorted(files)[:2]) <= FILE_SIZE and files[1:]]
        return Needs(outdated, spread, sum(map(len, joined)), len(joined), len(self._unused(found)))

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
        found = self._opened(table)
        named = ", ".join(f"DATE '{day}'" for day in days)
        where = f"closed_on IN ({named}) AND {FOLD.name} <= {last_fold}"
        columns = ", ".join(
            f"CAST({last_fold} AS BIGINT) AS {name}" if name == FOLD.name else f'"{name}"'
            for name in table.names
        )
        rows = QueryBuilder().register("rows", found).execute(f"SELECT {columns} FROM rows WHERE {where}")
        write_deltalake(
            found,
            rows,
            mode="overwrite",
            predicate=where,
            target_file_size=FILE_SIZE,
            writer_properties=COMPRESSED,
        )

    def join_files(self, table: Table) -> None:
        """Write small files of the same partition as one, in one commit; the rows stay the same."""
        self._opened(table).optimize.compact(target_size=FILE_SIZE, writer_properties=COMPRESSED)

    def delete_unused(self, table: Table) -> None:
        """Delete the files that no kept version uses. Older versions cannot be read after that."""
        found = self._opened(table)
        # A vacuum is two commits, whether it finds any file or not.
        if self._unused(found):
            self._vacuum(found, dry_run=False)

    def _unused(self, found: DeltaTable) -> set[str]:
        """The files that a vacuum would delete; it names those too that an earlier one has deleted."""
        # Spark's checksums of files on a local disk are not worth a commit.
        named = {path for path in self._vacuum(found, dry_run=True) if path.endswith((".parquet", ".bin"))}
        if not named:
            return set()
        folder = fs.PyFileSystem(DeltaStorageHandler.from_table(found._table))
        return named & {file.path for file in folder.get_file_info(fs.FileSelector("", recursive=True))}

    def _vacuum(self, found: DeltaTable, *, dry_run: bool) -> list[str]:
        # full: what the log does not name goes as well, files of writes that were broken off.
        return found.vacuum(self._keep_hours, dry_run=dry_run, enforce_retention_duration=False, full=True)

    def _open(self, table: Table) -> DeltaTable | None:
        path = f"{self._root}/{table.name}"
        return DeltaTable(path) if DeltaTable.is_deltatable(path) else None

    def _opened(self, table: Table) -> DeltaTable:
        return DeltaTable(f"{self._root}/{table.name}")


def _spread(partitions: Iterable[tuple[Any, ...]], last_fold: int) -> list[date]:
    # Open rows have no day; every fold writes them anew.
    folds = Counter(day for day, fold in partitions if day is not None and fold <= last_fold)
    return sorted(day for day, count in folds.items() if count > 1)


def local_folder(root: str) -> str:
    """The folder as a path of this machine, where Spark's catalog gives it as file:/folder."""
    return local_part(urlsplit(root)) if root.startswith("file:") else root
