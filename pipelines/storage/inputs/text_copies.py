"""Copies of text files that the engine cannot read as they are: unknown endings, and very long lines.

A gz of 1 MB can have a line of 1 GB, which an engine would hold in memory several times.
"""

import hashlib
import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import SparkSession

from pipelines.config.errors import InputError
from pipelines.engine.materialize import is_on_this_machine
from pipelines.engine.scratch import local_scratch
from pipelines.storage.inputs.paths import local_path, open_file, open_unpacked
from pipelines.storage.inputs.text import PACKED

UNPACK = "files of this ending can't be read; unpack it, or pack it as .gz, .bz2 or .zst"
TOO_LONG = "line too long "
"""What stands in a copy where a line was left out; its length and its hash follow, as JSON."""
CHUNK = 1 << 20
AT_ONCE = 4
GZIP_RATIO = 1032
"""Bytes that one byte of gzip may unpack to, at most. Other formats have no such bound."""
OTHER_PACKING = re.compile(
    r"\.(?:xz|txz|lz4|lzma|lzo|snappy|sz|deflate|z|br|zip|7z|rar|tar|tar\.[a-z0-9]+|tgz|tbz2?)$",
    re.IGNORECASE,
)
"""Endings of compressed files and archives that no engine reads as lines, or only one of them."""
LINE_END = re.compile(rb"[\r\n]")


def copy_unreadable(spark: SparkSession, paths: Sequence[str], max_line_bytes: int) -> list[str]:
    """Return the text files, or copies of them on the local disk that the engine can read.

    A file with a longer line than `max_line_bytes` is copied, with a line that begins with `TOO_LONG` in
    place of each long one. A packed file whose ending has capitals is read by a link: engines and libraries
    know small letters. Plain files are looked into at steps of half the limit, packed ones are unpacked once.

    Raises:
        InputError: a file is packed as no engine reads it; or a file needs a copy, and the engine runs on a
            cluster, whose machines don't see the disk.
    """
    packed = [path for path in paths if OTHER_PACKING.search(path)]
    if packed:
        raise InputError(*(f"{path}: {UNPACK}" for path in packed))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda path: _copy_if_unreadable(spark, path, max_line_bytes), paths))


def with_original_names(said: str, paths: Sequence[str], copies: Sequence[str]) -> str:
    """A message about files that `copy_unreadable` gave, with their own names."""
    for path, copy in zip(paths, copies, strict=True):
        if copy != path:
            said = said.replace(copy, path)
    return said


def _copy_if_unreadable(spark: SparkSession, path: str, limit: int) -> str:
    try:
        found = _with_lower_case_ending(spark, path)
        if not _has_long_line(found, limit):
            return found
        if not is_on_this_machine(spark):
            raise InputError(
                f"{path}: a line has more than {limit:,} bytes (quality.max_line_bytes), and on a cluster no "
                "copy without it can be read; take the line away, or allow more"
            )
        return _copy_without_long_lines(found, limit).as_posix()
    except (OSError, pa.ArrowException):
        # The engine says what is wrong.
        return path


def _with_lower_case_ending(spark: SparkSession, path: str) -> str:
    name = PurePosixPath(path)
    if name.suffix in PACKED or name.suffix.lower() not in PACKED:
        return path
    local = local_path(path)
    if local is None or not is_on_this_machine(spark):
        raise InputError(
            f"{path}: the ending has capitals; rename the file so that it ends {name.suffix.lower()}"
        )
    link = _new_path(name.suffix.lower())
    try:
        link.symlink_to(Path(local).resolve())
    except OSError:
        # On Windows few users may make links.
        shutil.copyfile(local, link)
    return link.as_posix()


def _has_long_line(path: str, limit: int) -> bool:
    """Whether a line of the file has more bytes than the limit; its end is not counted."""
    suffix = PurePosixPath(path).suffix
    if suffix in PACKED:
        with open_file(path) as file:
            if suffix == ".gz" and file.size() * GZIP_RATIO <= limit:
                return False
        return any(length > limit for length in _lengths(path, limit))
    with open_file(path) as file:
        size = file.size()
        if size <= limit:
            return False
        # A longer line has all of a stretch of half its length.
        step = limit // 2
        may_be = any(_is_without_end(file, start, step) for start in range(0, size, step))
    return may_be and any(length > limit for length in _lengths(path, limit))


def _is_without_end(file: pa.NativeFile, start: int, length: int) -> bool:
    file.seek(start)
    end, chunk = min(start + length, file.size()), 1 << 14
    while (at := file.tell()) < end:
        if LINE_END.search(file.read(min(chunk, end - at))):
            return False
        chunk = CHUNK
    return True


def _lengths(path: str, limit: int) -> Iterator[int]:
    """The length of the line in hand where it grows beyond the limit."""
    held = 0
    with open_unpacked(path) as stream:
        while chunk := stream.read(min(CHUNK, limit)):
            ends = [chunk.find(b"\n"), chunk.find(b"\r")]
            first = min((end for end in ends if end >= 0), default=-1)
            if first < 0:
                held += len(chunk)
            else:
                yield held + first
                held = len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
            yield held


def _copy_without_long_lines(path: str, limit: int) -> Path:
    """A copy without long lines, packed as the file is."""
    copy = _new_path(PurePosixPath(path).suffix)
    with open_unpacked(path) as stream, pa.output_stream(str(copy), compression="detect") as out:
        line = _Line(out, limit)
        while chunk := stream.read(CHUNK):
            for part in re.split(rb"([\r\n])", chunk):
                if part in (b"\r", b"\n"):
                    line.end(part)
                else:
                    line.add(part)
        line.end(b"")
    return copy


class _Line:
    """A line that is copied once it has ended, unless it is too long."""

    def __init__(self, out: pa.NativeFile, limit: int) -> None:
        self._out, self._limit = out, limit
        self._held, self._length = bytearray(), 0
        self._hash = hashlib.sha256()

    def add(self, part: bytes) -> None:
        """Go on with the line."""
        self._length += len(part)
        if self._length <= self._limit:
            self._held += part
            return
        if self._held:
            self._hash.update(self._held)
            self._held = bytearray()
        self._hash.update(part)

    def end(self, end: bytes) -> None:
        """Write the line, or in place of a long one what there is to say of it."""
        if self._length > self._limit:
            said = f'{TOO_LONG}{{"bytes":{self._length},"sha256":"{self._hash.hexdigest()}"}}'
            self._out.write(said.encode() + (end or b"\n"))
        else:
            self._out.write(bytes(self._held) + end)
        self._held, self._length, self._hash = bytearray(), 0, hashlib.sha256()


def _new_path(ending: str) -> Path:
    return local_scratch() / f"{uuid4()}{ending}"
