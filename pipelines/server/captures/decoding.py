"""The text of a file that any tool wrote, as UTF-8: packing and encoding are found from the first bytes."""

import codecs
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from typing import IO

from pipelines.server.captures.faults import cut_archive
from pipelines.text.form import MARKS

BLOCK = 16 << 20
"""Bytes that are read at a time."""
PACKED = b"\x1f\x8b"
SAMPLE = 256
"""Bytes that say whether text without a mark is UTF-16."""


def decoded_blocks(stream: IO[bytes]) -> Iterator[bytes]:
    """The text as UTF-8 without a mark, in blocks that end anywhere between characters.

    Bytes that are no text of the encoding stay bytes that are no UTF-8.

    Raises:
        CaptureFault: a compressed file is cut.
    """
    begin = stream.read(2)
    read = _joined(begin, stream.read)
    if begin == PACKED:
        read = _unpacked(gzip.GzipFile(mode="rb", fileobj=_Joined(read)).read)
    head = read(BLOCK)
    mark = next((each for each in MARKS if head.startswith(each)), b"")
    encoding = MARKS[mark] if mark else _encoding_of(head[:SAMPLE])
    blocks = iter(lambda: read(BLOCK), b"")
    if encoding == "utf-8":
        if head[len(mark) :]:
            yield head[len(mark) :]
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(encoding)("surrogatepass")
    yield decoder.decode(head[len(mark) :]).encode("utf-8", "surrogatepass")
    for block in blocks:
        yield decoder.decode(block).encode("utf-8", "surrogatepass")
    if decoder.getstate()[0]:
        yield b"\xff"  # half a character


def _encoding_of(head: bytes) -> str:
    """UTF-16 if every other byte of the first ones is 0."""
    first, second = head[0::2].count(0), head[1::2].count(0)
    if second > len(head) // 4 and not first:
        return "utf-16-le"
    return "utf-16-be" if first > len(head) // 4 and not second else "utf-8"


class _Joined(io.RawIOBase):
    """What a function reads, as a file from which gzip reads."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read

    def read(self, size: int = -1) -> bytes:
        """Return `size` bytes, or what is left at the end."""
        return self._read(size)


def _joined(begin: bytes, read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """A reader that gives some bytes before the others."""
    left = begin

    def joined(size: int = -1) -> bytes:
        nonlocal left
        if left:
            given, left = left[:size], left[size:]
            return given + read(size - len(given)) if size > len(given) else given
        return read(size)

    return joined


def _unpacked(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """A reader whose errors are faults of the file."""

    def unpacked(size: int) -> bytes:
        try:
            return read(size)
        except (EOFError, OSError, zlib.error) as error:
            raise cut_archive() from error

    return unpacked
