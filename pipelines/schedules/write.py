"""Write group priorities and both schedules of an as_of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import union_all
from pipelines.schedules.groups import group_priorities
from pipelines.schedules.messages import place_to_receive, unresolved
from pipelines.schedules.orders import on_their_way, orders, queued
from pipelines.schedules.read import catalog_frames, read_backlog
from pipelines.schedules.transmission import forwarded_elsewhere
from pipelines.schedules.view_sums import with_views
from pipelines.settings.load import Settings
from pipelines.state.messages import SHOWN
from pipelines.state.open_messages import StateOfMessages
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.collect import collect_rows
from pipelines.storage.freshness import latest_as_of
from pipelines.storage.snapshots.newest import SummedView, read_summed_views
from pipelines.storage.warehouse import Warehouse
from schemas.keys import QUEUE
from schemas.outputs import GROUP_PRIORITIES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, UNRESOLVED


@dataclass(frozen=True)
class OpenMessages:
    """Open messages, counted before they are ordered.

    Attributes:
        counts: open_receive, open_transmission and open_forwarded.
        views: of the newest complete view of each queue, how many of the queue's open messages it shows, and
            how many it does not show.
    """

    counts: Mapping[str, int]
    views: Mapping[SummedView, tuple[int, int]] = field(default_factory=dict)


def write_schedules(
    warehouse: Warehouse,
    settings: Settings,
    as_of: datetime,
    batches: CompletedBatches,
    known: StateOfMessages | None = None,
) -> OpenMessages:
    """Replace the rows of this as_of in the schedule tables; other rows stay.

    Args:
        warehouse: the tables.
        settings: the catalog, and what the schedules depend on.
        as_of: the instant to describe.
        batches: the batches that made the ledger.
        known: the state of messages by which the last batch closed rows, if this run ingested it; used if
            no event lies between its moment and as_of.

    Returns:
        The counts of open messages, from before the schedules.
    """
    with warehouse.materializing() as materialize:
        catalog = catalog_frames(warehouse, settings)
        all_counts_from = latest_as_of(warehouse, batches) if batches.has_newest_data else None
        waiting = read_backlog(
            warehouse,
            catalog,
            as_of,
            materialize,
            has_queue_events=batches.has_queue_events,
            known=known if known and known.holds_at(as_of, all_counts_from) else None,
        )
        received, sent, views = run_concurrently(
            warehouse.spark,
            lambda: materialize(queued(waiting)),
            lambda: materialize(on_their_way(waiting)),
            lambda: read_summed_views(warehouse, as_of),
        )
        counts = _count_open(received, sent, waiting.forwarding, views)
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


def _count_open(
    received: DataFrame, sent: DataFrame, forwarding: DataFrame, views: Sequence[SummedView]
) -> OpenMessages:
    forwarded = forwarded_elsewhere(sent, forwarding)
    in_queue = {name: place.alias(name) for name, place in place_to_receive().items()}
    held = {name: F.coalesce(f"shown_{name}", f"sender_{name}").alias(name) for name in QUEUE[:2]}
    parts = {
        "receive": received.select(*in_queue.values(), *SHOWN),
        "transmission": sent.where("waits").select(
            *held.values(), F.col("shown_queue").alias("queue"), *SHOWN
        ),
        "forwarded": forwarded.select(*[F.col(f"shown_{name}").alias(name) for name in QUEUE], *SHOWN),
    }
    named = union_all([rows.withColumn("kind", F.lit(name)) for name, rows in parts.items()])
    by = ["kind"]
    if views:
        named, by = with_views(named, views), [*by, "view", "is_shown"]
    counts = {f"open_{name}": 0 for name in parts}
    shown, others = (dict.fromkeys(views, 0) for _ in range(2))
    for row in collect_rows(named.groupBy(*by).agg(F.count(F.lit(1)).alias("rows"))):
        counts[f"open_{row['kind']}"] += row["rows"]
        if row.get("view") is not None:
            (shown if row["is_shown"] else others)[views[row["view"]]] += row["rows"]
    return OpenMessages(counts, {each: (shown[each], others[each]) for each in views})
