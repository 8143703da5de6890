"""Rows as people and programs read them: a table on the terminal, or JSON."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from config.instants import format_instant

PLAIN_WIDTH = 160
"""Columns of text where there is no terminal to ask."""


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
    """Print rows as a table with a title: null is blank, numbers stand right, times are as in settings."""
    # Not as the grid's title, which breaks where the grid ends.
    console.print(title, style="bold", soft_wrap=True)
    grid, shown = Grid(), list(rows)
    for column in columns:
        numbers = all(isinstance(row[column], int | float | None) for row in shown)
        grid.add_column(column, overflow="fold", justify="right" if numbers else "left")
    for row in shown:
        grid.add_row(*[_cell(row[column]) for column in columns])
    console.print(grid)


def as_json(content: Any) -> str:
    """Write plain values as JSON; times as in the settings."""
    return visible(json.dumps(content, default=_text, ensure_ascii=False, indent=2))


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
