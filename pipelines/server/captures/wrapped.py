"""Lines of a capture inside other text: a field, a cell, a tag, a quoted string, or an object that has it."""

import csv
import html
import json
import re
from collections.abc import Iterator
from typing import Any

from pipelines.text.form import SEPARATORS

HEADING = "capture_line"
KEYS = ("capture", "database", "end", "row", "read", "count")
"""Keys of the lines of a capture, by which an object counts as one."""
BEGINS = re.compile(
    rb'\{\s*"(?:capture|database|end|view|schema|queue|row|read|count|id)"\s*:', re.IGNORECASE
)
"""How an object of a capture begins, whatever the order of its keys."""
ONE_FIELD = re.compile(rb'"(?:[^"]|"")*"')
"""A CSV line of one field in quotes."""
BEHIND = re.compile(rb"[\s,;|'\")\]]*")
"""What may stand behind an object in its line without being looked at."""
ODD_BACKSLASHES = re.compile(rb'(?<!\\)(?:\\\\)*\\(?![\\"])')
"""A backslash that is not doubled and escapes no quote."""
FORM = re.compile(
    r"[-+=|*\s]*|(?:\||-\[|\*+\[)?[-+|*\s]*(?:capture_line|RECORD \d+|\d+\. row)[-+|*\]:\s]*|GO|<[^{}]*>",
    re.IGNORECASE,
)
"""Lines that tools put between those of a capture: rules, headings, numbers of records, tags."""


PROPERTY = re.compile(rb"(?:RowError|RowState|Table|ItemArray|HasErrors) *:")
"""What PowerShell lists beside the column; ItemArray has the line a second time."""


def is_mere_form(text: str) -> bool:
    """Whether a line that is no object may stand inside a capture: the form of a tool, without content."""
    return FORM.fullmatch(text) is not None


def object_in(line: bytes) -> bytes:
    """The object of a capture in a line that has no blanks around it; the line itself if it has none."""
    if line.startswith(b'"'):
        if b'"{\\"' not in line:
            return _of_csv(line)
    elif PROPERTY.match(line):
        return HEADING.encode()
    elif line.startswith(b"{") and (line.endswith(b"}") or not BEHIND.fullmatch(line, line.rfind(b"}") + 1)):
        return line if BEGINS.match(line) else _of_object(line)
    first, last = line.find(b"{"), line.rfind(b"}")
    if first < 0:
        return line
    found = line[first : last + 1] if last > first else line[first:]
    for form in _unquoted(found, line[:first], line[last + 1 :]):
        if BEGINS.match(form):
            return form
    return _of_object(found, line)


def _unquoted(found: bytes, before: bytes, behind: bytes) -> Iterator[bytes]:
    """What an object may be without the quotes of its form; the likeliest first.

    Args:
        found: the object.
        before: what stands before it in its line.
        behind: what stands behind it.
    """
    if found.startswith(b"{{"):
        found = found[1:-1]
    if found.startswith(b'{""'):
        yield found.replace(b'""', b'"')
    elif found.startswith(b'{\\"'):
        yield _without_backslashes(found)
    elif found.startswith((b"{&quot;", b"{&#34;")) or before.endswith(b">"):
        yield html.unescape(found.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    elif before == b"('" and behind == b"',)":
        # A row as Python prints it.
        yield re.sub(rb"\\([\\'])", rb"\1", found)
    elif before.endswith(b"'"):
        yield found.replace(b"''", b"'")
    elif before.startswith(b"|") and not _is_json(found):
        yield re.sub(rb"\\([|_*`<>])", rb"\1", found)
    yield found


def _without_backslashes(found: bytes) -> bytes:
    """An object whose quotes have backslashes; those of the object are doubled, or they are not."""
    if not ODD_BACKSLASHES.search(found):
        try:
            return str(json.loads(b'"' + found + b'"')).encode("utf-8", "surrogatepass")
        except ValueError:
            pass
    return found.replace(b'\\"', b'"')


def _of_csv(line: bytes) -> bytes:
    """The field of a CSV line that is an object, else the line without its quotes."""
    if ONE_FIELD.fullmatch(line):
        return line[1:-1].replace(b'""', b'"').strip()
    text = line.decode("utf-8", "surrogateescape")
    for separator in SEPARATORS:
        try:
            fields = next(csv.reader([text], delimiter=separator), [])
        except csv.Error:
            break
        for each in fields:
            if each.lstrip().startswith("{") and (each.rstrip().endswith("}") or len(fields) > 1):
                return each.strip().encode("utf-8", "surrogateescape")
        if HEADING in fields:
            return HEADING.encode()
    return text.strip('"').replace('""', '"').strip().encode("utf-8", "surrogateescape")


def _of_object(found: bytes, line: bytes | None = None) -> bytes:
    """The line that an object has in one of its values, else what stands there.

    Args:
        found: the object.
        line: where it stands, if there is more.
    """
    try:
        value = json.loads(found)
    except (ValueError, RecursionError):
        return found if line is None else line
    text = line_in(value)
    if text is not None:
        return text.strip().encode("utf-8", "surrogatepass")
    return found if line is None else line


def line_in(value: Any) -> str | None:
    """The line of a capture that a value of JSON is or has: under its heading, else the first one."""
    if isinstance(value, str):
        return value if value.lstrip().startswith("{") else None
    if isinstance(value, dict):
        keys = {str(key).lower() for key in value}
        if keys & set(KEYS):
            return json.dumps(value, separators=(",", ":"))
        named = [each for key, each in value.items() if str(key).lower() == HEADING]
        values = [*named, *value.values()]
    else:
        values = value if isinstance(value, list) else []
    return next((text for text in map(line_in, values) if text is not None), None)


def _is_json(found: bytes) -> bool:
    try:
        json.loads(found)
    except (ValueError, RecursionError):
        return False
    return True
