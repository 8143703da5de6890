"""Did the server do what its rules say: what is read, and what is told."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.load import Settings
from pipelines.config.queue_filter import QueueName
from pipelines.conformance.levels import KIND, conformance_levels
from pipelines.conformance.links import LINK, conformance_links
from pipelines.questions.differences import count_level_differences
from pipelines.schedules.read import catalog_frames
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.conformance import CONFORMANCE_LINKS
from schemas.events import MESSAGES
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES


def levels_at(warehouse: Warehouse, *, as_of: datetime, window: timedelta | None) -> DataFrame:
    """`conformance_levels` of the endpoints created before as_of; with a window, within it."""
    return conformance_levels(_created(warehouse, as_of, window), warehouse.read(PRIORITY_RULES))


def _created(warehouse: Warehouse, as_of: datetime, window: timedelta | None) -> DataFrame:
    created_at = F.col("created_at")
    asked = created_at < F.lit(as_of)
    if window is not None:
        asked &= created_at >= F.lit(as_of - window)
    return warehouse.read(ENDPOINTS).where(asked)


def count_levels_of_server(
    warehouse: Warehouse, *, as_of: datetime, window: timedelta | None
) -> dict[str, int]:
    """Count the endpoints whose level is the server's own: only a snapshot knows them.

    Returns:
        `of_server`: these endpoints. A comparison of their levels with the server's says nothing.
        `differing_today`: of these, those to which today's rules give another level.
    """
    own = _created(warehouse, as_of, window).where("level_source = 'server' and logged_priority is not null")
    counts = {"of_server": own.count(), "differing_today": 0}
    if counts["of_server"]:
        differing = count_level_differences(own, warehouse.read(PRIORITY_RULES))
        [sums] = collect_rows(differing.agg(F.sum("endpoints").alias("endpoints")))
        counts["differing_today"] = sums["endpoints"] or 0
    return counts


def links_at(
    warehouse: Warehouse,
    settings: Settings,
    *,
    as_of: datetime,
    window: timedelta | None,
    messages: DataFrame,
) -> DataFrame:
    """`conformance_links` of the messages that arrived before as_of; with a window, within it.

    Args:
        warehouse: what to read.
        settings: blocks of fragments, and who honors priorities.
        as_of: the instant.
        window: None looks at all.
        messages: `state.messages.facts_of_many` of all messages, whatever the window.
    """
    blocks = settings.transmission.blocks
    found = conformance_links(
        warehouse.read(MESSAGES),
        messages,
        warehouse.read(ENDPOINTS),
        catalog_frames(warehouse, settings).honoring,
        since=None if window is None else as_of - window,
        as_of=as_of,
        fragment_bytes=None if blocks is None else blocks.fragment_bytes,
    )
    return found.withColumn("as_of", F.lit(as_of)).select(*CONFORMANCE_LINKS.names)


def report_levels(levels: DataFrame, of_server: Mapping[str, int], *, limit: int) -> dict[str, Any]:
    """Count the endpoints, and give the kinds that differ, those with most endpoints first.

    Args:
        levels: `conformance_levels`, kept.
        of_server: `count_levels_of_server`.
        limit: rows.

    Returns:
        `endpoints`: all, those that can be compared (`logged`), of these `differing`, and `of_server`;
        `levels`: rows.
    """
    counts_of = {
        "endpoints": F.lit(True),
        "logged": F.col("logged_priority").isNotNull(),
        "differing": F.col("explanation").isNotNull(),
    }
    endpoints = F.col("endpoints")
    sums = [F.sum(F.when(asked, endpoints)).alias(name) for name, asked in counts_of.items()]
    [found] = collect_rows(levels.agg(*sums))
    counts = {name: count or 0 for name, count in found.items()}
    counts["logged"] -= of_server["of_server"]
    differing = levels.where("explanation is not null").orderBy(F.desc("endpoints"), *KIND)
    return {
        "endpoints": {**counts, **of_server},
        "levels": collect_rows(differing.limit(limit)),
    }


def report_receives(
    receives: DataFrame,
    deviations: DataFrame,
    *,
    knows_queues: bool,
    knows_receives: Callable[[], bool],
    silent: Collection[QueueName],
    limit: int,
) -> dict[str, Any]:
    """Count the decisions, and give the queues that passed most, and the worst deviations.

    Args:
        receives: `conformance`, kept.
        deviations: `conformance_deviations`, kept.
        knows_queues: whether the log has queue events.
        silent: `receives.silent_queues`.
        knows_receives: finds out whether the log has RECEIVED events; asked where there are no decisions.
        limit: rows of each part.
    """
    names = ("decisions", "with_choice", "conforming")
    [counts] = collect_rows(receives.agg(*[F.sum(name).alias(name) for name in names]))
    worst = deviations.orderBy(*worst_first())
    return {
        "receives": {name: count or 0 for name, count in counts.items()},
        "has_queue_events": knows_queues,
        "silent_queues": len(silent),
        "has_receives": bool(counts["decisions"]) or knows_receives(),
        "queues": collect_rows(receives.orderBy(F.desc("passed"), *QUEUE).limit(limit)),
        "deviations": [
            {
                **row,
                "locks_known": knows_queues
                and (row["instance"], row["database"], row["queue"]) not in silent,
            }
            for row in collect_rows(worst.limit(limit))
        ],
    }


def worst_first() -> list[Column]:
    """The order of deviations: the unexplained ones first, then those that passed over most levels."""
    return [
        F.desc(F.col("class") == "unexplained"),
        F.desc(F.col("best_level") - F.col("level")),
        F.desc("passed_groups"),
        *map(F.col, QUEUE),
        F.col("at"),
        F.asc_nulls_first("transaction_id"),
        F.col("conversation_group_id"),
    ]


def report_links(links: DataFrame, *, limit: int) -> dict[str, Any]:
    """The links with most inversions.

    Args:
        links: `conformance_links`, kept.
        limit: rows.
    """
    return {"links": collect_rows(links.orderBy(F.desc("inversions"), *LINK).limit(limit))}
