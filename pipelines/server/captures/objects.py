"""The objects of a capture's lines, as Python has them."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from pipelines.config.instants import parse_instant
from pipelines.server.captures.captured import Row
from pipelines.server.captures.faults import AGAIN, CaptureFault, no_json, no_text, wrong_key
from pipelines.server.captures.lines import Lines
from pipelines.server.captures.rows import ViewKey
from pipelines.server.snapshots.values import value_of

SURROGATE = re.compile(rb"(?i)\\ud[89a-f]")
Value = TypeVar("Value")
FINER = re.compile(r"(\.\d{6})\d+")


def row_of(line: Row, number: int) -> Row:
    """The row of a line.

    Raises:
        CaptureFault: it is no object.
    """
    row = line["row"]
    if not isinstance(row, dict):
        raise wrong_key(number, "row", row, "an object")
    return row


def known_of(names: Collection[str], number: int, row: Row) -> tuple[int, Row]:
    """A row with its line's number, without keys that no column has."""
    lower = {str(key).lower(): value for key, value in row.items()}
    return number, {name: lower[name] for name in names if name in lower}


def load(line: bytes) -> Row:
    """The object of a line. Half of a surrogate pair, which a server's name may have, becomes U+FFFD."""
    found: Row = json.loads(line)
    if SURROGATE.search(line):
        units = json.dumps(found, ensure_ascii=False).encode("utf-16-le", "surrogatepass")
        found = json.loads(units.decode("utf-16-le", "replace"))
    return found


def parse(line: bytes, number: int) -> Row:
    """The object of a line, with the keys in small letters; those of a row stay as they are.

    Raises:
        CaptureFault: the line is no JSON.
    """
    try:
        found = load(line)
    except UnicodeDecodeError:
        raise no_text(number) from None
    except (ValueError, RecursionError) as error:
        if "digits" in str(error):
            raise CaptureFault(number, f"a number in it has thousands of digits; {AGAIN}") from None
        raise no_json(number, line.decode("utf-8", "replace"), ()) from None
    return {str(key).lower(): value for key, value in found.items()}


def parse_all(lines: Lines, places: Collection[Any]) -> Iterator[tuple[int, Row]]:
    """The numbers and objects of several lines, as `parse` gives them.

    Raises:
        CaptureFault: a line is no JSON.
    """
    given = [(lines.numbers[place], lines.line(place)) for place in map(int, places)]
    text = b"[" + b",".join(line for _, line in given) + b"]"
    try:
        found = [] if SURROGATE.search(text) else json.loads(text)
    except (ValueError, RecursionError):
        found = []
    # Of lines that are none, several may be one object.
    if len(found) == len(given) and all(isinstance(each, dict) for each in found):
        for (number, _), each in zip(given, found, strict=True):
            yield number, {str(key).lower(): value for key, value in each.items()}
        return
    for number, line in given:
        yield number, parse(line, number)


def key_of(line: Mapping[str, Any], number: int) -> ViewKey:
    """The view that a line is about.

    Raises:
        CaptureFault: it names none.
    """
    try:
        return ViewKey.of(line)
    except KeyError as missing:
        raise wrong_key(number, str(missing.args[0]), None, "there") from None


def text_value(line: Row, key: str, number: int) -> str:
    """The text that a line has under a key.

    Raises:
        CaptureFault: it has none.
    """
    value = line.get(key)
    if not isinstance(value, str) or not value:
        raise wrong_key(number, key, value, "a text")
    return value


def optional_value(line: Row, key: str, type: type[Value], number: int, must: str) -> Value | None:
    """The value that a line has under a key; None without one.

    Raises:
        CaptureFault: it has another type.
    """
    value = line.get(key)
    is_other = not isinstance(value, type) or (isinstance(value, bool) and type is not bool)
    if value is not None and is_other:
        raise wrong_key(number, key, value, must)
    return cast("Value | None", value)


def optional_text(line: Row, key: str, number: int) -> str | None:
    """The text that a line has under a key; None without one.

    Raises:
        CaptureFault: it is no text.
    """
    return optional_value(line, key, str, number, "a text or null")


def optional_bit(line: Row, key: str, number: int) -> bool | None:
    """What a line says of a key, in any spelling of a bit; None if it says nothing.

    Raises:
        CaptureFault: it is no bit.
    """
    value = line.get(key)
    found = None if isinstance(value, dict | list) else value_of(value, "bit")
    if value is not None and found is None:
        raise wrong_key(number, key, value, "true, false or null")
    return cast("bool | None", found)


def other_statuses(line: Row, number: int) -> dict[int, int] | None:
    """How many rows of a queue have each status but 1; None if the line does not say.

    Raises:
        CaptureFault: it says it in another form.
    """
    given = optional_value(line, "other_statuses", list, number, 'a list such as [{"status":0,"rows":3}]')
    if given is None:
        return None
    counts = Counter[int]()
    for each in given:
        status, rows = (each.get("status"), each.get("rows")) if isinstance(each, dict) else (None, None)
        if type(status) is not int or type(rows) is not int:
            raise wrong_key(number, "other_statuses", given, 'a list such as [{"status":0,"rows":3}]')
        counts[status] += rows
    return dict(counts)


def instant_of(value: object) -> datetime:
    """A time, its digits beyond microseconds cut off.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str):
        raise ValueError
    return parse_instant(FINER.sub(r"\1", value))
