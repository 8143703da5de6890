"""Ends of endpoints that their own database contradicts: what it shows of its endpoints wins."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.ingest.snapshots.inferred_ends import LATELY
from pipelines.ingest.snapshots.view_events import OPEN
from pipelines.state.endpoints import SIDE
from schemas.events import CREATIONS, ENDS, OVERRULED


def overrule_ends(endpoint_events: DataFrame, materialize: Materialize) -> DataFrame:
    """Overrule the ends of endpoints that snapshots of their own database show open afterwards.

    Args:
        endpoint_events: all endpoint events of the conversations.
        materialize: computes a frame once.

    Returns:
        The same rows. An end has `OVERRULED` before its event_type, and is none then, if the endpoint's own
        view shows it SO, SI, CO or ER: at the same taken_at or later, if a state says it (that of the far
        endpoint, or its own before a restore); more than a minute later, if it is logged. Rows of earlier
        batches are judged again.
    """
    events = endpoint_events.withColumn("event_type", as_accepted())
    is_judged = F.col("event_type").isin(*ENDS) & F.col("inferred").isNull()
    ends = events.where(is_judged)
    if ends.isEmpty():
        return events
    shown = (
        events.where(F.col("event_type").isin(*CREATIONS) & F.col("state").isin(*OPEN))
        .groupBy(*SIDE)
        .agg(F.max("seen_at").alias("open_at"))
    )
    by_then = F.coalesce("seen_at", F.col("event_time") + F.expr(f"INTERVAL {LATELY.seconds} SECONDS"))
    is_contradicted = F.when(F.col("seen_at").isNotNull(), F.col("open_at") >= by_then).otherwise(
        F.col("open_at") > by_then
    )
    judged = shown.join(ends, SIDE, "right").withColumn("event_type", _overruled_if(is_contradicted))
    return materialize(events.where(~is_judged).unionByName(judged.select(*events.columns)))


def as_accepted() -> Column:
    """The event_type that an endpoint event came with."""
    return F.regexp_replace("event_type", f"^{OVERRULED}", "")


def _overruled_if(is_contradicted: Column) -> Column:
    event_type = F.col("event_type")
    return F.when(is_contradicted, F.concat(F.lit(OVERRULED), event_type)).otherwise(event_type)
