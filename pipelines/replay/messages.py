"""The endpoints that receive in the period of a replay, and the messages that are played."""

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import union_all
from pipelines.replay.request import Period
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
        period: the period that is played.

    Returns:
        One row per (conversation_id, is_initiator): instance, database, queue, contract, local_service,
        remote_service, priority, created_at, ended_at, first_group_id, and `conversation_group_id` as the
        period begins.
    """
    exists = endpoints.where(F.col("created_at") < F.lit(period.around.end))
    with_queues = with_queue(exists.drop("queue", "conversation_group_id"), catalog.bindings)
    moves = latest_moves(events_before(endpoint_events, period.start))
    return (
        with_queues.where("queue is not null")
        .join(moves, SIDE, "left")
        .select(
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
    )


def with_receivers(rows: DataFrame, endpoints: DataFrame) -> DataFrame:
    """Add the endpoint that receives each message.

    Args:
        rows: any frame with conversation_id and sent_by_initiator.
        endpoints: `receivers`.

    Returns:
        The rows whose receiver is among them, with its columns in place of sent_by_initiator.
    """
    by_receiver = rows.withColumn("is_initiator", ~F.col("sent_by_initiator")).drop("sent_by_initiator")
    return by_receiver.join(endpoints, SIDE, "inner")


DESCRIPTION = (
    "message_id",
    "conversation_id",
    "sent_by_initiator",
    "message_type",
    "message_sequence_number",
    "queuing_order",
    "arrived_at",
)
"""The columns that describe a message, whatever becomes of it."""


def ready_messages(waiting: DataFrame, returns: DataFrame, receivers: DataFrame, period: Period) -> DataFrame:
    """The messages in the queues at the start of the period, and those that a ROLLBACK returns during it.

    Args:
        waiting: `state.open_messages` at the start of the period.
        returns: `OpenTransactions.returns`.
        receivers: `receivers`.
        period: the period that is played.

    Returns:
        One row per message_id: `DESCRIPTION`, and its receiving endpoint with its queue; `from_at`: the start
        of the period, or the ROLLBACK; `is_ready`: whether it is ready at the start of the period.
    """
    in_queue = waiting.where("in_queue").select(*DESCRIPTION, F.lit(period.start).alias("from_at"))
    returned = waiting.where("in_flight").join(returns, "message_id")
    parts = (in_queue, True), (returned.select(*DESCRIPTION, F.col("returned_at").alias("from_at")), False)
    both = union_all([rows.withColumn("is_in_queue", F.lit(flag)) for rows, flag in parts])
    is_ready = F.col("is_in_queue") & (F.col("created_at") < F.lit(period.start))
    return with_receivers(both, receivers).withColumn("is_ready", is_ready).drop("is_in_queue")


def arriving_messages(messages: DataFrame, period: Period) -> DataFrame:
    """The messages that arrive in the period, with `from_at`, their arrival, and `is_ready`, false.

    Args:
        messages: `describe_messages`, `with_receivers`.
        period: the period that is played.
    """
    arrived_at = F.col("arrived_at")
    arrived = messages.where((arrived_at >= F.lit(period.start)) & (arrived_at < F.lit(period.end)))
    return arrived.withColumns({"from_at": arrived_at, "is_ready": F.lit(False)})


def messages_of_period(messages: DataFrame, period: Period) -> DataFrame:
    """The messages that are ready at the start of the period or become ready during it.

    Args:
        messages: `ready_messages` and `arriving_messages`.
        period: the period that is played.

    Returns:
        The rows with `ready_at` in place of `from_at` and `is_ready`: the later of `from_at` and the creation
        of the receiver. A message whose endpoint ends at that instant, or before, is never ready.
    """
    ready_at, ended_at = F.greatest("from_at", "created_at"), F.col("ended_at")
    becomes_ready = (ready_at < F.lit(period.end)) & (ended_at.isNull() | (ended_at > ready_at))
    is_played = F.col("is_ready") | becomes_ready
    return messages.where(is_played).withColumn("ready_at", ready_at).drop("from_at", "is_ready")
