"""How well the receives of queues kept to the levels."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.load import Settings
from pipelines.config.queue_filter import QueueName
from pipelines.conformance.timeline import Ledger, timeline
from pipelines.conformance.workers import watched
from pipelines.engine.differences import Materialize
from pipelines.schedules.read import catalog_frames
from pipelines.state.messages import facts_of_many
from pipelines.state.transactions import LOCKING, OUTCOMES
from pipelines.storage.batches import completed_batches
from pipelines.storage.collect import collect_rows, micros
from pipelines.storage.small_frame import small_frame
from pipelines.storage.warehouse import Warehouse
from schemas.conformance import CONFORMANCE, CONFORMANCE_DEVIATIONS, CONFORMANCE_HOURS
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS

MICROSECOND = timedelta(microseconds=1)
SECONDS = 3600
UNKNOWN_WITHOUT_QUEUE_EVENTS = ("lock_skipped", "where_clause", "own_group")


@dataclass(frozen=True)
class ConformanceRequest:
    """What happened on the queues, and what is asked of it.

    Attributes:
        messages: what the messages are; see `pipelines.conformance.timeline.Ledger`.
        timeline: see `pipelines.conformance.timeline`.
        numbered: the queues with their `queue_number`.
        as_of: the instant.
        start: decisions before it do not count, in microseconds.
        knows_queues: without queue events a RECEIVED counts as committed, and nothing is known of locks and
            of WHERE: what depends on them is null.
    """

    messages: DataFrame
    timeline: DataFrame
    numbered: DataFrame
    as_of: datetime
    start: int
    knows_queues: bool


def request_at(
    warehouse: Warehouse,
    settings: Settings,
    *,
    as_of: datetime,
    window: timedelta | None,
    tolerance: timedelta = timedelta(0),
    materialize: Materialize,
) -> ConformanceRequest:
    """Read what happened on the queues before as_of.

    Args:
        warehouse: what to read.
        settings: the catalog: queues, and the services that are bound to them.
        as_of: the instant.
        window: only decisions so long before as_of count; None counts all.
        tolerance: facts so long before the first of them still explain it.
        materialize: computes a frame once.
    """
    queues = sorted(row[:3] for row in settings.catalog.queue_rows())
    numbered = small_frame(
        warehouse.spark,
        [(number, *names) for number, names in enumerate(queues)],
        "queue_number int, instance string, database string, queue string",
    )
    start = datetime.min.replace(tzinfo=as_of.tzinfo) if window is None else as_of - window
    tables = (MESSAGES, ENDPOINT_FACTS, QUEUE_FACTS, ENDPOINTS)
    read = [
        warehouse.read(table) if window is None else warehouse.read_open(table, start - tolerance)
        for table in tables
    ]
    # What a message is follows from all its events, whatever as_of.
    messages = materialize(facts_of_many(read[0], materialize))
    told = timeline(
        Ledger(messages, *read), numbered, catalog_frames(warehouse, settings).bindings, as_of=as_of
    )
    return ConformanceRequest(
        messages, told, numbered, as_of, micros(start), completed_batches(warehouse).has_queue_events
    )


def has_receives(warehouse: Warehouse) -> bool:
    """Whether the log has any RECEIVED event; what a snapshot lets one infer is none."""
    received = warehouse.read(MESSAGES).where("event_type = 'RECEIVED' and inferred is null")
    return not received.isEmpty()


def silent_queues(warehouse: Warehouse, receives: DataFrame) -> set[QueueName]:
    """Find the queues of `conformance` whose transactions are not logged: of their locks nothing is known.

    Args:
        warehouse: what to read.
        receives: `conformance`, kept.
    """
    of_transactions = F.col("event_type").isin(*LOCKING, *OUTCOMES)
    logged = warehouse.read(QUEUE_FACTS).where(of_transactions).select(*QUEUE).distinct()
    rows = collect_rows(receives.join(logged, list(QUEUE), "left_anti").select(*QUEUE))
    return {(row["instance"], row["database"], row["queue"]) for row in rows}


def receives_at(
    asked: ConformanceRequest, *, tolerance: timedelta, materialize: Materialize
) -> tuple[DataFrame, DataFrame, DataFrame]:
    """`conformance`, `conformance_hours` and `conformance_deviations`.

    Args:
        asked: what happened.
        tolerance: facts so near to a decision may have been in the other order.
        materialize: computes a frame once.
    """
    found = watched(
        asked.timeline,
        start=asked.start,
        tolerance=tolerance // MICROSECOND,
        every_receive_counts=not asked.knows_queues,
    )
    seen = _named(materialize(found), asked)
    totals = _rated(seen.where("at is null and hour is null and (decisions > 0 or where_clause > 0)"), asked)
    hours = seen.where("hour is not null").withColumns(
        {"hour": F.timestamp_seconds(F.col("hour") * SECONDS), "fitness": _kept(F.col("passable"))}
    )
    deviations = seen.where("at is not null").withColumn("at", F.timestamp_micros("at"))
    return (
        totals.select(*CONFORMANCE.names),
        hours.select(*CONFORMANCE_HOURS.names),
        deviations.select(*CONFORMANCE_DEVIATIONS.names),
    )


def _named(found: DataFrame, asked: ConformanceRequest) -> DataFrame:
    return F.broadcast(asked.numbered).join(found, "queue_number").withColumn("as_of", F.lit(asked.as_of))


def _rated(totals: DataFrame, asked: ConformanceRequest) -> DataFrame:
    unknown = () if asked.knows_queues else UNKNOWN_WITHOUT_QUEUE_EVENTS
    return totals.withColumns(
        {
            "fitness": _kept(F.col("passable")),
            "skill": _kept(F.col("blind")),
            **{name: F.lit(None).cast("bigint") for name in unknown},
        }
    )


def _kept(of: Column) -> Column:
    """1 if nothing was passed, 0 if as much as this was; null if nothing could be."""
    return F.when(of > 0, F.lit(1.0) - F.col("passed") / of)
