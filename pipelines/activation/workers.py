"""The replay: a queue's happenings stream through a Python worker, batch by batch."""

from collections.abc import Iterator, Sequence
from types import NoneType
from typing import TYPE_CHECKING, get_args, get_type_hints

from pyspark.sql import DataFrame

from engine.ordered import in_order, stretches
from engine.python_workers import Work
from pipelines.activation import happenings as h
from pipelines.activation.checks import OCCURS, REASONS, SUPPRESSED_BY, TRIGGERS, Checks, Clock
from pipelines.activation.replay import Monitor, Replay
from pipelines.activation.states import Totals
from pipelines.activation.timeline import COLUMNS, ORDER

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {int: "bigint", bool: "boolean"}
NAMES = {"trigger": TRIGGERS, "reason": REASONS, "suppressed_by": SUPPRESSED_BY}
"""Of the columns that are numbers in a worker and text outside."""
RUN = {
    **dict.fromkeys(("first_check", "last_check", "until", "checks"), "bigint"),
    **dict.fromkeys(("trigger", "reason"), "string"),
    **dict.fromkeys(("ready_messages", "running_tasks"), "bigint"),
    "occurs": "boolean",
    "suppressed_by": "string",
}
TOTALS = {
    name: TYPES[next(kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType)]
    for name, hint in get_type_hints(Totals).items()
}


def _ddl(fields: dict[str, str]) -> str:
    return ", ".join(f"{name} {type}" for name, type in fields.items())


REPLAYED = f"queue_number int, ordinal bigint, run struct<{_ddl(RUN)}>, totals struct<{_ddl(TOTALS)}>"
OUTPUT_ROWS = 4096


def replayed(timeline: DataFrame, monitors: Sequence[Monitor], clock: Clock) -> DataFrame:
    """Replay the queues, each in one task, with memory for a batch and not for a queue.

    Args:
        timeline: queue_number, `place`, event_id, `kind` and `number`; see `pipelines.activation.timeline`.
        monitors: the monitors by number: `monitors[n].number` is n.
        clock: the window.

    Returns:
        Per queue that has any happening: a row per run, with `ordinal` from 1 and `run`, and one with
        ordinal 0 and `totals`. Times are microseconds. No order.
    """
    ordered = in_order(timeline.select(*COLUMNS), "queue_number", ORDER)
    return ordered.drop("event_id").mapInArrow(_play(list(monitors), clock), REPLAYED)


def _play(monitors: list[Monitor], clock: Clock) -> Work:
    def play(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        output = _Output()
        current: _Queue | None = None
        for batch in batches:
            for number, begin, end in stretches(batch.column(0)):
                if current is None or current.number != number:
                    if current:
                        current.finish(output)
                    current = _Queue(number, Replay(monitors[number], clock))
                current.play(batch.slice(begin, end - begin), output)
                yield from output.full_batches()
        if current:
            current.finish(output)
        yield from output.rest()

    return play


class _Queue:
    """The queue that is being replayed."""

    def __init__(self, number: int, replay: Replay) -> None:
        self.number, self._replay, self._runs = number, replay, 0
        self._last_place: int | None = None

    def play(self, stretch: "pa.RecordBatch", output: "_Output") -> None:
        """Play one stretch of the queue.

        Raises:
            RuntimeError: the engine did not keep the order.
        """
        import numpy as np

        places, kinds, numbers = (column.to_numpy(zero_copy_only=False) for column in stretch.columns[1:4])
        first = places[0] if self._last_place is None else self._last_place
        if places[0] < first or np.any(places[1:] < places[:-1]):
            raise RuntimeError("the engine did not keep the order of what happened on a queue")
        self._last_place = places[-1]
        self._add(self._replay.feed(places // h.KINDS_AT_AN_INSTANT, kinds, numbers), output)

    def finish(self, output: "_Output") -> None:
        runs, totals = self._replay.finish()
        self._add(runs, output)
        output.add_totals(self.number, totals)

    def _add(self, runs: Checks, output: "_Output") -> None:
        output.add_runs(self.number, self._runs, runs)
        self._runs += len(runs)


class _Output:
    """Rows that have not left the worker yet."""

    def __init__(self) -> None:
        import pyarrow as pa

        types = {"bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}
        run, totals = (
            pa.struct([(name, types[type]) for name, type in fields.items()]) for fields in (RUN, TOTALS)
        )
        self._schema = pa.schema(
            [("queue_number", pa.int32()), ("ordinal", pa.int64()), ("run", run), ("totals", totals)]
        )
        self._batches: list[pa.RecordBatch] = []
        self._rows = 0

    def add_runs(self, number: int, before: int, runs: Checks) -> None:
        """Add runs of a queue that has had so many before."""
        import numpy as np
        import pyarrow as pa

        if not len(runs):
            return
        columns = {name: pa.array(runs[name]) for name in runs.dtype.names or ()}
        columns |= {name: pa.array(names).take(columns[name]) for name, names in NAMES.items()}
        columns["occurs"] = pa.array(runs["suppressed_by"] == OCCURS)
        run = self._schema.field("run").type
        self._add(
            pa.array(np.full(len(runs), number, np.int32)),
            pa.array(np.arange(before + 1, before + 1 + len(runs))),
            pa.StructArray.from_arrays([columns[name] for name in RUN], fields=list(run)),
            pa.nulls(len(runs), self._schema.field("totals").type),
        )

    def add_totals(self, number: int, totals: Totals) -> None:
        import pyarrow as pa

        row = {name: getattr(totals, name) for name in TOTALS}
        run, told = (self._schema.field(name).type for name in ("run", "totals"))
        self._add(pa.array([number], pa.int32()), pa.array([0]), pa.nulls(1, run), pa.array([row], told))

    def _add(self, *columns: "pa.Array") -> None:
        import pyarrow as pa

        self._batches.append(pa.RecordBatch.from_arrays(list(columns), schema=self._schema))
        self._rows += len(columns[0])

    def full_batches(self) -> Iterator["pa.RecordBatch"]:
        if self._rows >= OUTPUT_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        if self._batches:
            yield from pa.Table.from_batches(self._batches).combine_chunks().to_batches()
            self._batches, self._rows = [], 0
