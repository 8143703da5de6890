"""Which lines of a capture are rows, and of which views."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.server.captures.captured import LARGE
from pipelines.server.captures.faults import no_text
from pipelines.server.captures.lines import Lines

ROW = b'"row":'
VIEW = '"view":"'
BEGIN = 16
"""Bytes of a view's name that tell it from the others; what Arrow parses says whether it is that view."""
Places: TypeAlias = "np.ndarray[Any, Any]"


def find_rows(lines: Lines) -> Places:
    """Which objects are rows in the script's spelling; none that is broken."""
    rows = np.array(pc.match_substring(_array(lines), ROW.decode()).to_numpy(zero_copy_only=False), bool)
    rows[list(lines.broken)] = False
    return rows


def rows_by_kind(lines: Lines, places: Places) -> Iterator[tuple[str, Places]]:
    """Rows by the kind of view that their line names where the script does; others are left out."""
    begins = np.concatenate(([0], lines.ends[:-1] + 1))[places]
    found = pc.find_substring(_array(lines), VIEW).to_numpy(zero_copy_only=False)[places]
    bytes_ = np.frombuffer(lines.text, np.uint8)
    at = (begins + found + len(VIEW))[:, np.newaxis] + np.arange(BEGIN)
    shown = bytes_[np.minimum(at, len(bytes_) - 1)]
    for kind in LARGE:
        begin = np.frombuffer(f'{kind}"'.encode()[:BEGIN], np.uint8)
        alike = places[(shown[:, : len(begin)] == begin).all(axis=1) & (found >= 0)]
        if len(alike):
            yield kind, alike


def text_of(lines: Lines, places: Places) -> bytes:
    """The lines at these places, which are in order; lines in a row are one part of the text."""
    firsts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    lasts = np.append(firsts[1:], len(places)) - 1
    begins = np.concatenate(([0], lines.ends + 1))[places[firsts]]
    ends = lines.ends[places[lasts]] + 1
    parts = zip(begins.tolist(), ends.tolist(), strict=True)
    return b"".join(lines.text[begin:end] for begin, end in parts)


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
