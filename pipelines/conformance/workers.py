"""The queues in Python workers: what happened streams in, batch by batch; totals and deviations come out."""

import gc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from engine.ordered import in_order, stretches
from engine.python_workers import Work, in_python
from pipelines.conformance.decisions import COUNTS, OF_AN_HOUR
from pipelines.conformance.queue import Queue
from pipelines.conformance.timeline import COLUMNS, ORDER

if TYPE_CHECKING:
    import pyarrow as pa

DEVIATION = {
    "at": "bigint",
    "transaction_id": "string",
    "conversation_group_id": "string",
    "level": "int",
    "best_level": "int",
    "passed_groups": "bigint",
    "class": "string",
    "witness_message_id": "string",
}
"""A row of `conformance_deviations`; null in a queue's row of totals."""
TOLD = {
    "queue_number": "int",
    **DEVIATION,
    "hour": "bigint",
    **dict.fromkeys(COUNTS, "bigint"),
    "blind": "double",
}
OUTPUT_ROWS = 8192
GARBAGE = 1_000_000
"""So many objects more than before are worth a look for garbage: a backlog is none, and has as many."""


def watched(timeline: DataFrame, *, start: int, tolerance: int, every_receive_counts: bool) -> DataFrame:
    """Play each queue in one task, with memory for its backlog and not for its events.

    Args:
        timeline: see `pipelines.conformance.timeline`.
        start: decisions before it are not counted, in microseconds.
        tolerance: in microseconds.
        every_receive_counts: without any queue events a RECEIVED counts as committed.

    Returns:
        `TOLD`: per queue a row per deviation, with `at`; one per `hour` since the epoch, with `OF_AN_HOUR`;
        and one with its totals. No order.
    """
    ordered = in_order(timeline.select(*COLUMNS), "queue_number", ORDER)
    ddl = ", ".join(f"{name} {type}" for name, type in TOLD.items())
    return in_python(ordered, _watch(start, tolerance, every_receive_counts), ddl)


def _watch(start: int, tolerance: int, every_receive_counts: bool) -> Work:
    def watch(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        gc.set_threshold(GARBAGE)
        output = _Output()
        queue: Queue | None = None
        for number, stretch, is_last in stretches(batches):
            queue = queue or Queue(
                start=start, tolerance=tolerance, every_receive_counts=every_receive_counts
            )
            queue.feed(*[column.to_pylist() for column in stretch.columns[1 : len(COLUMNS)]])
            if is_last:
                yield from output.last(number, queue)
                queue = None
            elif len(queue.judge.deviations) >= OUTPUT_ROWS:
                yield output.deviations(number, queue)

    return watch


class _Output:
    """Batches of what was found."""

    def __init__(self) -> None:
        import pyarrow as pa

        types = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "double": pa.float64()}
        self._pa = pa
        self._types = {name: types[type] for name, type in TOLD.items()}

    def last(self, number: int, queue: Queue) -> Iterator["pa.RecordBatch"]:
        """What is left, and the sums."""
        queue.finish()
        judge = queue.judge
        if judge.deviations:
            yield self.deviations(number, queue)
        sums = zip(*judge.hours.values(), strict=True)
        hours = {"hour": list(judge.hours), **dict(zip(OF_AN_HOUR, map(list, sums), strict=False))}
        yield self._batch(number, len(judge.hours), hours)
        totals = {name: [count] for name, count in judge.counts.items()}
        yield self._batch(number, 1, {**totals, "blind": [judge.blind]})

    def deviations(self, number: int, queue: Queue) -> "pa.RecordBatch":
        """The deviations so far."""
        rows = queue.judge.deviations
        columns = {name: [getattr(each, name) for each in rows] for name in DEVIATION if name != "class"}
        batch = self._batch(number, len(rows), {**columns, "class": [each.kind for each in rows]})
        rows.clear()
        return batch

    def _batch(self, number: int, rows: int, columns: Mapping[str, list[Any]]) -> "pa.RecordBatch":
        columns = {"queue_number": [number] * rows, **columns}
        arrays = [
            self._pa.array(columns[name], type) if name in columns else self._pa.nulls(rows, type)
            for name, type in self._types.items()
        ]
        return self._pa.RecordBatch.from_arrays(arrays, names=list(TOLD))
