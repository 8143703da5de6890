"""Which lines of a capture are rows, and of which views."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.config.captures.faults import no_text
from pipelines.config.captures.lines import Lines
from pipelines.config.captures.objects import key_of, load, parse
from pipelines.config.captures.rows import ViewKey

ROW = b'"row":'
Places: TypeAlias = "np.ndarray[Any, Any]"


def find_rows(lines: Lines) -> Places:
    """Which objects are rows in the script's spelling; none that is broken."""
    rows = _holds(pc.match_substring(_array(lines), ROW.decode()))
    rows[list(lines.broken)] = False
    return rows


def rows_by_view(lines: Lines, places: Places) -> Iterator[tuple[ViewKey, Places, bool]]:
    """Rows by their view.

    Args:
        lines: the lines.
        places: which of them are rows.

    Returns:
        Each view, its rows, and whether their lines begin with the view, as the script writes them.

    Raises:
        CaptureFault: a row names no view.
    """
    todo = np.zeros(len(lines), bool)
    todo[places] = True
    array = _array(lines)
    others: dict[ViewKey, list[int]] = {}
    at = 0
    while (left := np.flatnonzero(todo[at:])).size:
        at += int(left[0])
        line = lines.line(at)
        begin = line[: line.find(ROW) + len(ROW)] if ROW in line else b""
        key = _key_of_beginning(begin)
        if key is None:
            number = lines.numbers[at]
            others.setdefault(key_of(parse(line, number), number), []).append(at)
            todo[at] = False
            continue
        alike = todo & _holds(pc.starts_with(array, begin))
        todo &= ~alike
        yield key, np.flatnonzero(alike), True
    for key, chosen in others.items():
        yield key, np.array(chosen), False


def text_of(lines: Lines, places: Places) -> bytes:
    """The lines at these places; a part of the text where they follow each other."""
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        begin = int(lines.ends[first - 1]) + 1 if first else 0
        return lines.text[begin : int(lines.ends[last]) + 1]
    return b"".join(lines.line(place) + b"\n" for place in places.tolist())


def require_text(lines: Lines) -> None:
    """Require UTF-8 in all bytes of the lines.

    Raises:
        CaptureFault: those of a line are not.
    """
    try:
        lines.text.decode("utf-8")
    except UnicodeDecodeError as error:
        place = int(np.searchsorted(lines.ends, error.start))
        raise no_text(lines.numbers[place]) from None


def _array(lines: Lines) -> pa.Array:
    """The objects with their line ends, as an array over the text."""
    offsets = np.concatenate(([0], lines.ends + 1)).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(), len(lines), [None, pa.py_buffer(offsets), pa.py_buffer(lines.text)]
    )


def _holds(found: pa.Array) -> Places:
    return np.array(found.to_numpy(zero_copy_only=False), bool)


def _key_of_beginning(begin: bytes) -> ViewKey | None:
    """The view that a line names before its row."""
    try:
        return ViewKey.of(load(begin + b"null}"))
    except (ValueError, KeyError):
        return None
