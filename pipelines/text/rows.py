"""The rows of a CSV file, whatever its form: read, or written again as an engine reads them."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from pipelines.text.foreign import AS_UTF8, sample
from pipelines.text.form import (
    ForeignFileError,
    TextForm,
    fields_of,
    is_count,
    is_dashes,
    is_note,
    require_no_error,
)

EMPTY = ("", "\0")
"""Texts that are null; bcp writes a NUL for the empty text."""
NULLS = (*EMPTY, "NULL", r"\N")
"""Texts that are null without quotes."""
LONGEST_LINE = 1 << 24
"""Characters that a line may have."""
LONGEST_VALUE = 1000
"""Lines that a value in quotes may have."""
ODD = '"%s\n'
"""A line that is a row of no form: a quote that nothing closes."""


@dataclass(frozen=True)
class TextRow:
    """A row of a CSV file.

    Attributes:
        line: the number of its first line, from 1.
        raw: the lines as they stand in the file, with blanks for line ends inside of quotes.
        fields: its fields, each with whether it stands in quotes; None where its quotes don't fit.
        is_ended: whether a line end follows.
        is_joined: whether it stands on several lines.
    """

    line: int
    raw: str
    fields: list[tuple[str, bool]] | None
    is_ended: bool = True
    is_joined: bool = False

    def values(self) -> list[str | None]:
        """Its values; NULL without quotes is null, and so is an empty text."""
        return [
            None if text in (EMPTY if is_quoted else NULLS) else text for text, is_quoted in self.fields or ()
        ]


def text_rows(stream: BinaryIO, form: TextForm) -> Iterator[TextRow]:
    """The rows behind the header, without lines that a tool left.

    Args:
        stream: the file from its start, unpacked.
        form: how it is written.

    Raises:
        ForeignFileError: bytes are none of its encoding, a line is too long, rows are missing for an error
            of the server, or a second table begins; names the line.
    """
    lines = _Lines(_numbered(stream, form))
    is_first, is_counted = True, False
    for number, line in lines:
        bare = line.rstrip("\r\n")
        if number <= form.header_line or not bare.strip():
            continue
        has_dashes = form.has_dashes and is_dashes(bare, form.separator)
        parts_header, is_first = is_first and has_dashes, False
        if parts_header:
            continue
        if bare.count(form.separator) < len(form.header) - 1:
            if is_note(bare):
                is_counted = is_counted or is_count(bare)
                continue
            require_no_error(bare)
        if has_dashes or (is_counted and form.separator in bare):
            raise ForeignFileError(f"line {number} is of a second table; export one table a file")
        yield _row(number, line, lines, form)


def rewrite(stream: BinaryIO, form: TextForm) -> Iterator[bytes]:
    """The file written again: UTF-8, commas, no blanks around values, a row a line; line by line.

    A line end inside of quotes becomes a blank. A row whose quotes don't fit stays one that doesn't.

    Raises:
        ForeignFileError: as `text_rows`.
    """
    yield (_line([(name, False) for name in form.header]) + "\n").encode()
    for row in text_rows(stream, form):
        if row.fields is None:
            yield (ODD % row.raw.replace('"', "'")).encode()
        else:
            yield (_line(row.fields) + ("\n" if row.is_ended else "")).encode()


class _Lines(Iterator[tuple[int, str]]):
    """Numbered lines; some that were taken can be given back."""

    def __init__(self, lines: Iterator[tuple[int, str]]) -> None:
        self._lines = lines
        self._returned: list[tuple[int, str]] = []

    def __next__(self) -> tuple[int, str]:
        return self._returned.pop() if self._returned else next(self._lines)

    def give_back(self, lines: Sequence[tuple[int, str]]) -> None:
        self._returned += reversed(lines)


def _numbered(stream: BinaryIO, form: TextForm) -> Iterator[tuple[int, str]]:
    # Bytes that are no UTF-8 become signs that no text has.
    errors = "surrogateescape" if form.encoding == "utf-8" else "strict"
    text = io.TextIOWrapper(stream, form.encoding, errors=errors, newline="")
    try:
        for number, line in enumerate(iter(lambda: text.readline(LONGEST_LINE), ""), start=1):
            if len(line) == LONGEST_LINE and line[-1] not in "\r\n":
                raise ForeignFileError(
                    f"line {number} has more than {LONGEST_LINE:,} characters; leave bodies of messages out "
                    "of the export"
                )
            if not line.isascii():
                _require_text(number, line)
            yield number, line.removeprefix("\ufeff") if number == 1 else line
    except UnicodeDecodeError as error:
        raise ForeignFileError(
            f"it has bytes that are no {form.encoding.upper()}, as its mark says ({error.reason}); {AS_UTF8}"
        ) from None


def _require_text(number: int, line: str) -> None:
    try:
        line.encode()
    except UnicodeEncodeError as error:
        if is_note(line):
            return
        around = line[max(0, error.start - 20) :].encode(errors="surrogateescape").decode("cp1252", "replace")
        raise ForeignFileError(
            f"line {number} is no UTF-8: it is {sample(around)} if the file "
            f"is in code page 1252; {AS_UTF8} (sqlcmd -f 65001, bcp -C 65001, Export-Csv -Encoding utf8)"
        ) from None


def _row(number: int, line: str, following: _Lines, form: TextForm) -> TextRow:
    """The row that begins with a line, with the lines that its quotes hold together."""
    raw = line
    fields = fields_of(raw.rstrip("\r\n"), form.separator)
    if fields is None and raw.count('"') % 2:
        taken = []
        for each in following:
            taken.append(each)
            if each[1].count('"') % 2 or len(taken) == LONGEST_VALUE:
                break
        joined = raw + "".join(more for _, more in taken)
        fields = fields_of(joined.rstrip("\r\n"), form.separator)
        if fields is None:
            following.give_back(taken)
        else:
            raw = joined
    bare = raw.rstrip("\r\n")
    if fields is not None:
        fields = [
            (_on_one_line(text) if is_quoted else text.strip() if form.is_padded else text, is_quoted)
            for text, is_quoted in fields
        ]
    return TextRow(number, _on_one_line(bare), fields, raw != bare, raw != line)


def _on_one_line(text: str) -> str:
    return text.replace("\r", " ").replace("\n", " ")


def _line(fields: Iterable[tuple[str, bool]]) -> str:
    return ",".join(
        '"' + text.replace('"', '""') + '"' if is_quoted or "," in text or text.startswith('"') else text
        for text, is_quoted in fields
    )
