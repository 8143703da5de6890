"""The replay: a queue's happenings stream through a Python worker, batch by batch."""

from collections.abc import Iterator, Sequence
from types import NoneType
from typing import TYPE_CHECKING, get_args, get_type_hints

from pyspark.sql import DataFrame

from engine.ordered import in_order, stretches
from engine.python_workers import Work, in_python
from pipelines.activation import happenings as h
from pipelines.activation.replay import Clock, Monitor, Replay, Run, Totals
from pipelines.activation.timeline import COLUMNS, ORDER

if TYPE_CHECKING:
    import pyarrow as pa

TYPES = {int: "bigint", str: "string", bool: "boolean"}


def _fields(row: type[Run] | type[Totals]) -> list[tuple[str, str]]:
    """Names and Spark types of a dataclass's fields."""
    return [
        (name, TYPES[next(kind for kind in (get_args(hint) or (hint,)) if kind is not NoneType)])
        for name, hint in get_type_hints(row).items()
    ]


def _ddl(fields: list[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {type}" for name, type in fields)


RUN, TOTALS = _fields(Run), _fields(Totals)
REPLAYED = f"queue_number int, ordinal bigint, run struct<{_ddl(RUN)}>, totals struct<{_ddl(TOTALS)}>"
OUTPUT_ROWS = 4096


def replayed(timeline: DataFrame, monitors: Sequence[Monitor], clock: Clock) -> DataFrame:
    """Replay the queues, each in one task, with memory for a batch and not for a queue.

    This is the one place where Python looks at each row: a pending notification depends on the one before
    it, which no window function can say.

    Args:
        timeline: queue_number, `place`, event_id, `kind` and `number`; see `pipelines.activation.timeline`.
        monitors: the monitors by number: `monitors[n].number` is n.
        clock: the window.

    Returns:
        Per queue that has any happening: a row per run, with `ordinal` from 1 and `run`, and one with
        ordinal 0 and `totals`. Times are microseconds. No order.
    """
    ordered = in_order(timeline.select(*COLUMNS), "queue_number", ORDER)
    return in_python(ordered.drop("event_id"), _play(list(monitors), clock), REPLAYED)


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
                places, kinds, numbers = batch.slice(begin, end - begin).columns[1:4]
                current.play(places, kinds, numbers)
                current.move_runs(output)
                yield from output.full_batches()
        if current:
            current.finish(output)
        yield from output.rest()

    return play


class _Queue:
    """The queue that is being replayed."""

    def __init__(self, number: int, replay: Replay) -> None:
        self.number, self.replay, self._ordinal = number, replay, 0
        self._last_place: int | None = None

    def play(self, places: "pa.Array", kinds: "pa.Array", numbers: "pa.Array") -> None:
        """Play one stretch of the queue.

        Raises:
            RuntimeError: the engine did not keep the order.
        """
        import numpy as np

        whens = places.to_numpy(zero_copy_only=False)
        first = whens[0] if self._last_place is None else self._last_place
        if whens[0] < first or np.any(whens[1:] < whens[:-1]):
            raise RuntimeError("the engine did not keep the order of what happened on a queue")
        self._last_place = whens[-1]
        self.replay.feed((whens // h.KINDS_AT_AN_INSTANT).tolist(), kinds.to_pylist(), numbers.to_pylist())

    def move_runs(self, output: "_Output") -> None:
        for run in self.replay.runs:
            self._ordinal += 1
            output.add(self.number, self._ordinal, run, None)
        self.replay.runs.clear()

    def finish(self, output: "_Output") -> None:
        totals = self.replay.finish()
        self.move_runs(output)
        output.add(self.number, 0, None, totals)


class _Output:
    """Rows that have not left the worker yet."""

    def __init__(self) -> None:
        import pyarrow as pa

        types = {"bigint": pa.int64(), "string": pa.string(), "boolean": pa.bool_(), "int": pa.int32()}
        self._pa, self._rows = pa, list[dict[str, object]]()
        run, totals = (pa.struct([(name, types[type]) for name, type in fields]) for fields in (RUN, TOTALS))
        self._schema = pa.schema(
            [("queue_number", pa.int32()), ("ordinal", pa.int64()), ("run", run), ("totals", totals)]
        )

    def add(self, number: int, ordinal: int, run: Run | None, totals: Totals | None) -> None:
        self._rows.append(
            {
                "queue_number": number,
                "ordinal": ordinal,
                "run": run and {name: getattr(run, name) for name, _ in RUN},
                "totals": totals and {name: getattr(totals, name) for name, _ in TOTALS},
            }
        )

    def full_batches(self) -> Iterator["pa.RecordBatch"]:
        if len(self._rows) >= OUTPUT_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator["pa.RecordBatch"]:
        if self._rows:
            yield self._pa.RecordBatch.from_pylist(self._rows, schema=self._schema)
            self._rows = []
