"""Queues in Python workers: events stream in, batch by batch, and results come out."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pyspark.sql import DataFrame

from pipelines.engine.ordered import sort_within_keys, split_by_key
from pipelines.engine.python_workers import Work, run_in_python

if TYPE_CHECKING:
    import pyarrow as pa

OUTPUT_ROWS = 8192
GARBAGE = 1_000_000
"""New objects before Python looks for garbage: the objects of a backlog are many, and none is garbage."""
Columns = Mapping[str, Sequence[Any]]
"""Rows by column, all equally long; columns that are left out are null."""


class QueuePlayer(Protocol):
    """Plays the events of one queue."""

    def play(self, columns: Sequence[list[Any]]) -> None:
        """Play the next events: a list for each column, all equally long."""


PLAYER = TypeVar("PLAYER", bound=QueuePlayer)


def run_queues(
    events: DataFrame,
    columns: Sequence[str],
    order: Sequence[str],
    begin: Callable[[int], PLAYER],
    take_results: Callable[[PLAYER, bool], Iterable[Columns]],
    types: Mapping[str, str],
) -> DataFrame:
    """Play each queue in one task; memory grows with its backlog, not with its events.

    Args:
        events: the names of `columns` and `order`.
        columns: the first one is the number of a player; the others are played.
        order: the columns that order the rows of a player.
        begin: makes the player of a number, before any event.
        take_results: takes the results of a player since the last call; its second argument is true at the
            end.
        types: the columns of results, beside the number.

    Returns:
        The first of `columns`, and `types`; no order.
    """
    types = {columns[0]: "int", **types}
    ddl = ", ".join(f"{name} {type}" for name, type in types.items())
    order_only = [name for name in order if name not in columns]
    ordered = sort_within_keys(events.select(*columns, *order_only), columns[0], order).drop(*order_only)
    return run_in_python(ordered, _play(len(columns), begin, take_results, types), ddl)


def _play(
    width: int,
    begin: Callable[[int], PLAYER],
    take_results: Callable[[PLAYER, bool], Iterable[Columns]],
    types: Mapping[str, str],
) -> Work:
    """The work of `run_queues` on batches whose first `width` columns are played."""

    def work(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        gc.set_threshold(GARBAGE)
        output = _Output(types)
        player: PLAYER | None = None
        for number, batch, is_last in split_by_key(batches):
            player = player or begin(number)
            player.play([column.to_pylist() for column in batch.columns[1:width]])
            for results in take_results(player, is_last):
                output.add(number, results)
            if is_last:
                player = None
            if output.rows >= OUTPUT_ROWS:
                yield output.take_batch()
        if output.rows:
            yield output.take_batch()

    return work


class _Output:
    """Result rows, one player after the other, until they are a batch."""

    def __init__(self, types: Mapping[str, str]) -> None:
        import pyarrow as pa

        of = {"int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}
        of |= {"string": pa.string(), "boolean": pa.bool_()}
        self._schema = pa.schema([(name, of[type]) for name, type in types.items()])
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
