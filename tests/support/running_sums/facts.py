"""What happened on one queue as arrays: the second way to the figures looks at all of it at once."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pipelines.queue_machine.timeline import BITS, KIND

Array = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
NEVER = 2**62
NUMBER_BITS = 20
"""Decisions of one instant are fewer than 2 to this."""


@dataclass(frozen=True)
class Facts:
    """Rows of a timeline of one queue, a value each.

    Ids are numbers that compare as the ids do, with -1 for none; times are the numbers of their instants.

    Attributes:
        outcome: when the row's transaction was first committed or rolled back.
        instants: the moments, in microseconds; the last one is `NEVER`.
    """

    kind: Array
    time: Array
    message: Array
    endpoint: Array
    group: Array
    transaction: Array
    level: Array
    has_where: Flags
    committed: Array
    outcome: Array
    instants: Array

    @property
    def never(self) -> int:
        """The number of the instant that never comes."""
        return len(self.instants) - 1

    def of(self, *kinds: int) -> "Facts":
        """The rows of some kinds."""
        return self.where(np.isin(self.kind, kinds))

    def where(self, chosen: Array | Flags) -> "Facts":
        """Some of the rows."""
        names = [field.name for field in fields(self) if field.name != "instants"]
        return replace(self, **{name: getattr(self, name)[chosen] for name in names})


COLUMNS = (
    "queue_number",
    "position",
    "message_id",
    "endpoint",
    "group_id",
    "transaction_id",
    "level",
    "has_where",
    "committed",
    "rolled_back",
)
"""What is needed of a timeline."""


def facts(rows: pa.Table) -> Facts:
    """The rows of one queue; `COLUMNS`."""
    position = rows["position"].to_numpy()
    moments = [
        position >> BITS,
        *(rows[name].fill_null(NEVER).to_numpy() for name in ("committed", "rolled_back")),
    ]
    instants = np.unique(np.concatenate([*moments, [NEVER]]))
    time, committed, rolled_back = (np.searchsorted(instants, moment) for moment in moments)
    message, endpoint, group, transaction = (
        _numbers(rows[name]) for name in ("message_id", "endpoint", "group_id", "transaction_id")
    )
    return Facts(
        kind=position & KIND,
        time=time,
        message=message,
        endpoint=endpoint,
        group=group,
        transaction=transaction,
        level=rows["level"].fill_null(0).to_numpy().astype(np.int64),
        has_where=rows["has_where"].fill_null(False).to_numpy(),
        committed=committed,
        outcome=np.minimum(committed, rolled_back),
        instants=instants,
    )


def _numbers(ids: pa.ChunkedArray) -> Array:
    coded = ids.combine_chunks().dictionary_encode()
    order = pc.sort_indices(coded.dictionary).to_numpy()
    numbers = np.empty(len(order) + 1, dtype=np.int64)
    numbers[order] = np.arange(len(order))
    numbers[-1] = -1
    indices: Array = coded.indices.fill_null(-1).to_numpy()
    return numbers[indices]


def position_of(time: Array, number: Array | int = 0) -> Array:
    """A position in the order of a queue: at each instant facts have number 0, its decisions count from 1."""
    return (time << NUMBER_BITS) + number


def expand(counts: Array) -> tuple[Array, Array]:
    """Each row as often as its count says: which row it is, and the how-manieth of it, from 0."""
    row = np.repeat(np.arange(len(counts)), counts)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)


def found(values: Array, among: Array) -> Array:
    """Where each value stands among sorted distinct ones; -1 where it does not."""
    if not len(among):
        return np.full(len(values), -1)
    position = np.minimum(np.searchsorted(among, values), len(among) - 1)
    return np.where(among[position] == values, position, -1)


def last_of(columns: Sequence[Array]) -> Flags:
    """Of rows that are sorted by the columns the last one of each group of equal ones."""
    is_last = np.ones(len(columns[0]), dtype=np.bool_)
    is_last[:-1] = np.logical_or.reduce([column[1:] != column[:-1] for column in columns])
    return is_last
