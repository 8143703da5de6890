"""The endpoints that receive: on which queue, in which group as the period begins, until when."""

from pyspark.sql import DataFrame, functions as F

from pipelines.replay.period import Period
from pipelines.schedules.orders import Catalog
from pipelines.state.endpoints import SIDE, group_after_moves, latest_moves, with_queue
from pipelines.state.events_before import events_before


def receivers(
    endpoints: DataFrame, endpoint_events: DataFrame, catalog: Catalog, period: Period
) -> DataFrame:
    """The endpoints that have a queue and exist up to 24 hours after the period.

    Args:
        endpoints: `endpoints` rows that may matter.
        endpoint_events: endpoint events that may matter, for their moves.
        catalog: where services are.
        period: what is played.

    Returns:
        One row per (conversation_id, is_initiator): instance, database, queue, contract, local_service,
        remote_service, priority, created_at, ended_at, first_group_id, and `conversation_group_id` as the
        period begins.
    """
    exists = endpoints.where(F.col("created_at") < F.lit(period.around.end))
    unplaced = exists.drop("queue", "conversation_group_id")
    placed = with_queue(unplaced, catalog.bindings).where("queue is not null")
    moves = latest_moves(events_before(endpoint_events, period.start))
    return placed.join(moves, SIDE, "left").select(
        *SIDE,
        "instance",
        "database",
        "queue",
        "contract",
        "local_service",
        "remote_service",
        "priority",
        "created_at",
        "ended_at",
        "first_group_id",
        group_after_moves().alias("conversation_group_id"),
    )


def receiving(rows: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Join messages with the endpoint that receives them.

    Args:
        rows: any frame with conversation_id and sent_by_initiator.
        endpoints: `receivers`.

    Returns:
        The rows whose receiver is among them, with its columns in place of sent_by_initiator.
    """
    side = rows.withColumn("is_initiator", ~F.col("sent_by_initiator")).drop("sent_by_initiator")
    return side.join(endpoints, SIDE, "inner")
