"""Values and tables as the templates write them: columns, and the cells of their rows."""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from pipelines.blocks.tables import AtLeast, Column, Row, Table
from pipelines.console.wording import FORMATS, MINUS, format_number
from pipelines.report.tables import PageData

INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
NO_VALUE = "\u2013"
INVISIBLE = r"\u007f-\u00a0\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
HIDDEN = re.compile(rf"\s\s|[\u0000-\u001f{INVISIBLE}]")
"""What makes a name look like another one: blanks side by side, and characters without a shape."""
INVISIBLE_CHARACTER = re.compile(f"[{INVISIBLE}]")
JOINT = re.compile(r"(?<=[^\s./_][./_])(?=[^\s./_])")
"""Where a long name may wrap."""


def format_moment(instant: str) -> str:
    """Write an instant to the second; the tables of the warehouse have the rest."""
    return f"{instant[:10]} {instant[11:19]}"


def format_moments(text: str) -> str:
    """Write the instants in a sentence as those of tables."""
    return INSTANT.sub(lambda found: format_moment(found[0]), text)


def format_night(instant: str) -> str:
    """Write the name of a night: its day, if it ends with one."""
    return instant[:10] if instant[11:] == "00:00:00Z" else format_moment(instant)


def format_name(name: str) -> str:
    """Write a name as it is, or in quotes with escapes where it would look like another one."""
    if name and name == name.strip() and not HIDDEN.search(name):
        return name
    quoted = json.dumps(name, ensure_ascii=False)
    return INVISIBLE_CHARACTER.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def format_change(now: int | None, before: int | None) -> str:
    """Write the change from one night to the next; empty where one of them is not known."""
    if before is None or now is None:
        return ""
    change = now - before
    return "±0" if change == 0 else f"{'+' if change > 0 else MINUS}{format_number(abs(change))}"


def wrap_name(text: str) -> Markup:
    """Write a text as HTML that wraps behind dots, slashes and underscores; a copy of it is the text."""
    return Markup("<wbr>").join(JOINT.split(text))


LEVELS = range(10, 0, -1)
WRITERS: Mapping[str, Callable[[Any], str]] = {
    **FORMATS,
    "name": format_name,
    "id": format_name,
    "text": str,
    "lines": "; ".join,
    "moment": format_moment,
}
"""How a column writes its values, by its kind."""
CLASSES = {"name": "name", "place": "name", "word": "", "id": "id", "text": "long", "lines": "long"}
"""The class of the cells of a column; those of other kinds are numbers."""
NUMBER = "number"


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Attributes:
        text: what it shows.
        small: small print below the text.
        text_class: the class of the text: flag, none; empty for plain text.
        small_class: the class of the small print.
        instant: the instant that the text stands for.
        opens: the index of the queue or instance that a click on the text opens.
        share: a shade, 0 to 1.
        value: what the column is sorted by, and found by beside the text; None is last.
    """

    text: str = NO_VALUE
    small: str = ""
    text_class: str = ""
    small_class: str = "where"
    instant: str = ""
    opens: int | None = None
    share: str = ""
    value: Any = None


EMPTY = Cell(text_class="none")


@dataclass(frozen=True)
class TableColumn(Column):
    """A declared column as the page writes it.

    Attributes:
        cell: makes the cells of the column if they are special.
        is_shaded: whether the shade of a cell shows its value.
    """

    cell: Callable[[Row], Cell] | None = None
    is_shaded: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the column is sorted by number, the largest first."""
        return self.kind not in CLASSES

    @property
    def cell_class(self) -> str:
        """The class of its cells."""
        return f"{CLASSES.get(self.kind, NUMBER)}{' heat' if self.is_shaded else ''}"

    def cell_of(self, row: Row) -> Cell:
        """Return the cell of a row, with the value that it is sorted by."""
        found = self.value(row)
        value = found.seconds if isinstance(found, AtLeast) else found
        cell = self._write(row, found) if self.cell is None else self.cell(row)
        cell = replace(cell, small=self.remark(row) or cell.small)
        is_shown = not self.is_number and (self.kind != "word" or value == cell.text)
        return replace(cell, value=None if is_shown else value)

    def _write(self, row: Row, value: Any) -> Cell:
        if value is None:
            return EMPTY
        if self.kind == "place":
            *within, name = value
            small = " · ".join(format_name("?" if each is None else each) for each in within)
            return replace(EMPTY if name is None else Cell(format_name(name)), small=small)
        text_class = "flag" if self.is_flagged(row) else ""
        instant = value if self.kind == "moment" else ""
        return Cell(WRITERS[self.kind](value), instant=instant, text_class=text_class)


def to_page(column: Column) -> TableColumn:
    """Return a declared column as the page writes it."""
    return column if isinstance(column, TableColumn) else TableColumn(**vars(column))


@dataclass(frozen=True)
class HtmlTable:
    """A table of the page; without rows it is the caption with `empty`.

    Attributes:
        name: its place in the template.
        caption: its title.
        empty: what stands behind the caption where there are no rows.
        columns: its columns.
        rows: the cells of each row.
        note: a sentence below the caption.
        is_sortable: whether a click on a head sorts it.
    """

    name: str
    caption: str
    empty: str
    columns: Sequence[TableColumn]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    is_sortable: bool = True


def make_table(
    name: str,
    caption: str,
    declared: Sequence[Column],
    rows: Sequence[Row],
    *,
    note: str = "",
    empty: str = "none.",
) -> HtmlTable:
    """Make the table of some rows; it leaves out columns without any value."""
    columns = list(map(to_page, declared))
    cells = [[column.cell_of(row) for column in columns] for row in rows]
    used = [
        index
        for index in range(len(columns))
        if any(row[index].text_class != "none" or row[index].small for row in cells)
    ]
    shown = [[row[index] for index in used] for row in cells]
    return HtmlTable(name, caption, empty, [columns[index] for index in used], shown, note)


def make_answer(table: Table, data: PageData) -> HtmlTable:
    """Make a declared table of the rows that have its name."""
    part = table.name.replace("-", "_")
    note = data.note_left_out(part, table.first) or table.note
    return make_table(table.name, table.title, table.columns, data.rows(part), note=note, empty=table.empty)


def opening_column(base: Column) -> TableColumn:
    """Make a column whose names open the details of their rows."""
    column = to_page(base)
    return replace(column, cell=lambda row: replace(column.cell_of(row), opens=row["index"]))


def level_columns(levels: Mapping[int, Sequence[Row]], rows: Sequence[Row]) -> list[TableColumn]:
    """Make a column for each level in use: a number, and a shade that says the same."""
    messages = {(index, row["level"]): row["messages"] for index, of_row in levels.items() for row in of_row}
    most = max([1, *(messages.get((row["index"], level), 0) for row in rows for level in LEVELS)])

    def level_column(level: int) -> TableColumn:
        def value(row: Row) -> int | None:
            return messages.get((row["index"], level))

        def cell(row: Row) -> Cell:
            number = value(row)
            if number is None:
                return EMPTY
            share = f"{0.08 + 0.37 * math.sqrt(number / most):.3f}" if number else ""
            return Cell(format_number(number), share=share)

        return TableColumn(f"Level {level}", "count", value, cell=cell, is_shaded=True)

    used = {level for _, level in messages}
    return [level_column(level) for level in LEVELS if level in used]
