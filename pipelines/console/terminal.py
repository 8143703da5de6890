"""Write rows as a table on the terminal, or as JSON."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table as Grid
from rich.text import Text

from pipelines.config.instants import format_instant

PLAIN_WIDTH = 160
"""The width of text where standard output is no terminal."""
MINIMUM_WIDTH = 60
"""A narrower terminal breaks the lines of a table; a table of its width would lack whole columns."""
ONE_DECIMAL_FROM = 1000
"""Numbers from here on have one decimal, smaller ones five figures."""
BREAKS = re.compile(r"(?<=_)")
"""Where the name of a column may be broken."""
INVISIBLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    r"\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Characters that steer a terminal or have no width: escapes, line ends other than a line feed, changes of
the
direction of text, marks of no width, fillers, tags."""
LINE_BREAKS = re.compile(r"[\t\n]")


def escape_invisible(text: str) -> str:
    """Escape each invisible character as JSON does; line feeds and tabs stay."""
    return INVISIBLE.sub(_escape, text)


def escape_line(text: str) -> str:
    """Escape invisible characters, line feeds and tabs, so that a name can't begin a line."""
    return LINE_BREAKS.sub(_escape, escape_invisible(text))


def cell_lines(texts: Iterable[str]) -> Text:
    """Return several lines for one cell of a table."""
    return Text("\n".join(map(escape_line, texts)))


def _escape(character: re.Match[str]) -> str:
    # As JSON does: what is beyond four digits takes two escapes.
    units = character[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


class _Console(Console):
    """A console that takes a text for one line: what goes on further lines is a `Text`."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(escape_line(text), **options)


def open_console() -> Console:
    """Open standard output: it prints names as they are, without markup or control characters."""
    console = _Console(highlight=False, markup=False, emoji=False)
    width = max(console.width, MINIMUM_WIDTH) if console.is_terminal else PLAIN_WIDTH
    return _Console(width=width, highlight=False, markup=False, emoji=False)


def print_rows(
    console: Console, title: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    """Print rows as a table with a title: null is blank, numbers stand right, times are as in settings.

    Where the table is wider than the terminal, names of columns are broken first, then times, then all else.
    """
    # Not as the grid's title, which breaks where the grid ends.
    console.print(title, style="bold", soft_wrap=True)
    rows, headers = list(rows), [escape_line(column) for column in columns]
    cells = [[format_cell(row[column]) for row in rows] for column in columns]
    if _grid_width(headers, cells) > console.width:
        headers = [
            _wrap_header(header, _text_width(each)) for header, each in zip(headers, cells, strict=True)
        ]
    if _grid_width(headers, cells) > console.width:
        cells = [[_wrap_time(row[column]) for row in rows] for column in columns]
    grid = Grid()
    for column, header in zip(columns, headers, strict=True):
        numbers = all(isinstance(row[column], int | float | None) for row in rows)
        grid.add_column(Text(header), overflow="fold", justify="right" if numbers else "left")
    for texts in zip(*cells, strict=True):
        grid.add_row(*map(Text, texts))
    console.print(grid)


def make_table(*headers: str) -> Grid:
    """Make a table to add rows of text to: long texts are wrapped, none is cut off."""
    return Grid(*[Column(header, overflow="fold") for header in headers])


def _grid_width(headers: Sequence[str], cells: Iterable[Iterable[str]]) -> int:
    """Return the width of the table without further line breaks."""
    columns = zip(headers, cells, strict=True)
    return 1 + sum(_text_width([header, *each]) + len(" │ ") for header, each in columns)


def _text_width(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def format_cell(value: object) -> str:
    """Write a value: null is blank, times are as in settings, decimals are few."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= ONE_DECIMAL_FROM else f"{value:.5g}"
    return escape_line(str(value))


def to_json(content: Any) -> str:
    """Write plain values as JSON; times as in the settings."""
    return escape_invisible(json.dumps(content, default=_json_text, ensure_ascii=False, indent=2))


def _wrap_header(column: str, width: int) -> str:
    """Break the name of a column into lines as wide as its cells, if possible."""
    cell_lines = [""]
    for part in BREAKS.split(column):
        if len(cell_lines[-1] + part) > width:
            cell_lines.append("")
        cell_lines[-1] += part
    return "\n".join(line for line in cell_lines if line)


def _wrap_time(value: object) -> str:
    """Write a value, a time below its date."""
    text = format_cell(value)
    return text.replace("T", "\nT", 1) if isinstance(value, datetime) else text


def _json_text(value: object) -> str:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no text for {value!r}")
