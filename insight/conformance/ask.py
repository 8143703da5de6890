"""Did the server do what its rules say: what is read, and what is told."""

from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import Column, DataFrame, functions as F

from config.load import Settings
from insight.backlog import catalog_frames
from insight.conformance.levels import KIND, conformance_levels
from insight.conformance.links import LINK, conformance_links
from schemas.conformance import CONFORMANCE_LINKS
from schemas.events import MESSAGES
from schemas.keys import QUEUE
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from storage.collected import collected
from storage.warehouse import Warehouse


def levels_at(warehouse: Warehouse, *, as_of: datetime, window: timedelta | None) -> DataFrame:
    """`conformance_levels` of the endpoints created before as_of; with a window, within it."""
    created_at = F.col("created_at")
    asked = created_at < F.lit(as_of)
    if window is not None:
        asked &= created_at >= F.lit(as_of - window)
    return conformance_levels(warehouse.read(ENDPOINTS).where(asked), warehouse.read(PRIORITY_RULES))


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


def told_levels(levels: DataFrame, *, limit: int) -> dict[str, Any]:
    """Count the endpoints, and give the kinds that differ, those with most endpoints first.

    Args:
        levels: `conformance_levels`, kept.
        limit: rows.
    """
    counts_of = {
        "endpoints": F.lit(True),
        "logged": F.col("logged_priority").isNotNull(),
        "differing": F.col("explanation").isNotNull(),
    }
    endpoints = F.col("endpoints")
    sums = [F.sum(F.when(asked, endpoints)).alias(name) for name, asked in counts_of.items()]
    [counts] = collected(levels.agg(*sums))
    differing = levels.where("explanation is not null").orderBy(F.desc("endpoints"), *KIND)
    return {
        "endpoints": {name: count or 0 for name, count in counts.items()},
        "levels": collected(differing.limit(limit)),
    }


def told_receives(receives: DataFrame, deviations: DataFrame, *, limit: int) -> dict[str, Any]:
    """Count the decisions, and give the queues that passed most, and the worst deviations.

    Args:
        receives: `conformance`, kept.
        deviations: `conformance_deviations`, kept.
        limit: rows of each part.
    """
    names = ("decisions", "with_choice", "conforming")
    [counts] = collected(receives.agg(*[F.sum(name).alias(name) for name in names]))
    worst = deviations.orderBy(*worst_first())
    return {
        "receives": {name: count or 0 for name, count in counts.items()},
        "queues": collected(receives.orderBy(F.desc("passed"), *QUEUE).limit(limit)),
        "deviations": collected(worst.limit(limit)),
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


def told_links(links: DataFrame, *, limit: int) -> dict[str, Any]:
    """The links with most inversions.

    Args:
        links: `conformance_links`, kept.
        limit: rows.
    """
    return {"links": collected(links.orderBy(F.desc("inversions"), *LINK).limit(limit))}
