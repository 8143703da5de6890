"""Events of the rows of a frame: one row per moment before the end of the log."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from dev.generator.frame import Array, Frame
from dev.generator.plan import Plan

NO_ATTEMPT = -1
"""The attempt of an event that is not repeated: 0 is a transaction that stays open, 1.. are rolled back."""


class TypedEvents(NamedTuple):
    """Events of one type, one for each row of a frame.

    Attributes:
        event_type: the type.
        at: the moments, by the clock of the instance that logs them; NEVER for rows without the event.
        attempt: the number of the attempt, or another number that distinguishes events of the type.
    """

    event_type: str
    at: Array
    attempt: int = NO_ATTEMPT


def events(
    frame: Frame,
    by_type: Iterable[TypedEvents],
    *,
    plan: Plan,
    event_id: Callable[[Frame, TypedEvents], Array],
) -> Frame:
    """Log the events of the rows of a frame.

    Args:
        frame: the rows.
        by_type: the events of each type.
        plan: the plan of the log.
        event_id: the ids of the events of a type, for the rows that have the event.

    Returns:
        One row per event, with the row of `frame` as parent: `event_id`, `event_type`, `at` (microseconds)
        and `attempt`.
    """
    of, pieces = [], []
    for typed in by_type:
        rows = np.flatnonzero(typed.at < plan.volume.cut_us)
        of.append(rows)
        pieces.append(
            {
                "event_id": event_id(frame.children(rows), typed),
                "event_type": np.full(len(rows), plan.world.names.code(typed.event_type), dtype=np.int32),
                "at": typed.at[rows],
                "attempt": np.full(len(rows), typed.attempt, dtype=np.int32),
            }
        )
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return frame.children(np.concatenate(of), **columns)
