"""Endpoints as they are at `as_of`."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.arrays import those_of

ENDS = ("ended_at", "ended_with_error_at", "ended_with_cleanup_at")


def conversations_at(
    endpoints: DataFrame, early: DataFrame, bindings: DataFrame, *, as_of: datetime
) -> DataFrame:
    """The two endpoints of every conversation, side by side.

    Args:
        endpoints: `endpoints` rows that may matter at as_of; key (conversation_id, is_initiator).
        early: `early_facts`, for the ends of endpoints that are not known.
        bindings: the catalog's (instance, database, service, queue), unique by the first three.
        as_of: the instant.

    Returns:
        One row per conversation_id, with `initiator` and `target`: structs with what the endpoint is
        (null fields where it is not known), `exists` at as_of, `group_id` at as_of, `queue` by the
        catalog, and `has_ended`, `has_ended_with_error`, `has_ended_with_cleanup` before as_of.

    Source: the design, "State at as_of".
    """
    queue = F.broadcast(
        bindings.withColumnRenamed("service", "local_service").withColumnRenamed("queue", "bound_queue")
    )
    known = endpoints.drop("queue").join(queue, ["instance", "database", "local_service"], "left")
    instant = F.lit(as_of)
    ended = [
        (F.col(name) < instant).alias(name.replace("ended", "has_ended").removesuffix("_at")) for name in ENDS
    ]
    state = F.struct(
        "instance",
        "database",
        F.col("bound_queue").alias("queue"),
        "local_service",
        "remote_service",
        "conversation_handle",
        "priority",
        _group_at(instant).alias("group_id"),
        (F.col("created_at") < instant).alias("exists"),
        *[F.coalesce(flag, F.lit(False)).alias(name) for flag, name in zip(ended, _flags(), strict=True)],
    )
    unknown = [F.lit(None).cast("string").alias(name) for name in ("instance", "database", "queue")]
    unknown += [F.lit(None).cast("string").alias(name) for name in ("local_service", "remote_service")]
    stub = F.struct(
        *unknown,
        F.lit(None).cast("string").alias("conversation_handle"),
        F.lit(None).cast("int").alias("priority"),
        F.lit(None).cast("string").alias("group_id"),
        F.lit(False).alias("exists"),
        *[F.coalesce(flag, F.lit(False)).alias(name) for flag, name in zip(ended, _flags(), strict=True)],
    )
    key = ["conversation_id", "is_initiator"]
    both = known.select(*key, state.alias("endpoint")).unionByName(early.select(*key, stub.alias("endpoint")))
    return both.groupBy("conversation_id").agg(
        F.max(F.when(F.col("is_initiator"), F.col("endpoint"))).alias("initiator"),
        F.max(F.when(~F.col("is_initiator"), F.col("endpoint"))).alias("target"),
    )


def _flags() -> list[str]:
    return ["has_ended", "has_ended_with_error", "has_ended_with_cleanup"]


def _group_at(instant: Column) -> Column:
    """The group of the creation, until the latest move at or after the creation and before as_of."""
    first = F.coalesce("creation.conversation_group_id", "conversation_id")
    moved = those_of(
        F.col("moves"), lambda move: (move.moved_at >= F.col("created_at")) & (move.moved_at < instant)
    )
    return F.coalesce(F.array_max(moved).conversation_group_id, first)
