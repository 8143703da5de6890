"""Conversations and groups with ready messages, and the order in which groups are chosen."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.engine.ordered import single_and_repeated
from pipelines.schedules.numbering import level_and_minute, number_rows
from schemas.keys import GROUP, QUEUE

CONVERSATION = [*GROUP, "conversation_id", "is_initiator"]


def ready_conversations(ready: DataFrame, materialize: Materialize) -> DataFrame:
    """Conversations with ready messages, in the order of their group.

    Args:
        ready: ready messages, `ready.with_arrival_order`; no conversation is in two queues or groups.
        materialize: computes a frame once.

    Returns:
        One row per (queue, group, conversation_id, is_initiator): `priority`, `state`, `messages`, `oldest`
        (the arrival order of its oldest ready message, which arrived at `oldest_at`), `number` (its position
        in the group, from 1: by priority, then oldest, then conversation_id, then the initiator's endpoint)
        and `before` (the ready messages of earlier conversations of the group). `is_alone`: no other
        conversation of the group has ready messages.
    """
    conversations = materialize(
        ready.groupBy(*CONVERSATION, "priority", "state").agg(
            F.count(F.lit(1)).alias("messages"),
            F.min("arrival_order").alias("oldest"),
            F.min("arrived_at").alias("oldest_at"),
        )
    )
    in_group = Window.partitionBy(*GROUP).orderBy(
        F.desc("priority"), "oldest", "conversation_id", F.desc("is_initiator")
    )
    earlier = in_group.rowsBetween(Window.unboundedPreceding, -1)
    alone, several = single_and_repeated(conversations, GROUP)
    ordered = several.withColumns(
        {
            "number": F.row_number().over(in_group),
            "before": F.coalesce(F.sum("messages").over(earlier), F.lit(0)),
            "is_alone": F.lit(False),
        }
    )
    first = {"number": F.lit(1), "before": F.lit(0).cast("bigint"), "is_alone": F.lit(True)}
    return alone.withColumns(first).unionByName(ordered)


def ready_groups(conversations: DataFrame) -> DataFrame:
    """Groups with ready messages.

    Args:
        conversations: `ready_conversations`.

    Returns:
        One row per (queue, group): `priority`, the highest of its conversations with ready messages;
        `deciding_conversation_id`, the first of these; `oldest_at_priority`, the arrival order of the
        oldest message at that priority, which is the deciding conversation's oldest and arrived at
        `oldest_at`; `state`;
        `conversations`, `messages` and `oldest_arrival` of all of them.
    """
    of_one = conversations.where("is_alone").select(
        *GROUP,
        "state",
        "priority",
        F.col("conversation_id").alias("deciding_conversation_id"),
        F.col("oldest").alias("oldest_at_priority"),
        "oldest_at",
        F.lit(1).cast("bigint").alias("conversations"),
        "messages",
        F.col("oldest_at").alias("oldest_arrival"),
    )
    first = F.col("number") == 1
    of_several = (
        conversations.where("not is_alone")
        .groupBy(*GROUP, "state")
        .agg(
            F.max(F.when(first, F.col("priority"))).alias("priority"),
            F.max(F.when(first, F.col("conversation_id"))).alias("deciding_conversation_id"),
            F.max(F.when(first, F.col("oldest"))).alias("oldest_at_priority"),
            F.max(F.when(first, F.col("oldest_at"))).alias("oldest_at"),
            F.count(F.lit(1)).alias("conversations"),
            F.sum("messages").alias("messages"),
            F.min("oldest_at").alias("oldest_arrival"),
        )
    )
    return of_one.unionByName(of_several)


def ordered_groups(groups: DataFrame, *, are_many: bool) -> DataFrame:
    """Groups in the order in which GET CONVERSATION GROUP would return them.

    That is by priority, ties by the oldest message at that priority.

    Args:
        groups: `ready_groups`; read several times.
        are_many: whether a queue has `numbering.are_many` of them.

    Returns:
        The same rows with `position`, from 1 in each queue, and `before`, the messages of earlier groups;
        both null where the queue is off or the group locked.
    """
    free = number_rows(
        groups.where("state = 'ready'"),
        within=QUEUE,
        buckets=level_and_minute(F.col("priority"), F.col("oldest_at")) if are_many else (),
        order=[F.desc("priority"), F.asc("oldest_at_priority")],
        weight=F.col("messages"),
    )
    nothing = F.lit(None).cast("bigint")
    return (
        free.withColumn("position", F.col("number").cast("bigint"))
        .drop("number")
        .unionByName(groups.where("state <> 'ready'").withColumns({"position": nothing, "before": nothing}))
    )


def group_priorities(groups: DataFrame) -> DataFrame:
    """The `group_priorities` table without `as_of`: one row per group with ready messages.

    Args:
        groups: `ordered_groups`.
    """
    return groups.drop("oldest_at_priority", "oldest_at", "before")
