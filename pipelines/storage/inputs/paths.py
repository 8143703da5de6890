"""Files on the local disk or behind a URI: listed, opened, and named so that an engine reads just them."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from pipelines.config.errors import ConfigError, InputError
from pipelines.config.paths import URI, local_part, with_slashes
from pipelines.server.snapshots import view_file
from pipelines.server.snapshots.view_file import changed_at

GONE = "went away before it was read; put it back, or run again"
"""What there is to say of a file that was listed and is not there."""


@dataclass(frozen=True)
class FoundFile:
    """A file: its path or URI, its length in bytes, and when it was last changed, UTC."""

    path: str
    length: int
    modified_at: datetime


def local_path(path: str) -> str | None:
    """The folder or file as the operating system names it; None if it is somewhere else."""
    uri = URI.match(path)
    if uri is None:
        return path
    # Spark's catalog gives the folder of a schema as file:/a folder, with spaces as they are.
    return local_part(urlsplit(path)) if uri["scheme"].lower() == "file" else None


def list_files(path: str) -> list[FoundFile]:
    """List all files of a folder, or the file itself, by path.

    As Spark does it: names that begin with _ or . are passed over, files and folders alike, and so is what
    Hadoop is still copying.

    Raises:
        FileNotFoundError: nothing is there.
        ConfigError: there is no way to a URI of this kind.
        InputError: a link leads to nothing, a file is a pipe or a device, or its name is no UTF-8.
    """
    system, inner, prefix = file_system(path)
    root = system.get_file_info(inner)
    if root.type == fs.FileType.NotFound:
        raise FileNotFoundError(path)
    try:
        found = [root] if root.is_file else system.get_file_info(fs.FileSelector(inner, recursive=True))
        named = [each for each in found if each is root or not _is_hidden(each.path[len(inner) :])]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: the name {error.object!r} is no UTF-8; rename that file") from error
    odd = [each.path for each in named if each.type == fs.FileType.Unknown]
    if isinstance(system, fs.LocalFileSystem):
        odd += [path for path in _broken_links(inner) if not _is_hidden(path[len(inner) :])]
    if odd:
        raise InputError(
            f"{prefix}{min(odd)}: it is a link to nothing, a pipe or a device; put the file there, or "
            "remove it"
        )
    return sorted(
        (FoundFile(prefix + each.path, each.size, changed_at(each)) for each in named if each.is_file),
        key=lambda file: file.path,
    )


def is_empty_folder(path: str) -> bool:
    """Whether a folder has nothing in it.

    Raises:
        FileNotFoundError: nothing is there.
        ConfigError: there is no way to a URI of this kind.
    """
    system, inner, _ = file_system(path)
    if system.get_file_info(inner).type == fs.FileType.NotFound:
        raise FileNotFoundError(path)
    return not system.get_file_info(fs.FileSelector(inner))


def open_file(path: str) -> pa.NativeFile:
    """Open a file for reading at any place of it."""
    system, inner, _ = file_system(path)
    return system.open_input_file(inner)


def open_unpacked(path: str) -> pa.NativeFile:
    """Open a file for reading from its start on, without its compression."""
    system, inner, _ = file_system(path)
    return system.open_input_stream(inner, compression="detect")


def read_unended_line(path: str) -> str:
    """What stands behind the last line end of a text file; nothing if it ends with one."""
    with open_file(path) as file:
        size = file.size()
        tail, length = b"", 1
        while b"\n" not in tail and b"\r" not in tail and len(tail) < size:
            length = min(size, length * 256)
            file.seek(size - length)
            tail = file.read(length)
    line = re.split(rb"[\r\n]", tail)[-1].decode(errors="replace")
    return line if line.strip() else ""


def file_system(path: str) -> tuple[fs.FileSystem, str, str]:
    """The file system, the path in it, and what stands before that in the whole path."""
    try:
        return view_file.file_system(path)
    except (pa.ArrowException, OSError) as error:
        raise ConfigError(
            f"inputs: {path} cannot be listed ({str(error).partition(chr(10))[0]}); write a path, or a URI "
            "of s3a, hdfs, gs or abfss"
        ) from error


def _broken_links(folder: str) -> Iterator[str]:
    """Links below a folder that lead to nothing; a listing passes over them."""
    for place, _, names in os.walk(folder):
        for path in (with_slashes(os.path.join(place, name)) for name in names):
            if os.path.islink(path) and not os.path.exists(path):
                yield path


def _is_hidden(path: str) -> bool:
    names = path.strip("/").split("/")
    return any(name.startswith(("_", ".")) for name in names) or names[-1].endswith("._COPYING_")
