"""Rows of captures where all machines of a cluster can read them, and not on one machine's disk alone."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TypeAlias
from uuid import uuid4

from pyarrow import fs

from pipelines.engine.materialize import is_on_this_machine
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.storage.inputs.paths import file_system
from pipelines.storage.warehouse import SCRATCH, Warehouse

Rows: TypeAlias = Mapping[str, Sequence[ViewFile]]


@contextmanager
def shared(warehouse: Warehouse, rows: Rows) -> Iterator[Rows]:
    """The files with the rows of captures where the engine can read them; copies go with the block."""
    if is_on_this_machine(warehouse.spark) or not rows:
        yield rows
        return
    system, folder, prefix = file_system(f"{warehouse.root}/{SCRATCH}/{uuid4()}")
    system.create_dir(folder, recursive=True)
    try:
        yield {
            view: [_copied(file, system, folder, prefix) for file in files] for view, files in rows.items()
        }
    finally:
        system.delete_dir(folder)


def _copied(file: ViewFile, system: fs.FileSystem, folder: str, prefix: str) -> ViewFile:
    """A file with another path."""
    target = f"{folder}/{PurePosixPath(file.path).name}"
    fs.copy_files(file.path, target, fs.LocalFileSystem(), system)
    return replace(file, path=prefix + target)
