"""The queues in Python workers: events in, totals and deviations out."""

from collections.abc import Iterator

from pyspark.sql import DataFrame

from pipelines.conformance.decisions import COUNTS, HOURLY
from pipelines.conformance.queue import Queue
from pipelines.conformance.timeline import COLUMNS, ORDER
from pipelines.queue_machine.workers import Columns, run_queues

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
"""The columns of `conformance_deviations`; null in other rows."""
RESULTS = {**DEVIATION, "hour": "bigint", **dict.fromkeys(COUNTS, "bigint"), "blind": "double"}


def compare_receives(timeline: DataFrame, *, start: int, tolerance: int, has_queue_events: bool) -> DataFrame:
    """Compare the receives of each queue with the groups that were available.

    Args:
        timeline: see `pipelines.conformance.timeline`.
        start: earlier decisions are not counted, in microseconds.
        tolerance: in microseconds.
        has_queue_events: see `pipelines.state.ledger.Ledger`.

    Returns:
        queue_number and `RESULTS`: per queue a row per deviation, with `at`; one per `hour` since the epoch,
        with `HOURLY`; and one with its totals. No order.
    """

    def begin(_: int) -> Queue:
        return Queue(start=start, tolerance=tolerance, has_queue_events=has_queue_events)

    return run_queues(timeline, COLUMNS, ORDER, begin, take_results, RESULTS)


def take_results(queue: Queue, is_last: bool) -> Iterator[Columns]:
    """The deviations since the last call; at the end the hours and the totals too."""
    if is_last:
        queue.finish()
    evaluator = queue.evaluator
    if rows := evaluator.deviations:
        names = ["kind" if name == "class" else name for name in DEVIATION]
        yield {name: [getattr(row, of) for row in rows] for name, of in zip(DEVIATION, names, strict=True)}
        rows.clear()
    if is_last:
        sums = zip(*evaluator.hours.values(), strict=True)
        yield {"hour": list(evaluator.hours), **dict(zip(HOURLY, sums, strict=False))}
        totals = {name: [count] for name, count in evaluator.counts.items()}
        yield {**totals, "blind": [evaluator.blind]}
