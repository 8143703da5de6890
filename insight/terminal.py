"""Rows as people and programs read them: a table on the terminal, or JSON."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.table import Column, Table as Grid
from rich.text import Text

from config.instants import format_instant

PLAIN_WIDTH = 160
"""Columns of text where there is no terminal to ask."""
MANY = 1000
"""From here on numbers have one decimal, below it five figures."""
BREAKS = re.compile(r"(?<=_)")
"""Where the name of a column may be broken."""
STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Signs that a terminal obeys in place of showing them: escapes, and changes of the direction of text."""


def visible(text: str) -> str:
    """The text with every steering sign written out: names come from events, whoever wrote those."""
    return STEERING.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


class _Console(Console):
    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(visible(text), **options)


def terminal() -> Console:
    """Standard output; names are printed as they are, whatever brackets they have, and steer nothing."""
    console = _Console(highlight=False, markup=False)
    return console if console.is_terminal else _Console(width=PLAIN_WIDTH, highlight=False, markup=False)


def show_rows(
    console: Console, title: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    """Print rows as a table with a title: null is blank, numbers stand right, times are as in settings.

    Where the table is wider than the terminal, names of columns are broken first, then times, then all else.
    """
    # Not as the grid's title, which breaks where the grid ends.
    console.print(title, style="bold", soft_wrap=True)
    shown, headers = list(rows), list(columns)
    cells = [[cell(row[column]) for row in shown] for column in columns]
    if _needed(headers, cells) > console.width:
        headers = [_broken(header, _widest(each)) for header, each in zip(headers, cells, strict=True)]
    if _needed(headers, cells) > console.width:
        cells = [[_in_two(row[column]) for row in shown] for column in columns]
    grid = Grid()
    for column, header in zip(columns, headers, strict=True):
        numbers = all(isinstance(row[column], int | float | None) for row in shown)
        grid.add_column(header, overflow="fold", justify="right" if numbers else "left")
    for texts in zip(*cells, strict=True):
        grid.add_row(*texts)
    console.print(grid)


def table(*headers: str) -> Grid:
    """A table to add rows of text to: what is too long for its column goes on below, nothing is cut off."""
    return Grid(*[Column(header, overflow="fold") for header in headers])


def _needed(headers: Sequence[str], cells: Iterable[Iterable[str]]) -> int:
    """How wide the table is if nothing is broken any further."""
    columns = zip(headers, cells, strict=True)
    return 1 + sum(_widest([header, *each]) + len(" │ ") for header, each in columns)


def _widest(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.split("\n")), default=0)


def cell(value: object) -> str:
    """A value as people read it: null is blank, times are as in settings, decimals are few."""
    if value is None:
        return ""
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, float):
        return f"{value:.1f}" if abs(value) >= MANY else f"{value:.5g}"
    return str(value)


def as_json(content: Any) -> str:
    """Write plain values as JSON; times as in the settings."""
    return visible(json.dumps(content, default=_text, ensure_ascii=False, indent=2))


def _broken(column: str, width: int) -> str:
    """The name of a column in lines that are no wider than its cells, as far as it can be broken."""
    lines = [""]
    for part in BREAKS.split(column):
        if len(lines[-1] + part) > width:
            lines.append("")
        lines[-1] += part
    return "\n".join(line for line in lines if line)


def _in_two(value: object) -> str:
    """A value with its time below its date."""
    text = cell(value)
    return text.replace("T", "\nT", 1) if isinstance(value, datetime) else text


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no text for {value!r}")
