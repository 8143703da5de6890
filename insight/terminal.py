"""Rows as people and programs read them: a table on the terminal, or JSON."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from rich.console import Console
from rich.table import Table as Grid

from config.instants import format_instant

PLAIN_WIDTH = 160
"""Columns of text where there is no terminal to ask."""


def terminal() -> Console:
    """Standard output; names are printed as they are, whatever brackets they have."""
    console = Console(highlight=False, markup=False)
    return console if console.is_terminal else Console(width=PLAIN_WIDTH, highlight=False, markup=False)


def show_rows(
    console: Console, title: str, rows: Iterable[Mapping[str, Any]], columns: Sequence[str]
) -> None:
    """Print rows as a table with a title; null is blank, times are as in the settings."""
    # Not as the grid's title, which breaks where the grid ends.
    console.print(title, style="bold", soft_wrap=True)
    grid = Grid()
    for column in columns:
        grid.add_column(column, overflow="fold")
    for row in rows:
        grid.add_row(*[_cell(row[column]) for column in columns])
    console.print(grid)


def as_json(content: Any) -> str:
    """Write plain values as JSON; times as in the settings."""
    return json.dumps(content, default=_text, ensure_ascii=False, indent=2)


def _cell(value: object) -> str:
    if value is None:
        return ""
    return format_instant(value) if isinstance(value, datetime) else str(value)


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no text for {value!r}")
