"""Tables as the templates write them: columns, and the cells of their rows."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipelines.blocks.tables import AtLeast, Column, Table
from pipelines.console.wording import FORMATS, format_number
from pipelines.report.formats import NO_VALUE, format_moment, format_name
from pipelines.report.tables import PageData, Row

LEVELS = range(10, 0, -1)
WRITERS: Mapping[str, Callable[[Any], str]] = {
    **FORMATS,
    "name": format_name,
    "id": format_name,
    "text": str,
    "moment": format_moment,
}
"""How a column writes its values, by the type of the column."""
CLASSES = {"name": "name", "word": "", "id": "id", "text": "long"}
"""The class of the cells of a column; those of other types are numbers."""
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
class TableColumn:
    """A column: its head, its type (a key of WRITERS), the value of a row, and the cell if it is special."""

    head: str
    type: str
    value: Callable[[Row], Any]
    cell: Callable[[Row], Cell] | None = None
    is_shaded: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the column is sorted by number, the largest first."""
        return self.type not in CLASSES

    @property
    def cell_class(self) -> str:
        """The class of its cells."""
        return f"{CLASSES.get(self.type, NUMBER)}{' heat' if self.is_shaded else ''}"

    def cell_of(self, row: Row) -> Cell:
        """Return the cell of a row."""
        value = self.value(row)
        if self.cell is not None:
            cell = self.cell(row)
        elif value is None:
            cell = EMPTY
        else:
            cell = Cell(WRITERS[self.type](value), instant=value if self.type == "moment" else "")
        is_shown = not self.is_number and (self.type != "word" or value == cell.text)
        return replace(cell, value=None if is_shown else value)


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
    columns: Sequence[TableColumn],
    rows: Sequence[Row],
    *,
    note: str = "",
    empty: str = "none.",
) -> HtmlTable:
    """Make the table of some rows; it leaves out columns without any value."""
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
    columns = list(map(declared_column, table.columns))
    return make_table(table.name, table.title, columns, data.rows(part), note=note, empty=table.empty)


def declared_column(declared: Column) -> TableColumn:
    """Make a column of a declared one."""

    def value(row: Row) -> Any:
        found = declared.value(row)
        if declared.kind == "place":
            return found[-1]
        return found.seconds if isinstance(found, AtLeast) else found

    def cell(row: Row) -> Cell:
        found = declared.value(row)
        if found is None:
            return EMPTY
        text_class = "flag" if declared.is_flagged(row) else ""
        if declared.kind == "place":
            *within, name = found
            small = " · ".join(format_name("?" if each is None else each) for each in within)
            return replace(EMPTY if name is None else Cell(format_name(name)), small=small)
        instant = found if declared.kind == "moment" else ""
        return Cell(WRITERS[declared.kind](found), instant=instant, text_class=text_class)

    kind = {"place": "name", "share": "level"}.get(declared.kind, declared.kind)
    return TableColumn(declared.head, kind, value, cell)


def column(head: str, type: str, key: str) -> TableColumn:
    """Make a column of one value."""
    return TableColumn(head, type, lambda row: row[key])


def placed_column(head: str, key: str, within: Sequence[str] = ("instance", "database")) -> TableColumn:
    """Make a column of a name with what it belongs to in small print."""

    def cell(row: Row) -> Cell:
        small = " · ".join(format_name("?" if row[name] is None else row[name]) for name in within)
        return replace(EMPTY if row[key] is None else Cell(format_name(row[key])), small=small)

    return TableColumn(head, "name", lambda row: row[key], cell)


def opening_column(base: TableColumn) -> TableColumn:
    """Make a column whose names open the details of their rows."""
    return replace(base, cell=lambda row: replace(base.cell_of(row), opens=row["index"]))


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

        return TableColumn(f"Level {level}", "count", value, cell, is_shaded=True)

    used = {level for _, level in messages}
    return [level_column(level) for level in LEVELS if level in used]
