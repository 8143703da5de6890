"""How well the receives of queues kept to the levels."""

from collections.abc import Callable
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from config.load import Settings
from insight.backlog import catalog_frames, has_queue_events
from pipelines.conformance.timeline import Ledger, timeline
from pipelines.conformance.workers import watched
from schemas.conformance import CONFORMANCE, CONFORMANCE_DEVIATIONS
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from storage.collected import micros
from storage.small_frame import small_frame
from storage.warehouse import Warehouse

MICROSECOND = timedelta(microseconds=1)
UNKNOWN_WITHOUT_QUEUE_EVENTS = ("lock_skipped", "where_clause", "own_group")


def receives_at(
    warehouse: Warehouse,
    settings: Settings,
    *,
    as_of: datetime,
    window: timedelta | None,
    tolerance: timedelta,
    keep: Callable[[DataFrame], DataFrame],
) -> tuple[DataFrame, DataFrame]:
    """`conformance` and `conformance_deviations`.

    Args:
        warehouse: what to read.
        settings: the catalog: queues, and the services that are bound to them.
        as_of: the instant.
        window: only decisions so long before as_of count; None counts all.
        tolerance: facts so near to a decision may have been in the other order.
        keep: computes a frame once.

    Without queue events a RECEIVED counts as committed, and nothing is known of locks and of WHERE: what
    depends on them is null.
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
        warehouse.read(table) if window is None else warehouse.read_open(table, start) for table in tables
    ]
    knows_queues = has_queue_events(warehouse)
    told = timeline(Ledger(*read), numbered, catalog_frames(warehouse, settings).bindings, as_of=as_of)
    found = watched(
        told,
        start=micros(start),
        tolerance=tolerance // MICROSECOND,
        every_receive_counts=not knows_queues,
    )
    seen = F.broadcast(numbered).join(keep(found), "queue_number").withColumn("as_of", F.lit(as_of))
    unknown = () if knows_queues else UNKNOWN_WITHOUT_QUEUE_EVENTS
    totals = seen.where("at is null and (decisions > 0 or where_clause > 0)").withColumns(
        {
            "fitness": _kept(F.col("passable")),
            "skill": _kept(F.col("blind")),
            **{name: F.lit(None).cast("bigint") for name in unknown},
        }
    )
    deviations = seen.where("at is not null").withColumn("at", F.timestamp_micros("at"))
    return totals.select(*CONFORMANCE.names), deviations.select(*CONFORMANCE_DEVIATIONS.names)


def _kept(of: Column) -> Column:
    """1 if nothing was passed, 0 if as much as this was; null if nothing could be."""
    return F.when(of > 0, F.lit(1.0) - F.col("passed") / of)
