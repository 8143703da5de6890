"""The receive schedule: the order in which one reader would receive the ready messages."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.schedules.numbering import level_and_minute, number_rows
from pipelines.schedules.ready import with_rank
from schemas.keys import GROUP, QUEUE

CHUNK = [*GROUP, "chunk"]


def receive_schedule(
    ready: DataFrame, conversations: DataFrame, groups: DataFrame, *, top: int | None, are_many: bool
) -> DataFrame:
    """The order in which one reader would receive; for published messages, the `receive_schedule` table.

    Args:
        ready: ready messages, `with_arrival_order`.
        conversations: `ready_conversations` of them.
        groups: `ordered_groups` of those.
        top: TOP(n) of the RECEIVE statement; None takes all ready messages of the group.
        are_many: whether a queue has `numbering.are_many` of the messages.

    Returns:
        One row per ready message; key (instance, database, queue, message_id): its columns without
        arrival_order, `position`, `receive_number` and `group_priority`. Positions and
        receive numbers count from 1 in each queue and are null where the queue is off or the group locked.

    A RECEIVE takes a chunk: without TOP a whole group, else the next n messages of the group. The priority of
    a group's chunks never rises, so no simulation is needed: chunks are received by the priority of their
    first message, then by the oldest remaining message of that priority in the group, then by the group's own
    order. See docs/semantics.md#receive-schedule.
    """
    chunk = F.lit(1) if top is None else F.expr(f"(rank - 1) div {top} + 1")
    ranked = with_rank(ready, conversations).withColumn("chunk", chunk)
    free = ranked.where("state = 'ready'")
    if top is None:
        order = _whole_groups(groups.where("state = 'ready'"))
    else:
        order = _ordered_chunks(_chunks(free, top), are_many=are_many)
    ordered = free.join(order, CHUNK).withColumns(
        {
            "position": F.col("before") + F.col("rank") - F.col("first_rank") + 1,
            "receive_number": F.col("number").cast("bigint"),
            "group_priority": F.col("chunk_priority"),
        }
    )
    held = (
        ranked.where("state <> 'ready'")
        .join(groups.select(*GROUP, F.col("priority").alias("group_priority")), GROUP)
        .withColumns({"position": F.lit(None).cast("bigint"), "receive_number": F.lit(None).cast("bigint")})
    )
    names = [name for name in ready.columns if name != "arrival_order"]
    names += ["position", "receive_number", "group_priority"]
    return ordered.select(*names).unionByName(held.select(*names))


def _whole_groups(groups: DataFrame) -> DataFrame:
    """The groups as chunks, in the order of the groups."""
    return groups.select(
        *GROUP,
        F.lit(1).alias("chunk"),
        F.col("priority").alias("chunk_priority"),
        F.lit(1).alias("first_rank"),
        F.col("position").alias("number"),
        "before",
    )


def _ordered_chunks(chunks: DataFrame, *, are_many: bool) -> DataFrame:
    """The chunks with `number`, that of their RECEIVE, and `before`, the messages of earlier chunks."""
    return number_rows(
        chunks,
        within=QUEUE,
        buckets=level_and_minute(F.col("chunk_priority"), F.col("oldest_left_at")) if are_many else (),
        order=[F.desc("chunk_priority"), F.asc("oldest_left"), F.asc("chunk")],
        weight=F.col("chunk_messages"),
    ).select(*CHUNK, "chunk_priority", "first_rank", "number", "before")


def _chunks(ranked: DataFrame, top: int) -> DataFrame:
    """One row per chunk of `top` messages, with the keys of its order."""
    left_at_priority = Window.partitionBy(*GROUP, "priority").orderBy(F.desc("rank"))
    with_oldest = ranked.withColumns(
        {
            "oldest_left": F.min("arrival_order").over(left_at_priority),
            "oldest_left_at": F.min("arrived_at").over(left_at_priority),
        }
    )
    first = ((F.col("rank") - 1) % top) == 0
    return with_oldest.groupBy(*CHUNK).agg(
        F.min("rank").alias("first_rank"),
        F.count(F.lit(1)).alias("chunk_messages"),
        F.max(F.when(first, F.col("priority"))).alias("chunk_priority"),
        F.max(F.when(first, F.col("oldest_left"))).alias("oldest_left"),
        F.max(F.when(first, F.col("oldest_left_at"))).alias("oldest_left_at"),
    )
