"""The tables of receives: decisions that followed the levels, and deviations."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.conformance.queue import RESULTS, Queue
from pipelines.conformance.timeline import COLUMNS, ORDER
from pipelines.engine.materialize import Materialize
from pipelines.queue_machine.workers import run_queues
from schemas.conformance import CONFORMANCE, CONFORMANCE_DEVIATIONS, CONFORMANCE_HOURS

MICROSECOND = timedelta(microseconds=1)
SECONDS = 3600
UNKNOWN_WITHOUT_QUEUE_EVENTS = ("lock_skipped", "where_clause", "own_group")


@dataclass(frozen=True)
class ConformanceRequest:
    """The events of the queues, and the decisions that count.

    Attributes:
        messages: `describe_messages` of the message events.
        timeline: see `pipelines.conformance.timeline`.
        numbered: the queues with their `queue_number`.
        as_of: the instant.
        start: earlier decisions do not count, in microseconds.
        has_queue_events: see `Ledger`. Without queue events the figures of locks and of WHERE are null.
    """

    messages: DataFrame
    timeline: DataFrame
    numbered: DataFrame
    as_of: datetime
    start: int
    has_queue_events: bool


def receives_at(
    request: ConformanceRequest, *, tolerance: timedelta, materialize: Materialize
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """`conformance`, `conformance_hours` and `conformance_deviations`.

    Args:
        request: the events of the queues.
        tolerance: events closer than this to a decision are treated as simultaneous with it.
        materialize: computes a frame once.
    """
    start, micros, has_queue_events = request.start, tolerance // MICROSECOND, request.has_queue_events

    def begin(_: int) -> Queue:
        return Queue(start=start, tolerance=micros, has_queue_events=has_queue_events)

    results = run_queues(request.timeline, COLUMNS, ORDER, begin, RESULTS)
    rows = F.broadcast(request.numbered).join(materialize(results), "queue_number")
    rows = rows.withColumn("as_of", F.lit(request.as_of))
    unknown = () if has_queue_events else UNKNOWN_WITHOUT_QUEUE_EVENTS
    totals = rows.where("at is null and hour is null and (decisions > 0 or where_clause > 0)").withColumns(
        {
            "fitness": _share_not_passed("passable"),
            "skill": _share_not_passed("blind"),
            **{name: F.lit(None).cast("bigint") for name in unknown},
        }
    )
    hours = rows.where("hour is not null").withColumns(
        {"hour": F.timestamp_seconds(F.col("hour") * SECONDS), "fitness": _share_not_passed("passable")}
    )
    deviations = rows.where("at is not null").withColumn("at", F.timestamp_micros("at"))
    return (
        totals.select(*CONFORMANCE.names),
        hours.select(*CONFORMANCE_HOURS.names),
        deviations.select(*CONFORMANCE_DEVIATIONS.names),
    )


def _share_not_passed(name: str) -> Column:
    """1 if no group was passed, 0 if as many as the column says; null if no group could be passed."""
    of = F.col(name)
    return F.when(of > 0, F.lit(1.0) - F.col("passed") / of)
