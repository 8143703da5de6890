"""A log, piece by piece: what one part of the conversations puts into one file."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from dev.generator.conversations import conversations
from dev.generator.endpoint_events import endpoint_columns, endpoint_events
from dev.generator.faults import spoilt, with_faults
from dev.generator.frame import Array, Frame
from dev.generator.message_events import message_columns, message_events
from dev.generator.messages import messages
from dev.generator.plan import Plan
from dev.generator.queue_events import queue_columns, queue_events
from dev.generator.readers import reader_columns, reader_events
from dev.generator.rush_log import rush_tables
from dev.generator.world import DAY

NEVER_NULL = {"endpoint_events": "conversation_id", "message_events": "message_id", "queue_events": "queue"}
"""The column that is null in half of an input's bad rows."""


class Piece(NamedTuple):
    """Rows of one file.

    Attributes:
        source: the input.
        slice: with nights the night's date, else the number of a part.
        part: the part of the conversations it comes from.
        columns: the columns of the contract.
        broken: the rows whose text is to be cut off.
    """

    source: str
    slice: str
    part: int
    columns: pa.Table
    broken: Array


def pieces(plan: Plan, *, daily: bool) -> Iterator[Piece]:
    """Make up a log, one part of the conversations at a time, so that only one is in memory.

    Args:
        plan: how much of what.
        daily: slices are nights.

    Yields:
        The pieces; those of a slice are spread over the parts. Each is in the order of time, but for faults.
    """
    count, parts = plan.conversations, plan.volume.parts
    for part in range(parts):
        talks = conversations(np.arange(part * count // parts, (part + 1) * count // parts), plan=plan)
        sent = messages(talks, plan=plan)
        # One after another, so that the events of one input are gone before those of the next are made.
        logged = endpoint_events(talks, plan=plan)
        yield from _sliced("endpoint_events", part, logged, endpoint_columns, plan, daily)
        logged = message_events(sent, plan=plan)
        yield from _sliced("message_events", part, logged, message_columns, plan, daily)
        logged = queue_events(sent, plan=plan)
        yield from _sliced("queue_events", part, logged, queue_columns, plan, daily)
    yield from _sliced("queue_events", parts, reader_events(plan), reader_columns, plan, daily)
    if plan.world.rush is not None:
        # No faults, and a slice of its own: the rest is as it would be without it.
        slice_ = str(plan.volume.start.date()) if daily else f"{parts:05d}"
        for source, table in rush_tables(plan.world.rush, plan=plan):
            yield Piece(source, slice_, parts + 1, table, np.zeros(len(table), dtype=bool))


def _sliced(
    source: str,
    part: int,
    events: Frame,
    columns: Callable[..., dict[str, pa.Array]],
    plan: Plan,
    daily: bool,
) -> Iterator[Piece]:
    frame = with_faults(events, plan=plan)
    number = _nights(frame, plan) if daily else _parts(frame, plan)
    for slice_ in np.unique(number):
        rows = frame.take(np.flatnonzero(number == slice_))
        rows = rows.take(_order(rows["place"], rows["event_id"]))
        table = pa.table(spoilt(columns(rows, plan=plan), rows, required=NEVER_NULL[source]))
        night = plan.volume.start.date() + timedelta(days=int(slice_))
        yield Piece(source, str(night) if daily else f"{slice_:05d}", part, table, rows["broken"])


def _nights(frame: Frame, plan: Plan) -> Array:
    """The day of the log a row comes on."""
    day = (frame["at"] - plan.volume.start_us) // DAY + frame["late"]
    return day.clip(0, plan.volume.days - 1)


def _parts(frame: Frame, plan: Plan) -> Array:
    """The part a row comes in: its conversation's or, if it is late, one after that."""
    part = ((frame["c"] + 1) * plan.volume.parts - 1) // plan.conversations + frame["late"]
    return part.clip(max=plan.volume.parts - 1)


def _order(place: Array, event_id: Array) -> Array:
    """The order by place and event id; few rows have the same place, so only those are compared further."""
    order = np.argsort(place)
    ordered = place[order]
    same = ordered[1:] == ordered[:-1]
    tied = np.flatnonzero(np.append(same, False) | np.append(False, same))
    rows = order[tied]
    order[tied] = rows[np.lexsort((rows, event_id[rows, 1], event_id[rows, 0], place[rows]))]
    return order
