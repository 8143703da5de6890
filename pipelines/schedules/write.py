"""Write group priorities and both schedules of an as_of."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.config.load import Settings
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import union_all
from pipelines.schedules.groups import group_priorities
from pipelines.schedules.messages import unresolved
from pipelines.schedules.orders import on_their_way, orders, queued
from pipelines.schedules.read import catalog_frames, read_backlog
from pipelines.schedules.transmission import forwarded_elsewhere
from pipelines.state.open_messages import StateOfMessages
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.collect import collect_rows
from pipelines.storage.freshness import latest_as_of
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED


def write_schedules(
    warehouse: Warehouse,
    settings: Settings,
    as_of: datetime,
    batches: CompletedBatches,
    known: StateOfMessages | None = None,
) -> dict[str, int]:
    """Replace the rows of this as_of in the schedule tables; other rows stay.

    Args:
        warehouse: the tables.
        settings: the catalog, and what the schedules depend on.
        as_of: the instant to describe.
        batches: the batches that made the ledger.
        known: the state of messages by which the last batch closed rows, if this run ingested it; used if
            no event lies between its moment and as_of.

    Returns:
        The counts of open messages, from before the schedules:
        open_receive, open_transmission and open_forwarded.
    """
    with warehouse.materializing() as materialize:
        catalog = catalog_frames(warehouse, settings)
        all_counts_from = latest_as_of(batches) if batches.has_newest_data else None
        waiting = read_backlog(
            warehouse,
            catalog,
            as_of,
            materialize,
            has_queue_events=batches.has_queue_events,
            known=known if known and known.holds_at(as_of, all_counts_from) else None,
        )
        received, sent = run_concurrently(
            warehouse.spark,
            lambda: materialize(queued(waiting)),
            lambda: materialize(on_their_way(waiting)),
        )
        counts = _count_open(received, sent, waiting.forwarding)
        ordered = orders(
            received,
            sent,
            waiting,
            catalog,
            as_of=as_of,
            settings=settings,
            materialize=materialize,
        )
        run_concurrently(
            warehouse.spark,
            lambda: warehouse.replace_as_of(GROUP_PRIORITIES, group_priorities(ordered.groups), as_of),
            lambda: warehouse.replace_as_of(RECEIVE_SCHEDULE, ordered.received, as_of),
            lambda: warehouse.replace_as_of(TRANSMISSION_SCHEDULE, ordered.sent, as_of),
            lambda: warehouse.replace_as_of(UNRESOLVED, unresolved(received, sent), as_of),
        )
    return counts


def _count_open(received: DataFrame, sent: DataFrame, forwarding: DataFrame) -> dict[str, int]:
    parts = {
        "open_receive": received,
        "open_transmission": sent.where("waits"),
        "open_forwarded": forwarded_elsewhere(sent, forwarding),
    }
    named = union_all([rows.select(F.lit(name).alias("part")) for name, rows in parts.items()])
    counted = collect_rows(named.groupBy("part").agg(F.count(F.lit(1)).alias("rows")))
    return dict.fromkeys(parts, 0) | {row["part"]: row["rows"] for row in counted}
