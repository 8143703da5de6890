"""What is damaged in a warehouse, for a job that an engine has failed inside."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow import fs

from pipelines.config.errors import REBUILD, WarehouseError
from pipelines.config.instants import format_instant
from pipelines.config.paths import local_folder
from pipelines.console.invocation import command_line
from pipelines.storage.inputs.contract import first_line
from pipelines.storage.versions import cut_commit, require_readable, versions_of
from schemas import TABLES
from schemas.outputs import AS_OF_KEY
from schemas.reading import as_of_of_key
from schemas.table import Table

MOST_TOLD = 10


def find_damage(root: str) -> list[str]:
    """Look at the log of each table and at the footers of its data files.

    Args:
        root: the warehouse's folder, or its URI.

    Returns:
        One line a table whose log is damaged; else one a data file that is gone, cut, or no Parquet file. Ten
        at most. Nothing if all are whole, or if delta-rs can't reach them. Bytes between the footer and the
        beginning are not looked at.

    Raises:
        ConfigError: this user may not read all of it.
    """
    folder = local_folder(root)
    require_readable(folder)
    try:
        tables = versions_of(folder) or {}
    except WarehouseError as error:
        return list(error.problems)
    if cut := [line for name in tables if (line := cut_commit(f"{folder}/{name}"))]:
        return cut
    try:
        lines = [line for name in TABLES if name in tables for line in _damaged_files(folder, TABLES[name])]
    except (DeltaError, OSError):
        return []
    more = len(lines) - MOST_TOLD
    return lines[:MOST_TOLD] + ([f"warehouse: and {more:,} more files"] if more > 0 else [])


def _damaged_files(folder: str, table: Table) -> Iterator[str]:
    path = f"{folder}/{table.name}"
    found = DeltaTable(path)
    files = fs.PyFileSystem(DeltaStorageHandler.from_table(found._table))
    of_as_of = f"partition.{AS_OF_KEY.name}"
    for added in pa.table(found.get_add_actions(flatten=True)).to_pylist():
        if fault := _fault_of(files, added["path"], added["size_bytes"]):
            remedy = REBUILD
            if of_as_of in added:
                as_of = format_instant(as_of_of_key(added[of_as_of]))
                remedy = f"run {command_line('nightly', '--as-of', as_of)} again, which writes it again"
            yield f"warehouse: {path}: its data file {added['path']} {fault}. Put it back, or {remedy}"


def _fault_of(files: fs.FileSystem, path: str, size: int) -> str | None:
    [found] = files.get_file_info([path])
    if found.type is not fs.FileType.File:
        return "is gone"
    if found.size != size:
        return f"has {found.size:,} bytes in place of {size:,}"
    try:
        with files.open_input_file(path) as file:
            pq.read_schema(file)
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"is no Parquet file any more ({first_line(error)})"
    return None
