"""Queues in Python workers: what happens streams in, batch by batch, and what is found comes out."""

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
"""So many objects more than before are worth a look for garbage: a backlog is none, and has as many."""
Columns = Mapping[str, Sequence[Any]]
"""Rows by column, all equally long; columns that are left out are null."""


class Fed(Protocol):
    """What plays a queue as it is told what happens there."""

    @property
    def feed(self) -> Callable[..., None]:
        """Play what happened: a list for each column that it is fed."""


FED = TypeVar("FED", bound=Fed)


def in_workers(
    happenings: DataFrame,
    fed: Sequence[str],
    order: Sequence[str],
    begin: Callable[[int], FED],
    found: Callable[[FED, bool], Iterable[Columns]],
    types: Mapping[str, str],
) -> DataFrame:
    """Play each queue in one task, with memory for its backlog and not for what happens on it.

    Args:
        happenings: the columns of `fed` and `order`.
        fed: the first one is the number of a machine; the others are what it is fed.
        order: the columns that order the rows of a machine.
        begin: the machine of a number, before anything happens.
        found: what a machine has found since it was last asked; at its end it is told so.
        types: the columns that come out, beside the number.

    Returns:
        The first of `fed`, and `types`; no order.
    """
    types = {fed[0]: "int", **types}
    ddl = ", ".join(f"{name} {type}" for name, type in types.items())
    not_fed = [name for name in order if name not in fed]
    ordered = sort_within_keys(happenings.select(*fed, *not_fed), fed[0], order).drop(*not_fed)
    return run_in_python(ordered, _play(len(fed), begin, found, types), ddl)


def _play(
    width: int,
    begin: Callable[[int], FED],
    found: Callable[[FED, bool], Iterable[Columns]],
    types: Mapping[str, str],
) -> Work:
    """The work of `in_workers` on batches whose first `width` columns are what is fed."""

    def work(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        gc.set_threshold(GARBAGE)
        output = _Output(types)
        machine: FED | None = None
        for number, stretch, is_last in split_by_key(batches):
            machine = machine or begin(number)
            machine.feed(*[column.to_pylist() for column in stretch.columns[1:width]])
            for columns in found(machine, is_last):
                output.add(number, columns)
            if is_last:
                machine = None
            if output.rows >= OUTPUT_ROWS:
                yield output.batch()
        if output.rows:
            yield output.batch()

    return work


class _Output:
    """Rows of one machine after the other, until they are a batch."""

    def __init__(self, types: Mapping[str, str]) -> None:
        import pyarrow as pa

        of = {"int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}
        of |= {"string": pa.string(), "boolean": pa.bool_()}
        self._schema = pa.schema([(name, of[type]) for name, type in types.items()])
        self._batch_of = pa.RecordBatch.from_pydict  # a worker imports pyarrow where it works
        self._begin()

    def add(self, number: int, columns: Columns) -> None:
        """More rows."""
        more = len(next(iter(columns.values())))
        (key, *names) = self._columns
        self._columns[key] += [number] * more
        for name in names:
            self._columns[name] += columns[name] if name in columns else [None] * more
        self.rows += more

    def batch(self) -> "pa.RecordBatch":
        """Take the rows away."""
        batch = self._batch_of(self._columns, self._schema)
        self._begin()
        return batch

    def _begin(self) -> None:
        self.rows = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema.names}
