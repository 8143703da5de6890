"""Did the server do what its rules say: what is read, and what is told."""

from datetime import datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, functions as F

from insight.conformance.levels import KIND, conformance_levels
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


def told(levels: DataFrame, *, limit: int) -> dict[str, Any]:
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
