"""What became of messages that a snapshot shows and the next complete view lacks."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.ladder.ladder import is_in_period
from pipelines.server.snapshots.facts import SERVICE
from pipelines.state.endpoints import OVER, SIDE
from schemas.events import CREATIONS

RECEIVED, MOVED, RECEIVED_OR_DROPPED = "received", "moved", "received_or_dropped"
ARE_BINDINGS = f"kind = '{SERVICE}' and attribute = 'queue'"
"""Which rows of `catalog_history` say the queues of services."""
PLACE = ["instance", "database"]


def find_fates(
    gone: DataFrame, complete: DataFrame, endpoint_events: DataFrame, bindings: DataFrame
) -> DataFrame:
    """Find what became of messages that are gone, as far as snapshots show.

    Args:
        gone: one row a message: `message_id`; `since`, when it was last seen, and `by`, the taken_at of the
            first complete view that lacks it; SIDE, PLACE, local_service and ended_at of the endpoint that
            held it.
        complete: PLACE and taken_at of complete views of endpoints, unique.
        endpoint_events: SIDE, event_type, seen_at and state of the events of these endpoints.
        bindings: rows of `catalog_history` that say the queues of services; few.

    Returns:
        message_id; `fate`: received, moved (its service had another queue by then), or received_or_dropped
        (the view that decides does not show the endpoint, or as ended, whatever a later one shows after a
        restore; or no view decides yet); `decided_at`, the taken_at of the view that decides, the first
        complete one from `by` on; null without one.
    """
    decided = (
        gone.select(*PLACE, "by")
        .distinct()
        .join(complete, PLACE, "inner")
        .where(F.col("taken_at") >= F.col("by"))
        .groupBy(*PLACE, "by")
        .agg(F.min("taken_at").alias("decided_at"))
    )
    names = {"name": "local_service", "value": "bound", "valid_from": "bound_from", "valid_to": "bound_to"}
    of_services = bindings.select(*PLACE, *[F.col(name).alias(other) for name, other in names.items()])

    def queue_at(moment: str) -> Column:
        is_bound = is_in_period(F.col(moment), F.col("bound_from"), F.col("bound_to"))
        return F.max(F.when(is_bound, F.col("bound"))).alias(f"queue_{moment}")

    queues = (
        gone.select("message_id", *PLACE, "local_service", "since", "by")
        .join(F.broadcast(of_services), [*PLACE, "local_service"], "inner")
        .groupBy("message_id")
        .agg(queue_at("since"), queue_at("by"))
    )
    is_open = F.col("event_type").isin(*CREATIONS) & ~F.coalesce(F.col("state").isin(*OVER), F.lit(False))
    sights = endpoint_events.where(is_open).select(*SIDE, F.col("seen_at").alias("decided_at")).distinct()
    known = (
        gone.join(decided, [*PLACE, "by"], "left")
        .join(queues, "message_id", "left")
        .join(sights.withColumn("is_shown", F.lit(True)), [*SIDE, "decided_at"], "left")
    )
    is_left = F.col("ended_at").isNull() | (F.col("ended_at") >= F.col("decided_at"))
    is_there = F.coalesce(F.col("is_shown") & is_left, F.lit(False))
    is_same = F.col("queue_since").eqNullSafe(F.col("queue_by"))
    fate = F.when(~is_there, RECEIVED_OR_DROPPED).when(is_same, RECEIVED).otherwise(MOVED)
    return known.select("message_id", fate.alias("fate"), "decided_at")
