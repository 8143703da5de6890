"""Write values of the page as text."""

import json
import re

from markupsafe import Markup

from pipelines.console.wording import MINUS, format_number

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
