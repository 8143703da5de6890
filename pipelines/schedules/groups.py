"""Conversations and groups with ready messages, and the order in which groups are chosen."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.schedules.order import level_and_minute, numbered
from pipelines.schedules.ready import CONVERSATION
from pipelines.state.several import alone_and_several
from schemas.keys import GROUP, QUEUE


def ready_conversations(ready: DataFrame) -> DataFrame:
    """Conversations with ready messages, in the order of their group.

    Args:
        ready: `ready_messages`.

    Returns:
        One row per (queue, group, conversation_id, is_initiator): `priority`, `state`, `messages`, `oldest`
        (the arrival order of its oldest ready message, which arrived at `oldest_at`), `number` (its place in
        the group, from 1: by priority, then oldest, then conversation_id, then the initiator's endpoint) and
        `before` (the ready messages of the group's conversations that go before it).
    """
    conversations = ready.groupBy(*CONVERSATION, "priority", "state").agg(
        F.count(F.lit(1)).alias("messages"),
        F.min("arrival_order").alias("oldest"),
        F.min("arrived_at").alias("oldest_at"),
    )
    in_group = Window.partitionBy(*GROUP).orderBy(
        F.desc("priority"), "oldest", "conversation_id", F.desc("is_initiator")
    )
    earlier = in_group.rowsBetween(Window.unboundedPreceding, -1)
    alone, several = alone_and_several(conversations, GROUP)
    numbered = several.withColumns(
        {
            "number": F.row_number().over(in_group),
            "before": F.coalesce(F.sum("messages").over(earlier), F.lit(0)),
        }
    )
    return alone.withColumns({"number": F.lit(1), "before": F.lit(0).cast("bigint")}).unionByName(numbered)


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
    first = F.col("number") == 1
    return conversations.groupBy(*GROUP, "state").agg(
        F.max(F.when(first, F.col("priority"))).alias("priority"),
        F.max(F.when(first, F.col("conversation_id"))).alias("deciding_conversation_id"),
        F.max(F.when(first, F.col("oldest"))).alias("oldest_at_priority"),
        F.max(F.when(first, F.col("oldest_at"))).alias("oldest_at"),
        F.count(F.lit(1)).alias("conversations"),
        F.sum("messages").alias("messages"),
        F.min("oldest_at").alias("oldest_arrival"),
    )


def group_priorities(groups: DataFrame) -> DataFrame:
    """The `group_priorities` table without `as_of`.

    Args:
        groups: `ready_groups`; read twice.

    Returns:
        One row per group with ready messages. `position` is the order in which GET CONVERSATION GROUP
        would return the ready ones: by priority, ties by the oldest message at that priority.
    """
    free = numbered(
        groups.where("state = 'ready'"),
        within=QUEUE,
        buckets=level_and_minute(F.col("priority"), F.col("oldest_at")),
        order=[F.desc("priority"), F.asc("oldest_at_priority")],
    )
    held = groups.where("state <> 'ready'").withColumn("number", F.lit(None).cast("bigint"))
    return (
        free.drop("before")
        .unionByName(held)
        .select(
            *GROUP,
            "priority",
            "deciding_conversation_id",
            "conversations",
            "messages",
            "oldest_arrival",
            "state",
            F.col("number").cast("bigint").alias("position"),
        )
    )
