"""The lines of a capture among what a tool left around them, whatever form the tool gave to them."""

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from json import JSONDecodeError, JSONDecoder
from typing import TypeAlias

import numpy as np

from pipelines.server.captures.faults import (
    LONGEST_LINE,
    CaptureFault,
    foreign_bulk,
    nested_too_deep,
    sample,
    too_long,
)
from pipelines.server.captures.wrapped import BEGINS, is_mere_form, line_in, object_in

BLANKS = re.compile(rb"[ \t\r\f\v]+\n")
"""Blanks at the end of a line."""
OBJECT_OF_ARRAY = re.compile(rb'\{\s*"(?:[^"\\]|\\.)*"\s*:\s*[\[{]')
"""How an object begins that has the array of lines in it."""
ARRAY = re.compile(r'\[\s*(?=\{|"\s*\{|\[\s*["\d]|\[\s*null)')
"""How the array of lines begins: elements are objects, lists or texts."""
LINE = 10
BEFORE_ENDS = tuple(b" \t")
"""Blanks at the end of a line of most tools."""
PIECE = 1 << 20
"""Bytes of a block whose lines are looked at one by one."""
MOST_SKIPPED = 16 << 20
"""Bytes that are no lines of a capture, beyond as many as its lines have."""
DEEPEST = 100
"""Levels that brackets in a line may be nested; the script writes two."""
RULES = b"-+=|* \t\r"
"""Of which lines consist that tools draw."""
BRACKETS = re.compile(rb"[\[\]{}]")
STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')


Bytes: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint8]]"
Places: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.int64]]"


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
        skipped: bytes of the lines that are no objects.
    """

    text: bytes
    ends: "np.ndarray[tuple[int], np.dtype[np.int64]]"
    numbers: Sequence[int]
    others: Sequence[tuple[int, int, str]] = ()
    broken: dict[int, str] = field(default_factory=dict)
    widths: Sequence[int] = ()
    skipped: int = 0

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
        CaptureFault: a line is too long or nested too deep, an array is no array of lines, or there is more
            beside the lines than any tool writes.
    """
    first, skipped, taken = 1, 0, 0
    head = next(blocks, b"")
    while not head.strip() and (more := next(blocks, b"")):
        first += head.count(b"\n")
        skipped = _count_skipped(first, skipped + len(head), 0)
        head = more
    start = head.lstrip()
    of_array = None if BEGINS.match(start) else OBJECT_OF_ARRAY.match(start)
    # An object may have a line of the capture, too, and be a line itself.
    if start.startswith(b"[") or (of_array and not BEGINS.match(start, of_array.end() - 1)):
        yield from _of_array(chain([head], blocks), first)
        return
    for block in _whole_lines(chain([head], blocks), first):
        for piece in _pieces(block):
            lines = _of_block(piece, first)
            first += piece.count(b"\n")
            taken += len(lines.text)
            skipped = _count_skipped(first, skipped + lines.skipped, taken)
            yield lines


def _count_skipped(line: int, skipped: int, taken: int) -> int:
    """How many bytes were skipped.

    Raises:
        CaptureFault: too many, by those of the lines that were taken.
    """
    if skipped > MOST_SKIPPED + taken:
        raise foreign_bulk(line, MOST_SKIPPED)
    return skipped


def _whole_lines(blocks: Iterator[bytes], number: int) -> Iterator[bytes]:
    """Blocks that end with a line end; the last one gets one."""
    rest: list[bytes] = []
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


def _pieces(block: bytes) -> Iterator[bytes]:
    """The block, in parts if most of its lines are short: those of a capture are not."""
    at = 0
    if block.count(b"\n") > len(block) // 16:
        while len(block) - at > PIECE:
            end = block.index(b"\n", at + PIECE) + 1
            yield block[at:end]
            at = end
    if at < len(block):
        yield block[at:]


def _of_block(block: bytes, first: int) -> Lines:
    """The lines of a block; those of the script's own form are taken as they are."""
    trimmed, bytes_ = block, np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(bytes_ == LINE)
    if b"\r" in block or np.isin(bytes_[ends - 1], BEFORE_ENDS).any():
        trimmed = BLANKS.sub(b"\n", block)
        bytes_ = np.frombuffer(trimmed, np.uint8)
        ends = np.flatnonzero(bytes_ == LINE)
    begins = np.concatenate(([0], ends[:-1] + 1))
    if np.max(ends - begins, initial=0) > LONGEST_LINE:
        longest = int(np.argmax(ends - begins > LONGEST_LINE))
        if len(trimmed[begins[longest] : ends[longest]].decode("utf-8", "replace")) > LONGEST_LINE:
            raise too_long(first + longest)
    _require_flat(trimmed, ends, range(first, first + len(ends)))
    if _is_plain(bytes_, begins, ends):
        return Lines(trimmed, ends, range(first, first + len(ends)))
    return _of_odd_block(block, first)


def _is_plain(bytes_: Bytes, begins: Places, ends: Places) -> bool:
    """Whether each line is an object as the script begins it: with `capture`, `database` or `end`."""
    if np.min(ends - begins) < len('{"capture"'):
        return False
    third, tenth = bytes_[begins + 2], bytes_[begins + 9]
    is_known = (third == ord("d")) | (third == ord("e")) | ((third == ord("c")) & (tenth == ord('"')))
    return bool(np.all((bytes_[begins] == ord("{")) & (bytes_[ends - 1] == ord("}")) & is_known))


