"""Write a table on the terminal, as wide as it allows: nothing is cut off, no word is broken inside."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from rich.box import SIMPLE
from rich.cells import cell_len
from rich.table import Table as Grid
from rich.text import Text

from pipelines.blocks.tables import Column, Id, Row, Table
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.console.terminal import Terminal, escape_line
from pipelines.console.wording import FORMATS, format_count, shorten_each

BREAKS = re.compile(r"(?<=\s)(?!\s)|(?<=\w[/._-])(?![\s/._-])(?!(?<=\d[/._-])\d)")
"""Where a text may be broken: behind blanks and the signs between words of a name, but not between digits."""
BLANKS = re.compile(r"(?<=\s)(?!\s)")
"""Where it is broken first."""
NONE = "none"
NOTHING, HEADS, TIMES = range(3)
"""What is broken into lines: each adds to the one before."""


class Blank:
    """The value of a cell that its row does not have; unlike null it says nothing."""


BLANK = Blank()


class Figure(str):
    """A number as text."""

    __slots__ = ()


@dataclass(frozen=True)
class Sheet:
    """Columns and the values of rows, before a layout is chosen.

    Attributes:
        columns: their names.
        rows: values, one per column: null is blank, a tuple is several lines.
        sections: the numbers of rows, from 0, that a line follows.
        shared: the values that all rows share, for the title.
        has_short_ids: whether an id is shortened.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    sections: Collection[int] = ()
    shared: str = ""
    has_short_ids: bool = False

    def without_single_values(self) -> "Sheet":
        """Say in the title what all rows share."""
        if len(self.rows) < 2:
            return self
        single = {
            index: next(iter(values), "")
            for index, column in enumerate(zip(*self.rows, strict=True))
            if len(values := {_cell(value) for value in column if value is not BLANK}) <= 1
        }
        if len(single) == len(self.columns):
            return self
        shared = ", ".join(f"{self.columns[index]} {value or NONE}" for index, value in single.items())
        kept = [index for index in range(len(self.columns)) if index not in single]
        return replace(
            self,
            columns=[self.columns[index] for index in kept],
            rows=[[row[index] for index in kept] for row in self.rows],
            shared=shared,
        )

    def with_short_ids(self) -> "Sheet":
        """Shorten the ids of each kind that stay unique."""
        ids = [value for row in self.rows for value in row if isinstance(value, Id)]
        short = shorten_each(ids)
        if not short:
            return self
        rows = [
            [short.get(value, value) if isinstance(value, Id) else value for value in row]
            for row in self.rows
        ]
        return replace(self, rows=rows, has_short_ids=True)


def print_answer(console: Terminal, table: Table, rows: Iterable[Row]) -> None:
    """Print the rows of a declared table: null is blank, numbers stand right, times are as in settings.

    Columns without a value are left out. Where the table is wider than the terminal, columns with one value
    move into the title, then the names of columns are broken, then a terminal shows short ids, then times are
    broken. If that is not enough, texts are broken between words, then the frame goes. Where even that has no
    room, each row is a list of names and values.
    """
    shown = list(rows)
    if not shown:
        console.write_line(f"{table.title}: {table.empty}")
        return
    columns = table.columns_of(shown)
    empty = BLANK if table.is_tree else None
    values = [[_value_of(column, row, empty) for column in columns] for row in shown]
    ends = [number for number, row in enumerate(shown) if table.is_last(row)]
    _print_sheet(console, table.title, Sheet([column.head for column in columns], values, ends))


def _value_of(column: Column, row: Row, empty: Blank | None) -> Any:
    value, remark = column.value(row), column.remark(row)
    if value is None:
        return empty
    written = _write(column, value)
    return f"{written} ({remark})" if remark else written


def _write(column: Column, value: Any) -> Any:
    if column.kind in ("name", "text", "lines", "moment"):
        return value
    if column.kind == "place":
        *within, name = value
        names = [*("?" if each is None else each for each in within), name]
        return queue_text(names if name is not None else names[:-1])
    if column.kind == "id":
        return value if isinstance(value, Id) else Id(column.head, value)
    text = FORMATS[column.kind](value)
    return text if column.kind == "word" else Figure(text)


def print_cut(
    console: Terminal,
    rows: Sequence[Row],
    in_all: Mapping[str, int],
    noun: str,
    command: str = "--limit prints more",
) -> None:
    """Print how many rows are left out, with their sums, and what shows them; nothing if none are."""
    if more := in_all["rows"] - len(rows):
        sums = [
            f", {format_count(total - sum(row[name] for row in rows), name.removesuffix('s'))}"
            for name, total in in_all.items()
            if name != "rows"
        ]
        console.write_line(f"  and {format_count(more, f'more {noun}')}{''.join(sums)}: {command}")


def _print_sheet(console: Terminal, title: str, sheet: Sheet) -> None:
    """Print a table in the first layout that fits."""
    single = sheet.without_single_values()
    last = single.with_short_ids() if console.shortens else single
    attempts = [(sheet, NOTHING), (single, NOTHING), (single, HEADS)]
    attempts += [(last, NOTHING), (last, HEADS), (last, TIMES)]
    for plan, breaks in attempts:
        if lines := _laid_out(plan, console.width - _framed(plan), breaks):
            _print_grid(console, title, plan, *lines)
            return
    plan = last
    if lines := _wrapped(plan, console.width - _framed(plan)):
        _print_grid(console, title, plan, *lines)
    elif lines := _wrapped(plan, console.width - (len(plan.columns) - 1)):
        _print_grid(console, title, plan, *lines, is_framed=False)
    else:
        _print_list(console, title, plan)


