"""Faults of a log: duplicates, rows too late, rows out of order, rows that no reader can use.

Nothing is taken away: a bad row is one row more, and a late or displaced one is elsewhere. So the good part
of a faulty log says what the faultless log says, up to the rare events whose id a bad row takes as well.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from dev.generator import hashing, ids
from dev.generator.frame import Array, Frame
from dev.generator.plan import Plan
from dev.generator.world import HOUR

FAULTS = ("duplicate", "late", "displaced", "bad")
"""Each makes up a quarter of the share of faulty events."""

BROKEN_SHARE = 0.5
"""Share of the bad rows that are broken as text, where the format is text."""

CONFLICT_SHARE = 0.04
"""Share of the bad rows that repeat another event's id with other content."""

FLAGS = ("broken", "conflict", "no_column", "no_type")


def with_faults(events: Frame, *, plan: Plan) -> Frame:
    """Add the faults, and say where each row goes.

    Args:
        events: see `events.events`.
        plan: how much of what.

    Returns:
        The events and their faulty extra rows, with `late` (how many slices after its own a row comes),
        `place` (order within the slice), and what is wrong with a row: `broken` (its text is to be cut off),
        `conflict`, `no_column` and `no_type`, which `spoilt` sees to.
    """
    size, share = len(events), plan.volume.errors / len(FAULTS)
    draws, none = plan.volume.draws, np.zeros(size, dtype=bool)
    events["late"], events["place"] = np.zeros(size, dtype=np.int64), events["at"]
    for flag in FLAGS:
        events[flag] = none
    if share == 0:
        return events
    draw = draws.uniform("fault", ids.text(events["event_id"]))
    # Few rows have one, and only they are looked at more closely.
    hit = np.flatnonzero(draw < share * len(FAULTS))
    text = ids.text(events["event_id"][hit])
    fault = np.searchsorted([share * i for i in range(1, len(FAULTS))], draw[hit], side="right")
    detail = draws.uniform("fault detail", text)
    moved = np.floor((draws.uniform("place", text) - 0.5) * 6 * HOUR).astype(np.int64)
    is_fault = {name: fault == i for i, name in enumerate(FAULTS)}
    events["late"][hit] = np.where(is_fault["late"], (detail * 2).astype(np.int64) + 1, 0)
    events["place"] = events["place"].copy()
    events["place"][hit] += np.where(is_fault["displaced"], moved, 0)
    again = is_fault["duplicate"] | is_fault["bad"]
    frame = events.take(np.concatenate([np.arange(size), hit[again]]))
    _spoil(frame, np.arange(size, len(frame))[is_fault["bad"][again]], detail[is_fault["bad"]], plan)
    return frame


def _spoil(frame: Frame, bad: Array, detail: Array, plan: Plan) -> None:
    """Say what is wrong with the bad rows."""
    text = ids.text(frame["event_id"][bad])
    conflict = detail < CONFLICT_SHARE
    broken = ~conflict & (detail < CONFLICT_SHARE + BROKEN_SHARE)
    even = hashing.of_text(text, hashing.SEED) % np.uint64(2) == 0
    rest = ~conflict & ~broken
    wrong = {"broken": broken, "conflict": conflict, "no_column": rest & even, "no_type": rest & ~even}
    for flag, rows in wrong.items():
        frame[flag][bad[rows]] = True
    own_id = bad[~conflict]
    frame["event_id"][own_id] = plan.volume.draws.id("bad", text[~conflict])


def spoilt(columns: dict[str, pa.Array], frame: Frame, *, required: str) -> dict[str, pa.Array]:
    """Columns of a log with what is wrong with its rows.

    Args:
        columns: as they would be without faults, in the order of `frame`.
        frame: see `with_faults`.
        required: the column that is null in half of the bad rows.
    """
    if not any(frame[flag].any() for flag in FLAGS):
        return columns
    nothing = pa.scalar(None, columns[required].type)
    return {
        **columns,
        "event_type": _renamed(columns["event_type"], frame["no_type"], "UNKNOWN_{}"),
        "instance": _renamed(columns["instance"], frame["conflict"], "{}-COPY"),
        required: pc.if_else(pa.array(frame["no_column"]), nothing, columns[required]),
    }


def _renamed(column: pa.DictionaryArray, rows: Array, form: str) -> pa.DictionaryArray:
    """A column of names where some rows have another form of theirs."""
    names = column.dictionary.to_pylist()
    others = pa.array([*names, *map(form.format, names)], pa.string())
    codes = np.asarray(column.indices) + rows * np.int32(len(names))
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), others)