def _require_flat(text: bytes, ends: Places, numbers: Sequence[int]) -> None:
    """Require that no line has brackets nested so deep that a parser may fail.

    Raises:
        CaptureFault: a line has.
    """
    bytes_ = np.frombuffer(text, np.uint8)
    opening = np.flatnonzero((bytes_ == ord("[")) | (bytes_ == ord("{")))
    # The line of a bracket goes on to the hundredth bracket behind it.
    lines_of = np.searchsorted(ends, opening[:-DEEPEST])
    is_far = ends[lines_of] > opening[DEEPEST:]
    for place in np.unique(lines_of[is_far]).tolist():
        begin = int(ends[place - 1]) + 1 if place else 0
        depth = 0
        for bracket in BRACKETS.findall(STRINGS.sub(b"", text[begin : ends[place]])):
            depth += 1 if bracket in b"[{" else -1
            if depth > DEEPEST:
                raise nested_too_deep(numbers[place], DEEPEST)


def _of_odd_block(block: bytes, first: int) -> Lines:
    """The lines of a block one by one."""
    if b"{" not in block:
        return _without_objects(block, first)
    objects: list[bytes] = []
    numbers: list[int] = []
    others: list[tuple[int, int, str]] = []
    broken: dict[int, str] = {}
    skipped, is_foreign = 0, False
    raw_lines = block.split(b"\n")[:-1]
    for number, raw in enumerate(raw_lines, start=first):
        line = object_in(raw.strip())
        if line.startswith(b"{"):
            if not line.endswith(b"}"):
                broken[len(objects)] = raw.rstrip(b"\r").decode("utf-8", "replace")
            objects.append(line)
            numbers.append(number)
            continue
        skipped += len(raw) + 1
        # The first says how the file begins; of others, the first foreign line between two objects counts.
        if not line or (is_foreign and others[-1][0] == len(objects)):
            continue
        said = line.decode("utf-8", "replace")
        is_foreign = not is_mere_form(said)
        if is_foreign or not others:
            others.append((len(objects), number, said))
    text = b"".join(line + b"\n" for line in objects)
    ends = np.cumsum([len(line) + 1 for line in objects], dtype=np.int64) - 1
    widths = [len(raw.rstrip(b"\r").decode("utf-8", "replace")) for raw in raw_lines[:100]] if broken else []
    return Lines(text, ends, numbers, others, broken, widths, skipped)


def _without_objects(block: bytes, first: int) -> Lines:
    """Lines without an object: the first says how a file begins, and the first foreign one counts."""
    others: list[tuple[int, int, str]] = []
    at = len(block) - len(block.lstrip())
    while at < len(block):
        end = block.index(b"\n", at)
        text = object_in(block[at:end].strip()).decode("utf-8", "replace")
        is_foreign = not is_mere_form(text)
        if is_foreign or not others:
            others.append((0, first + block.count(b"\n", 0, at), text))
        if is_foreign:
            break
        at = len(block) - len(block[end:].lstrip(RULES + b"\n"))
    return Lines(b"", np.zeros(0, np.int64), [], others, skipped=len(block))


def _of_array(blocks: Iterator[bytes], first: int) -> Iterator[Lines]:
    """The lines of an array whose elements are the lines, or have them."""
    objects: list[bytes] = []
    numbers: list[int] = []
    size = 0
    for number, text in _elements(blocks, first):
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
    text = b"".join(line + b"\n" for line in objects)
    _require_flat(text, ends, numbers)
    return Lines(text, ends, numbers, (), broken, widths)


def _elements(blocks: Iterator[bytes], first: int) -> Iterator[tuple[int, str]]:
    """The lines that an array's elements are or have, with the lines of their keys."""
    decode = JSONDecoder().raw_decode
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    text, at, line = decoder.decode(next(blocks, b"")), 0, first
    begin = ARRAY.search(text)
    is_inside = begin is not None and bool(text[: begin.start()].strip())
    start = text.index("[") if begin is None else begin.start()
    line += text.count("\n", 0, start)
    at = start + 1
    for block in chain([b""], blocks, [None]):
        if block is not None:
            text, at = text[at:] + decoder.decode(block), 0
        while True:
            behind = re.compile(r"[\s,]*").match(text, at)
            assert behind is not None
            line += text.count("\n", at, behind.end())
            at = behind.end()
            if text[at : at + 1] == "]":
                if is_inside:
                    return
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
                if text[at] in "('":
                    raise CaptureFault(
                        line, f"{sample(text[at:])}: this is no array of JSON; write one row a line"
                    ) from None
                if len(text) - at > 16 * LONGEST_LINE:
                    raise too_long(line) from None
                break
            except RecursionError:
                raise nested_too_deep(line, DEEPEST) from None
            if end == len(text) and block is not None:
                break  # more of it may follow
            found = line_in(element)
            if found is None:
                raise CaptureFault(
                    line, "an element has no text that is the line of a capture; save the result again"
                )
            key = re.compile(r"\s*").match(text, at + 1)
            assert key is not None
            yield line + (0 if isinstance(element, str) else text.count("\n", at, key.end())), found
            line += text.count("\n", at, end)
            at = end
    raise CaptureFault(line, "the array is cut here; copy the file or save the result again")
