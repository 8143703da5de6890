"""The lines of a capture among what a tool left around them, whatever form the tool gave to them."""

import codecs
import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from json import JSONDecodeError, JSONDecoder

import numpy as np

from pipelines.config.captures.faults import LONGEST_LINE, CaptureFault, too_long

SEPARATORS = (",", ";", "\t", "|")
HEADING = "capture_line"
DASHES = re.compile(r"-+")
ONE_FIELD = re.compile(rb'"(?:[^"]|"")*"')
"""A CSV line of one field in quotes."""
BLANKS = re.compile(rb"[ \t\r\f\v]+\n")
"""Blanks at the end of a line."""
LINE = 10


@dataclass(frozen=True)
class Lines:
    """Lines of a file that follow each other.

    Attributes:
        text: the objects, each ended by a line end, in UTF-8.
        ends: where in the text each line end stands.
        numbers: of the lines in the decoded file, from 1.
        others: each line that is no object and not blank: the number of objects before it, its own number,
            and its text.
        broken: positions of objects whose line can be no JSON, with the line as it stands in the file.
        widths: characters of the first lines in the file; empty where no object is broken.
    """

    text: bytes
    ends: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    numbers: Sequence[int]
    others: Sequence[tuple[int, int, str]] = ()
    broken: dict[int, str] = field(default_factory=dict)
    widths: Sequence[int] = ()

    def __len__(self) -> int:
        """Return the number of objects."""
        return len(self.ends)

    def line(self, place: int) -> bytes:
        """One object, without its line end."""
        begin = int(self.ends[place - 1]) + 1 if place else 0
        return self.text[begin : int(self.ends[place])]


def read_lines(blocks: Iterator[bytes]) -> Iterator[Lines]:
    """The lines of a file.

    Args:
        blocks: its text; see `decoded_blocks`.

    Raises:
        CaptureFault: a line is too long, or an array is no array of lines.
    """
    head = next(blocks, b"")
    while not head.strip() and (more := next(blocks, b"")):
        head += more
    if head.lstrip().startswith(b"["):
        yield from _of_array(chain([head], blocks))
        return
    first = 1
    for block in _whole_lines(chain([head], blocks)):
        lines = _of_block(block, first)
        first += block.count(b"\n")
        yield lines


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks that end with a line end; the last one gets one."""
    rest: list[bytes] = []
    number = 1
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            whole = b"".join([*rest, block[:cut]])
            rest = []
            number += whole.count(b"\n")
            yield whole
        rest.append(block[cut:])
        if sum(map(len, rest)) > 4 * LONGEST_LINE:
            raise too_long(number)
    if last := b"".join(rest):
        yield last + b"\n"


def _of_block(block: bytes, first: int) -> Lines:
    """The lines of a block; those of the script's own form are taken as they are."""
    has_blanks = any(end in block for end in (b"\r", b" \n", b"\t\n"))
    trimmed = BLANKS.sub(b"\n", block) if has_blanks else block
    bytes_ = np.frombuffer(trimmed, np.uint8)
    ends = np.flatnonzero(bytes_ == LINE)
    begins = np.concatenate(([0], ends[:-1] + 1))
    if np.max(ends - begins, initial=0) > LONGEST_LINE:
        longest = int(np.argmax(ends - begins > LONGEST_LINE))
        if len(trimmed[begins[longest] : ends[longest]].decode("utf-8", "replace")) > LONGEST_LINE:
            raise too_long(first + longest)
    is_plain = bool(np.all(bytes_[begins] == ord("{")) and np.all(bytes_[ends - 1] == ord("}")))
    if is_plain:
        return Lines(trimmed, ends, range(first, first + len(ends)))
    return _of_odd_block(block, first)


def _of_odd_block(block: bytes, first: int) -> Lines:
    """The lines of a block one by one."""
    objects: list[bytes] = []
    numbers: list[int] = []
    others: list[tuple[int, int, str]] = []
    broken: dict[int, str] = {}
    raw_lines = block.split(b"\n")[:-1]
    for number, raw in enumerate(raw_lines, start=first):
        line = raw.strip()
        if line.startswith(b'"'):
            line = _of_csv(line)
        if not line:
            continue
        if not line.startswith(b"{"):
            others.append((len(objects), number, line.decode("utf-8", "replace")))
            continue
        if not line.endswith(b"}"):
            broken[len(objects)] = raw.rstrip(b"\r").decode("utf-8", "replace")
        objects.append(line)
        numbers.append(number)
    text = b"".join(line + b"\n" for line in objects)
    ends = np.cumsum([len(line) + 1 for line in objects], dtype=np.int64) - 1
    widths = [len(raw.rstrip(b"\r").decode("utf-8", "replace")) for raw in raw_lines[:100]] if broken else []
    return Lines(text, ends, numbers, others, broken, widths)


