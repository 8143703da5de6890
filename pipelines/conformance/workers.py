"""The queues in Python workers: what happened goes in, and totals and deviations come out."""

from collections.abc import Iterator

from pyspark.sql import DataFrame

from pipelines.conformance.decisions import COUNTS, OF_AN_HOUR
from pipelines.conformance.queue import Queue
from pipelines.conformance.timeline import COLUMNS, ORDER
from pipelines.queue_machine.workers import Columns, in_workers

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
TOLD = {**DEVIATION, "hour": "bigint", **dict.fromkeys(COUNTS, "bigint"), "blind": "double"}


def watched(timeline: DataFrame, *, start: int, tolerance: int, every_receive_counts: bool) -> DataFrame:
    """Watch each queue; see `pipelines.queue_machine.workers`.

    Args:
        timeline: see `pipelines.conformance.timeline`.
        start: decisions before it are not counted, in microseconds.
        tolerance: in microseconds.
        every_receive_counts: without any queue events a RECEIVED counts as committed.

    Returns:
        queue_number and `TOLD`: per queue a row per deviation, with `at`; one per `hour` since the epoch,
        with `OF_AN_HOUR`; and one with its totals. No order.
    """

    def begin(_: int) -> Queue:
        return Queue(start=start, tolerance=tolerance, every_receive_counts=every_receive_counts)

    return in_workers(timeline, COLUMNS, ORDER, begin, found, TOLD)


def found(queue: Queue, is_last: bool) -> Iterator[Columns]:
    """The deviations since it was last asked; at the end the hours and the totals as well."""
    if is_last:
        queue.finish()
    judge = queue.judge
    if rows := judge.deviations:
        names = ["kind" if name == "class" else name for name in DEVIATION]
        yield {name: [getattr(row, of) for row in rows] for name, of in zip(DEVIATION, names, strict=True)}
        rows.clear()
    if is_last:
        sums = zip(*judge.hours.values(), strict=True)
        yield {"hour": list(judge.hours), **dict(zip(OF_AN_HOUR, sums, strict=False))}
        yield {**{name: [count] for name, count in judge.counts.items()}, "blind": [judge.blind]}
