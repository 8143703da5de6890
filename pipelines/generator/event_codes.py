"""From things that happen to rows to events: one row per moment that comes before the end of the log."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from pipelines.generator.frame import Array, Frame
from pipelines.generator.plan import Plan

NO_ATTEMPT = -1
"""The attempt of what is not one of several: 0 is a transaction that stays open, 1.. are rolled back."""


class Happening(NamedTuple):
    """Something that may happen to every row of a frame.

    Attributes:
        event_type: what happens.
        at: when, by the clock of who logs it.
        attempt: which of several times; also whatever else tells two happenings of a type apart.
    """

    event_type: str
    at: Array
    attempt: int = NO_ATTEMPT


def events(
    frame: Frame,
    happenings: Iterable[Happening],
    *,
    plan: Plan,
    event_id: Callable[[Frame, Happening], Array],
) -> Frame:
    """Log what happens.

    Args:
        frame: who or what it happens to.
        happenings: moments for all rows of `frame`, NEVER for what doesn't happen.
        plan: how much of what.
        event_id: the ids of one happening's events, of the rows to which it happens.

    Returns:
        One row per event, with the row of `frame` as parent: `event_id`, `event_type`, `at` (microseconds)
        and `attempt`.
    """
    of, pieces = [], []
    for happening in happenings:
        rows = np.flatnonzero(happening.at < plan.volume.cut_us)
        of.append(rows)
        pieces.append(
            {
                "event_id": event_id(frame.children(rows), happening),
                "event_type": np.full(len(rows), plan.world.names.code(happening.event_type), dtype=np.int32),
                "at": happening.at[rows],
                "attempt": np.full(len(rows), happening.attempt, dtype=np.int32),
            }
        )
    columns = {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}
    return frame.children(np.concatenate(of), **columns)
