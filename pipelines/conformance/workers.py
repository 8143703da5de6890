"""The queues in Python workers: what happened streams in, batch by batch; totals and deviations come out."""

import gc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from engine.ordered import in_order, stretches
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
    return ordered.mapInArrow(_watch(start, tolerance, every_receive_counts), ddl)


def _watch(
    start: int, tolerance: int, every_receive_counts: bool
) -> Callable[[Iterator["pa.RecordBatch"]], Iterator["pa.RecordBatch"]]:
    def watch(batches: Iterator["pa.RecordBatch"]) -> Iterator["pa.RecordBatch"]:
        import pyarrow as pa

        gc.set_threshold(GARBAGE)
        types = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "double": pa.float64()}
        schema = pa.schema([(name, types[type]) for name, type in TOLD.items()])
        current: tuple[int, Queue] | None = None

        def told(number: int, queue: Queue, *, last: bool) -> pa.RecordBatch:
            judge = queue.judge
            rows: list[dict[str, Any]] = [
                {"class": each.kind, **{name: getattr(each, name) for name in DEVIATION if name != "class"}}
                for each in judge.deviations
            ]
            judge.deviations.clear()
            if last:
                rows += [
                    {"hour": hour, **dict(zip(OF_AN_HOUR, figures, strict=True))}
                    for hour, figures in judge.hours.items()
                ]
                rows.append({**judge.counts, "blind": judge.blind})
            return pa.RecordBatch.from_pylist(
                [{"queue_number": number, **row} for row in rows], schema=schema
            )

        for batch in batches:
            for number, begin, end in stretches(batch.column(0)):
                if current is None or current[0] != number:
                    if current:
                        current[1].finish()
                        yield told(*current, last=True)
                    queue = Queue(start=start, tolerance=tolerance, every_receive_counts=every_receive_counts)
                    current = (number, queue)
                columns = [batch.column(name) for name in COLUMNS if name != "queue_number"]
                current[1].feed(*[column.slice(begin, end - begin).to_pylist() for column in columns])
                if len(current[1].judge.deviations) >= OUTPUT_ROWS:
                    yield told(*current, last=False)
        if current:
            current[1].finish()
            yield told(*current, last=True)

    return watch