def _of_csv(line: bytes) -> bytes:
    """The field of a CSV line that is an object, else the line without its quotes."""
    if ONE_FIELD.fullmatch(line):
        return line[1:-1].replace(b'""', b'"').strip()
    text = line.decode("utf-8", "surrogateescape")
    for separator in SEPARATORS:
        try:
            fields = next(csv.reader([text], delimiter=separator), [])
        except csv.Error:
            break
        for each in fields:
            if each.lstrip().startswith("{") and (each.rstrip().endswith("}") or len(fields) > 1):
                return each.strip().encode("utf-8", "surrogateescape")
        if HEADING in fields:
            return HEADING.encode()
    return text.strip('"').replace('""', '"').strip().encode("utf-8", "surrogateescape")


def is_mere_form(text: str) -> bool:
    """Whether a line that is no object may stand inside a capture: dashes, or the heading."""
    return DASHES.fullmatch(text) is not None or text.lower() == HEADING


def _of_array(blocks: Iterator[bytes]) -> Iterator[Lines]:
    """The lines of an array of objects, each with one string: the line."""
    objects: list[bytes] = []
    numbers: list[int] = []
    size = 0
    for number, text in _elements(blocks):
        line = text.strip().encode("utf-8", "surrogateescape")
        objects.append(line.replace(b"\n", b" "))
        numbers.append(number)
        size += len(line)
        if size > 4 * LONGEST_LINE:
            yield _joined(objects, numbers)
            objects, numbers, size = [], [], 0
    if objects:
        yield _joined(objects, numbers)


def _joined(objects: list[bytes], numbers: list[int]) -> Lines:
    ends = np.cumsum([len(line) + 1 for line in objects], dtype=np.int64) - 1
    broken = {
        place: line.decode("utf-8", "replace")
        for place, line in enumerate(objects)
        if not (line.startswith(b"{") and line.endswith(b"}"))
    }
    widths = [len(line) for line in objects[:100]] if broken else []
    return Lines(b"".join(line + b"\n" for line in objects), ends, numbers, (), broken, widths)


def _elements(blocks: Iterator[bytes]) -> Iterator[tuple[int, str]]:
    """The strings of an array's elements, with the lines of their keys."""
    decode = JSONDecoder().raw_decode
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text, at, line = "", 0, 1
    is_open = False
    for block in chain(blocks, [None]):
        if block is not None:
            text, at = text[at:] + decoder.decode(block), 0
        while True:
            behind = re.compile(r"[\s,]*").match(text, at)
            assert behind is not None
            line += text.count("\n", at, behind.end())
            at = behind.end()
            if not is_open and text[at : at + 1] == "[":
                is_open, at = True, at + 1
                continue
            if text[at : at + 1] == "]":
                if rest := text[at + 1 :].strip():
                    raise CaptureFault(
                        line, f"the array ends, and {rest[:20]!r} follows; save the result again"
                    )
                for more in blocks:
                    if more.strip():
                        raise CaptureFault(line, "the array ends, and more follows; save the result again")
                return
            if at >= len(text):
                break
            try:
                element, end = decode(text, at)
            except JSONDecodeError:
                if len(text) - at > 16 * LONGEST_LINE:
                    raise too_long(line) from None
                break
            if end == len(text) and block is not None:
                break  # more of it may follow
            values = list(element.values()) if isinstance(element, dict) else []
            if len(values) != 1 or not isinstance(values[0], str):
                raise CaptureFault(
                    line,
                    "an element is no object with one text, the line of a capture; save the result again",
                )
            key = re.compile(r"\s*").match(text, at + 1)
            assert key is not None
            yield line + text.count("\n", at, key.end()), values[0]
            line += text.count("\n", at, end)
            at = end
    raise CaptureFault(line, "the array is cut here; copy the file or save the result again")