Cells = Sequence[Sequence[str]]
"""The texts of a table by column; line feeds are breaks."""


def _framed(sheet: Sheet) -> int:
    """Return the width of a frame."""
    return 1 + len(" │ ") * len(sheet.columns)


def _laid_out(sheet: Sheet, room: int, breaks: int) -> tuple[Sequence[str], Cells] | None:
    """Write heads and texts with these breaks; None if they are wider than the room."""
    heads = [escape_line(column) for column in sheet.columns]
    cells = _texts(sheet, _wrap_time if breaks >= TIMES else _cell)
    if breaks >= HEADS:
        heads = [_wrap(head, _text_width(each)) for head, each in zip(heads, cells, strict=True)]
    return (heads, cells) if _width(heads, cells) <= room else None


def _wrapped(sheet: Sheet, room: int) -> tuple[Sequence[str], Cells] | None:
    """Break texts between words until the table fits, the widest column first; None if words are too long."""
    heads, cells = list(map(escape_line, sheet.columns)), _texts(sheet, _wrap_time)
    breaks = [
        [not isinstance(value, datetime) for value in column] for column in zip(*sheet.rows, strict=True)
    ] or [[] for _ in heads]
    least = [
        max(
            _longest_part(head),
            *(
                _longest_part(text) if may_break else _text_width([text])
                for text, may_break in zip(of_column, may, strict=True)
            ),
        )
        for head, of_column, may in zip(heads, cells, breaks, strict=True)
    ]
    wide = [_text_width([head, *of_column]) for head, of_column in zip(heads, cells, strict=True)]
    if sum(least) > room:
        return None
    while sum(wide) > room:
        widest = max(
            (index for index in range(len(wide)) if wide[index] > least[index]), key=wide.__getitem__
        )
        wide[widest] -= 1
    return (
        [_wrap(head, most) for head, most in zip(heads, wide, strict=True)],
        [
            [_wrap(text, most) if may_break else text for text, may_break in zip(texts, may, strict=True)]
            for texts, may, most in zip(cells, breaks, wide, strict=True)
        ],
    )


def _texts(sheet: Sheet, write: Any) -> Cells:
    columns = list(zip(*sheet.rows, strict=True)) or [()] * len(sheet.columns)
    return [[write(value) for value in column] for column in columns]


def _print_grid(
    console: Terminal,
    title: str,
    sheet: Sheet,
    heads: Sequence[str],
    cells: Cells,
    *,
    is_framed: bool = True,
) -> None:
    _print_title(console, title, sheet)
    grid = Grid() if is_framed else Grid(box=SIMPLE, show_edge=False, padding=0)
    for index, head in enumerate(heads):
        numbers = all(isinstance(row[index], Blank | Figure | None) for row in sheet.rows)
        # Every line has its room: nothing is left for the grid to break.
        grid.add_column(Text(head), overflow="fold", justify="right" if numbers else "left")
    for number, texts in enumerate(zip(*cells, strict=True)):
        grid.add_row(*map(Text, texts), end_section=number in sheet.sections)
    console.print(grid)
    _print_note(console, sheet)


def _print_list(console: Terminal, title: str, sheet: Sheet) -> None:
    """Print each row as lines of a name and a value."""
    _print_title(console, title, sheet)
    for row in sheet.rows:
        for name, value in zip(sheet.columns, row, strict=True):
            if text := _cell(value):
                indented = text.replace("\n", "\n  ")
                console.write_line(Text(f"{escape_line(name)}: {indented}"))
        console.print()
    _print_note(console, sheet)


def _print_title(console: Terminal, title: str, sheet: Sheet) -> None:
    # Not as the grid's title, which breaks where the grid ends.
    shared = f" ({sheet.shared})" if sheet.shared else ""
    if title or shared:
        text = escape_line(f"{title}{shared}".strip())
        # A line that goes into a file stays one line.
        lines = _wrap(text, console.width) if console.shortens else text
        console.write_line(Text(lines), style="bold")


def _print_note(console: Terminal, sheet: Sheet) -> None:
    if sheet.has_short_ids and not console.told_of_ids:
        console.told_of_ids = True
        console.write_line("Ids are shortened where that is unique; --wide shows them whole.")


def _width(heads: Sequence[str], cells: Cells) -> int:
    """Return the width of all columns without further line breaks."""
    return sum(_text_width([head, *each]) for head, each in zip(heads, cells, strict=True))


def _text_width(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def _longest_part(text: str) -> int:
    return max(cell_len(part.rstrip()) for line in text.split("\n") for part in BREAKS.split(line))


def _wrap(text: str, width: int) -> str:
    """Break a text into lines of this width, if possible: a name only where it is longer than a line."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines.append("")
        words = BLANKS.split(line)
        for part in [
            part
            for word in words
            for part in ([word] if cell_len(word.rstrip()) <= width else BREAKS.split(word))
        ]:
            if lines[-1] and cell_len((lines[-1] + part).rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def format_cell(value: object) -> str:
    """Write a value: null is blank, times are as in settings."""
    if value is None or value is BLANK:
        return ""
    if isinstance(value, datetime):
        return format_instant(value)
    return escape_line(str(value))


def _cell(value: object) -> str:
    return "\n".join(map(format_cell, value)) if isinstance(value, tuple) else format_cell(value)


def _wrap_time(value: object) -> str:
    """Write a value, a time below its date."""
    text = _cell(value)
    return text.replace("T", "\nT", 1) if isinstance(value, datetime) else text
