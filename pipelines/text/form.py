"""How a CSV file is written: its encoding, separator and header, and what a tool left around the rows."""

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyarrow import fs

from pipelines.text.foreign import foreign_text, sample

HEAD = 1 << 16
"""Bytes at the start of a file that say how it is written."""
TAIL = 1 << 12
"""Bytes at its end."""
SEPARATORS = (",", ";", "\t", "|")
PREAMBLE = 10
"""Lines among which the header stands: tools write a few before it."""
MARKS = {b"\xef\xbb\xbf": "utf-8", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
COUNT = re.compile(r"\([^\"]*[0-9][^\"]*\)")
"""A count of rows, in any language: `(3 rows affected)`."""
COMPLETED = re.compile(r"[^,;|\"\t]*: ?\d{4}-\d\d-\d\dT[\d:.+-]+")
"""`Completion time: 2026-11-20T10:00:00.1234567+01:00`, in any language."""
WARNING = re.compile(r"(?:Warning|Warnung|Avertissement|Advertencia|Aviso|Avviso) ?: .*")
"""`Warning: Null value is eliminated by an aggregate or other SET operation.`"""
COMMA = r"(?:, |\uff0c ?|\u3001 ?)"
ERROR = re.compile(
    rf"[^\W\d]+\.? \d+{COMMA}[^\W\d]+ \d+{COMMA}[^\W\d]+ \d+(?:{COMMA}.*)?|Sqlcmd: .*|HResult 0x.*"
)
"""`Msg 1205, Level 13, State 51, Server SQL1, Line 1`, in any language, and what sqlcmd says itself."""
LONGEST_NOTE = 200
"""Characters of such a line."""
NOTES = 5
"""How many lines behind the rows are examined."""
PACKINGS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Compressions by the endings of files."""
MAGIC = {"gzip": b"\x1f\x8b", "bz2": b"BZh", "zstd": b"\x28\xb5\x2f\xfd"}
"""How files of a compression begin."""
LINE_END = re.compile(r"\r\n|\n|\r")
DASHES = re.compile(r"-+")


class ForeignFileError(Exception):
    """A file is no export of this kind; the text says what it seems to be, and what to do."""


@dataclass(frozen=True)
class TextForm:
    """How a CSV file is written.

    Attributes:
        header: the names of its columns, without blanks around them; none of an empty file.
        header_line: the number of the header's line, from 1; 0 of an empty file.
        header_text: that line.
        encoding: of the whole file, by its mark; UTF-8 without one.
        separator: what stands between fields.
        has_dashes: a line of dashes follows the header.
        is_padded: names and values have blanks around them, up to the width of their column.
        has_notes: lines before the header or behind the last row are none of the table.
        has_breaks: a value has a line end inside its quotes.
        is_packed: the file is compressed.
        has_header_again: one of its first lines is the same as the header.
    """

    header: tuple[str, ...] = ()
    header_line: int = 0
    header_text: str = ""
    encoding: str = "utf-8"
    separator: str = ","
    has_dashes: bool = False
    is_padded: bool = False
    has_notes: bool = False
    has_breaks: bool = False
    is_packed: bool = False
    has_header_again: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing in the file, not even a header."""
        return not self.header_line

    @property
    def is_plain(self) -> bool:
        """Whether an engine reads the file as it is, once it is unpacked."""
        odd = (self.has_dashes, self.is_padded, self.has_notes, self.has_breaks, self.is_empty)
        return (self.encoding, self.separator) == ("utf-8", ",") and not any(odd)


def detect_form(head: bytes, tail: bytes, known: Collection[str], *, is_packed: bool = False) -> TextForm:
    """Find how a file is written.

    Args:
        head: its first `HEAD` bytes, unpacked; all of a shorter file.
        tail: its last `TAIL` bytes; nothing if they are not known, or the file is no longer than its head.
        known: names of columns that its header may have; case does not count.
        is_packed: whether the file is compressed.

    Raises:
        ForeignFileError: it is no text, text of another kind, or not whole.
    """
    mark = next((mark for mark in MARKS if head.startswith(mark)), b"")
    encoding = MARKS.get(mark, "utf-8")
    body = head[len(mark) :]
    if not mark and (other := foreign_text(head)):
        raise ForeignFileError(other)
    if head.startswith(b"\xff\xfe\0\0"):
        raise ForeignFileError("it is UTF-32; save it as UTF-8")
    text = body.decode(encoding, errors="replace")
    if not text.strip():
        return TextForm(encoding=encoding)
    if other := foreign_text(text.encode()):
        raise ForeignFileError(other)
    is_whole = len(head) < HEAD
    lines = lines_of(text) if is_whole else lines_of(text)[:-1] or [text]
    last = lines if is_whole else lines_of(tail.decode(encoding, errors="replace"))
    last = [line for line in last if line.strip()]
    for line in [*lines[:PREAMBLE], *last[-NOTES:]]:
        require_no_error(line)
    number, separator, names = _header(lines, known)
    following = lines[number:]
    first_row = next((line for line in following if line.strip()), "")
    return TextForm(
        header=tuple(name.strip() for name in names),
        header_line=number,
        header_text=lines[number - 1],
        encoding=encoding,
        separator=separator,
        has_dashes=is_dashes(first_row, separator),
        is_padded=any(name != name.strip() for name in names),
        has_notes=any(line.strip() for line in lines[: number - 1]) or any(map(is_note, last[-NOTES:])),
        has_breaks=any(line.count('"') % 2 for line in following),
        is_packed=is_packed,
        has_header_again=lines[number - 1] in following,
    )


def read_form(system: fs.FileSystem, path: str, known: Collection[str]) -> tuple[TextForm, bytes]:
    """Find how a file is written, and return its first bytes too, unpacked.

    Args:
        system: where it is.
        path: its path there.
        known: names of columns that its header may have; case does not count.

    Raises:
        ForeignFileError: as `detect_form`.
    """
    compression = packing(path)
    with system.open_input_stream(path, compression=compression) as stream:
        head = stream.read(HEAD)
    tail = b""
    if compression is None and len(head) == HEAD:
        with system.open_input_file(path) as file:
            # Whole characters of UTF-16, too.
            file.seek((file.size() - TAIL) // 2 * 2)
            tail = file.read(TAIL + 1)
    return detect_form(head, tail, known, is_packed=compression is not None), head


def whole_lines(head: bytes, form: TextForm) -> bytes:
    """The first bytes of a file up to the last line end in them; all of a file that is shorter."""
    if len(head) < HEAD:
        return head
    end = "\n".encode(form.encoding)
    place = head.rfind(end)
    # Half of one character and half of the next may look like a line end.
    while place > 0 and form.encoding != "utf-8" and place % 2:
        place = head.rfind(end, 0, place)
    return head[: place + len(end)]


def lines_of(text: str) -> list[str]:
    """The lines of a text: as engines do it, at CR, LF or both, and at no other character."""
    return LINE_END.split(text)


def is_dashes(line: str, separator: str) -> bool:
    """Whether a line parts the header from the rows: each of its fields has dashes only."""
    return all(DASHES.fullmatch(field.strip()) for field in line.strip().split(separator))


def is_count(line: str) -> bool:
    """Whether a line is the count of rows that a tool writes behind a table."""
    bare = line.strip()
    return len(bare) <= LONGEST_NOTE and bool(COUNT.fullmatch(bare))


def is_note(line: str) -> bool:
    """Whether a tool writes such a line behind the rows: their count, a warning, or when it was done."""
    bare = line.strip()
    return len(bare) <= LONGEST_NOTE and any(each.fullmatch(bare) for each in (COUNT, COMPLETED, WARNING))


def require_no_error(line: str) -> None:
    """Require that a line is not an error of the server, which leaves an export without all of its rows.

    Raises:
        ForeignFileError: it is.
    """
    bare = line.strip()
    if ERROR.fullmatch(bare):
        raise ForeignFileError(
            f"it has an error in place of rows, {sample(bare)}: not all rows are there; export it again"
        )


def not_packed(path: str) -> str | None:
    """What to say of a file whose ending says that it is compressed, and that is not; None of any other."""
    kind = packing(path)
    if kind is None or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        begin = file.read(len(MAGIC[kind]))
    if not begin or begin == MAGIC[kind]:
        return None
    return f"it is not compressed, although its name ends {os.path.splitext(path)[1]}; take the ending away"


def packing(path: str) -> str | None:
    """The compression of a file by its ending, in any case, as pyarrow calls it."""
    return next((name for ending, name in PACKINGS.items() if path.lower().endswith(ending)), None)


def fields_of(line: str, separator: str) -> list[tuple[str, bool]] | None:
    """The fields of a line, each with whether it stands in quotes; None where quotes stand in a wrong place.

    In quotes two quotes are one.
    """
    if '"' not in line:
        return [(field, False) for field in line.split(separator)]
    found, at = [], 0
    pattern = _field(separator)
    while True:
        match = pattern.match(line, at)
        if match is None:
            return None
        quoted = match["quoted"]
        found.append((match["bare"], False) if quoted is None else (quoted.replace('""', '"'), True))
        at = match.end()
        if at == len(line):
            return found
        at += 1
        if line[at - 1] != separator:
            return None


def _field(separator: str) -> re.Pattern[str]:
    sign = re.escape(separator)
    # Python keeps the patterns that it has made.
    return re.compile(rf'"(?P<quoted>[^"]*(?:""[^"]*)*)"(?={sign}|\Z)|(?P<bare>(?!")[^{sign}]*)')


def _header(lines: Sequence[str], known: Collection[str]) -> tuple[int, str, list[str]]:
    """The header's line, from 1, its separator and names: the first of few lines that names a known column.

    Without any it is the first line that no tool writes before a header.
    """
    sought = {name.lower() for name in known}
    best: tuple[int, int, str, list[str]] = (0, 0, ",", [])
    for number, line in enumerate(lines[:PREAMBLE], start=1):
        for separator in SEPARATORS:
            fields = fields_of(line, separator)
            names = [text for text, _ in fields or ()]
            hits = len({name.strip().lower() for name in names} & sought)
            if hits > best[0]:
                best = (hits, number, separator, names)
        if best[0]:
            return best[1:]
    for number, line in enumerate(lines, start=1):
        if line.strip() and not line.startswith(("#TYPE", "sep=")):
            separator = max(SEPARATORS, key=line.count)
            return number, separator, [text for text, _ in fields_of(line, separator) or [(line, False)]]
    return 1, ",", [lines[0]]
