"""Queues in Python workers: events as rows of one shape stream in, batch by batch, and results come out."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.ordered import sort_within_keys, split_by_key
from pipelines.engine.python_workers import Work, run_in_python
from pipelines.schedules.ready import message_type_rank

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

BITS = 4
"""Bits of the event code in a position."""
KIND = 2**BITS - 1
OUTPUT_ROWS = 8192
GARBAGE = 1_000_000
"""New objects before Python looks for garbage: the objects of a backlog are many, and none is garbage."""
Columns = Mapping[str, Sequence[Any]]
"""Rows by column, all equally long; columns that are left out are null."""


Values_contra = TypeVar("Values_contra", contravariant=True)


class QueuePlayer(Protocol[Values_contra]):
    """Plays the events of one queue."""

    def play_batch(self, columns: Sequence[Values_contra], *, is_last: bool) -> Iterable[Columns]:
        """Play the next events, and give the results since the last call.

        Args:
            columns: the values of each column, all equally long.
            is_last: whether no event follows.
        """


Begin = Callable[[int], QueuePlayer[Any]]
"""Makes the player of a number, before any event."""


def row_position(time: Column, code: Column | int) -> Column:
    """A moment in microseconds and an event code as one number that compares the same way."""
    return time * F.lit(2**BITS) + (F.lit(code) if isinstance(code, int) else code)


def endpoint_text() -> Column:
    """An endpoint as one text: its conversation_id, and + for the initiator or - for the target."""
    return F.concat("conversation_id", F.when(F.col("is_initiator"), "+").otherwise("-"))


def arrival_payload() -> dict[str, Column]:
    """The id of a message and the keys of its orders, of rows of `state.messages.describe_messages`."""
    return {
        "message_id": F.col("message_id"),
        "arrived": F.unix_micros("arrived_at"),
        "queuing_order": F.col("queuing_order"),
        "rank": message_type_rank(),
        "sequence": F.col("message_sequence_number"),
    }


def event_rows(
    rows: DataFrame,
    position: Column,
    payload: Mapping[str, Column | str],
    types: Mapping[str, str],
    *,
    tie: str | None = None,
) -> DataFrame:
    """Rows of events; columns that they do not carry are null.

    Args:
        rows: any frame with `queue_number`.
        position: their `row_position`; at one instant lower codes come first.
        payload: the columns that the events carry, by name; a text is a column's name.
        types: the columns that any event carries, with their types.
        tie: the column that orders rows of one position; without one they are equal.

    Returns:
        queue_number, `position`, `tie`, and the names of `types`.
    """
    columns = []
    for name, type in types.items():
        value = payload.get(name)
        column = F.lit(None) if value is None else F.col(value) if isinstance(value, str) else value
        columns.append(column.cast(type).alias(name))
    tied = F.col(tie) if tie else F.lit("")
    return rows.select("queue_number", position.alias("position"), tied.alias("tie"), *columns)


def run_queues(
    events: DataFrame,
    columns: Sequence[str],
    order: Sequence[str],
    begin: Begin,
    types: Mapping[str, str],
    *,
    in_numpy: bool = False,
) -> DataFrame:
    """Play each queue in one task; memory grows with its backlog, not with its events.

    Args:
        events: the names of `columns` and `order`.
        columns: the first one is the number of a player; the others, from `position` on, are played.
        order: the columns that order the rows of a player, from `position` on.
        begin: makes the player of a number.
        types: the columns of results, beside the number.
        in_numpy: whether a player gets numpy arrays in place of lists. They need no process of their own.

    Returns:
        The first of `columns`, and `types`; no order.
    """
    types = {columns[0]: "int", **types}
    ddl = ", ".join(f"{name} {type}" for name, type in types.items())
    order_only = [name for name in order if name not in columns]
    ordered = sort_within_keys(events.select(*columns, *order_only), columns[0], order).drop(*order_only)
    work = _play(len(columns), begin, types, in_numpy=in_numpy)
    return ordered.mapInArrow(work, ddl) if in_numpy else run_in_python(ordered, work, ddl)


def require_order(positions: "npt.NDArray[np.int64]", last: int | None) -> int:
    """Require positions that do not decrease.

    Args:
        positions: the next positions of a player; at least one.
        last: the position before them; None before the first.

    Returns:
        The last one.

    Raises:
        RuntimeError: the engine did not keep the order.
    """
    first = positions[0] if last is None else last
    if positions[0] < first or (positions[1:] < positions[:-1]).any():
        raise RuntimeError("the engine did not keep the order of what happened on a queue")
    return int(positions[-1])


def arrow_schema(types: Mapping[str, str]) -> "pa.Schema":
    """The columns of a worker's results, by their types in SQL."""
    import pyarrow as pa

    of = {"int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}
    of |= {"string": pa.string(), "boolean": pa.bool_()}
    return pa.schema([(name, of[type]) for name, type in types.items()])


def _play(width: int, begin: Begin, types: Mapping[str, str], *, in_numpy: bool) -> Work:
    """The work of `run_queues` on batches whose first `width` columns are played."""

    def read(column: "pa.Array") -> Any:
        return column.to_numpy(zero_copy_only=False) if in_numpy else column.to_pylist()

    def work(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        if not in_numpy:
            gc.set_threshold(GARBAGE)
        output = _Output(types)
        player: QueuePlayer[Any] | None = None
        position: int | None = None
        for number, batch, is_last in split_by_key(batches):
            player = player or begin(number)
            position = require_order(batch.column(1).to_numpy(), position)
            columns = [read(column) for column in batch.columns[1:width]]
            for results in player.play_batch(columns, is_last=is_last):
                output.add(number, results)
            if is_last:
                player = position = None
            if output.rows >= OUTPUT_ROWS:
                yield output.take_batch()
        if output.rows:
            yield output.take_batch()

    return work


class _Output:
    """Result rows, one player after the other, until they are a batch."""

    def __init__(self, types: Mapping[str, str]) -> None:
        import pyarrow as pa

        self._schema = arrow_schema(types)
        self._batch_of = pa.RecordBatch.from_pydict
        self._begin()

    def add(self, number: int, columns: Columns) -> None:
        """Add rows of a player."""
        more = len(next(iter(columns.values())))
        (key, *names) = self._columns
        self._columns[key] += [number] * more
        for name in names:
            self._columns[name] += columns[name] if name in columns else [None] * more
        self.rows += more

    def take_batch(self) -> "pa.RecordBatch":
        """Take all rows as a batch."""
        batch = self._batch_of(self._columns, self._schema)
        self._begin()
        return batch

    def _begin(self) -> None:
        self.rows = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}
