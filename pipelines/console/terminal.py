"""Write names, values and the progress of steps on the terminal, or values as JSON."""

import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from pipelines.config.instants import format_instant

PLAIN_WIDTH = 160
"""The width of text where standard output is no terminal."""
MINIMUM_WIDTH = 20
"""A narrower terminal breaks lines itself."""
WIDEST = 100_000
"""The width of text where nothing is to be broken or shortened."""
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


def _escape(character: re.Match[str]) -> str:
    # As JSON does: what is beyond four digits takes two escapes.
    units = character[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[place : place + 4]}" for place in range(0, len(units), 4))


class Terminal(Console):
    """Standard output: names are printed as they are, without markup or control characters.

    A text is one line; what goes on further lines is a `Text`.

    Attributes:
        shortens: whether tables that are wider than the terminal have short ids.
        told_of_ids: whether a line has said so.
    """

    def __init__(self, *, shortens: bool = False, **options: Any) -> None:
        """Open it; `options` are those of a console of rich."""
        super().__init__(highlight=False, markup=False, emoji=False, **options)
        self.shortens = shortens
        self.told_of_ids = False

    def write_line(self, text: str | Text, style: str | None = None) -> None:
        """Print a text as one line, however wide the terminal is."""
        self.print(text, style=style, soft_wrap=True)

    def render_str(self, text: str, **options: Any) -> Text:
        """Make a text of a string: one line."""
        return super().render_str(escape_line(text), **options)


def open_console(*, wide: bool = False) -> Terminal:
    """Open standard output.

    Args:
        wide: whether tables may be wider than the terminal, with ids as they are.
    """
    console = Terminal()
    width = max(console.width, MINIMUM_WIDTH) if console.is_terminal else PLAIN_WIDTH
    # Without a height, a terminal that knows no escapes is taken for 80 columns wide.
    return Terminal(
        width=WIDEST if wide else width, height=console.height, shortens=console.is_terminal and not wide
    )


def to_json(content: Any) -> str:
    """Write plain values as JSON; times as in the settings."""
    return escape_invisible(json.dumps(content, default=_json_text, ensure_ascii=False, indent=2))


def _json_text(value: object) -> str:
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    raise TypeError(f"no text for {value!r}")


@contextmanager
def step(name: str) -> Iterator[Callable[[str], None]]:
    """Print when the step begins, and how many seconds it took when it ends.

    Yields:
        A function that takes the details to print behind the duration.
    """
    details: list[str] = []
    print_line(f"{name} ...")
    began = time.monotonic()
    try:
        yield details.append
    except BaseException:
        print_line(f"{name} failed after {time.monotonic() - began:.1f} s")
        raise
    print_line(": ".join([f"{name} done in {time.monotonic() - began:.1f} s", *filter(None, details)]))


def print_line(line: str) -> None:
    """Print a line."""
    # One write: steps that run concurrently do not mix their lines.
    sys.stderr.write(f"{escape_line(line)}\n")
    sys.stderr.flush()
