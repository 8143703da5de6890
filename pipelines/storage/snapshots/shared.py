"""Rows of captures where all machines of a cluster can read them, and not on one machine's disk alone."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from uuid import uuid4

from pyarrow import fs

from pipelines.config.snapshots.server import ServerSnapshot
from pipelines.config.snapshots.view_file import ViewFile
from pipelines.engine.materialize import is_on_this_machine
from pipelines.engine.scratch import is_in_local_scratch
from pipelines.storage.inputs.paths import file_system
from pipelines.storage.warehouse import SCRATCH, Warehouse


@contextmanager
def shared(warehouse: Warehouse, snapshots: Sequence[ServerSnapshot]) -> Iterator[Sequence[ServerSnapshot]]:
    """The snapshots with files that the engine can read; copies go with the block."""
    if is_on_this_machine(warehouse.spark) or not any(map(_is_local, _files(snapshots))):
        yield snapshots
        return
    system, folder, prefix = file_system(f"{warehouse.root}/{SCRATCH}/{uuid4()}")
    system.create_dir(folder, recursive=True)
    try:
        yield [
            replace(
                each,
                files={
                    view: _copied(file, system, folder, prefix) if _is_local(file) else file
                    for view, file in each.files.items()
                },
            )
            for each in snapshots
        ]
    finally:
        system.delete_dir(folder)


def _files(snapshots: Sequence[ServerSnapshot]) -> Iterator[ViewFile]:
    for each in snapshots:
        yield from each.files.values()


def _is_local(file: ViewFile) -> bool:
    return file.has_rows and is_in_local_scratch(file.path)


def _copied(file: ViewFile, system: fs.FileSystem, folder: str, prefix: str) -> ViewFile:
    """A file, or a folder, with another path."""
    target = f"{folder}/{uuid4()}/{PurePosixPath(file.path).name}"
    system.create_dir(target if file.is_folder else str(PurePosixPath(target).parent), recursive=True)
    fs.copy_files(file.path, target, fs.LocalFileSystem(), system)
    return replace(file, path=prefix + target)
