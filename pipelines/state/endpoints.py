"""Endpoints at a moment: whether they exist, their group, their queue, and which have ended."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.events_before import moment_and_id
from schemas.events import END_WITH_CLEANUP, END_WITH_ERROR, ENDS, MOVE

SIDE = ["conversation_id", "is_initiator"]
OVER = ("DO", "CD")
"""The server's states of an endpoint that has ended."""


def endpoints_at(
    endpoints: DataFrame, endpoint_events: DataFrame, bindings: DataFrame, *, as_of: datetime
) -> DataFrame:
    """The endpoints, with whether they exist, and their group and queue.

    Args:
        endpoints: `endpoints` rows that can matter at as_of.
        endpoint_events: the endpoint events before as_of; their moves decide the group.
        bindings: the catalog's (instance, database, service, queue), unique by the first three.
        as_of: the instant.

    Returns:
        One row per endpoint; key (conversation_id, is_initiator): `exists`, created before as_of; instance,
        database, queue (by the catalog, null if it has none), contract, local_service, remote_service,
        conversation_handle, priority, created_at and `conversation_group_id` at as_of.
    """
    queue = bindings.withColumnRenamed("service", "local_service")
    known = endpoints.drop("queue", "conversation_group_id").join(
        F.broadcast(queue), ["instance", "database", "local_service"], "left"
    )
    moves = latest_moves(endpoint_events)
    return known.join(moves, SIDE, "left").select(
        *SIDE,
        (F.col("created_at") < F.lit(as_of)).alias("exists"),
        "instance",
        "database",
        "queue",
        "contract",
        "local_service",
        "remote_service",
        "conversation_handle",
        "priority",
        "created_at",
        group_after_moves().alias("conversation_group_id"),
    )


def latest_moves(endpoint_events: DataFrame, by: Sequence[str] = SIDE) -> DataFrame:
    """The latest MOVE_CONVERSATION of each endpoint that has moved.

    Args:
        endpoint_events: the endpoint events that count.
        by: the columns of an endpoint, and of a moment if events are given for several moments.

    Returns:
        One row per endpoint with a move: `moved_at`, `moved_to`.
    """
    return (
        endpoint_events.where(F.col("event_type") == MOVE)
        .groupBy(*by)
        .agg(
            F.max("event_time").alias("moved_at"),
            F.max_by("conversation_group_id", moment_and_id()).alias("moved_to"),
        )
    )


def group_after_moves() -> Column:
    """The group of the latest move that was at or after the creation, else the first group.

    If the latest move was before the creation, all moves were. The columns are those of `latest_moves`,
    created_at and first_group_id. See docs/semantics.md#state-at-as_of.
    """
    return F.when(F.col("moved_at") >= F.col("created_at"), F.col("moved_to")).otherwise(
        F.col("first_group_id")
    )


def ends(endpoint_events: DataFrame) -> DataFrame:
    """The endpoints that have ended.

    Args:
        endpoint_events: the endpoint events that count.

    Returns:
        One row per (conversation_id, is_initiator) with any END_* event: `ended_at`, the first of them;
        `error_at` and `cleanup_at`, the first error and the first cleanup, null without one.

    See docs/semantics.md#state-at-as_of.
    """
    event_type, event_time = F.col("event_type"), F.col("event_time")
    return (
        endpoint_events.where(event_type.isin(*ENDS))
        .groupBy("conversation_id", "is_initiator")
        .agg(
            F.min("event_time").alias("ended_at"),
            F.min(F.when(event_type == END_WITH_ERROR, event_time)).alias("error_at"),
            F.min(F.when(event_type == END_WITH_CLEANUP, event_time)).alias("cleanup_at"),
        )
    )


def with_queue(endpoints: DataFrame, bindings: DataFrame) -> DataFrame:
    """Add the queue of each endpoint's local service.

    Args:
        endpoints: any frame with instance, database and local_service; any grain.
        bindings: the catalog's (instance, database, service, queue), unique by the first three.

    Returns:
        The same rows with `queue`, null where the catalog has no such service.
    """
    # The small side stands on the left, which is held in memory.
    lookup = F.broadcast(bindings.withColumnRenamed("service", "local_service"))
    return lookup.join(endpoints, ["instance", "database", "local_service"], "right")
