"""Conversations and groups with ready messages, and the order in which groups are chosen."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.schedules.order import level_and_minute, numbered
from pipelines.schedules.queue_state import GROUP
from pipelines.schedules.ready import CONVERSATION
from schemas.keys import QUEUE


def ready_conversations(ready: DataFrame) -> DataFrame:
    """Conversations with ready messages, in the order of their group.

    Args:
        ready: `ready_messages`.

    Returns:
        One row per (queue, group, conversation_id, is_initiator): `priority`, `state`, `messages`,
        `oldest` (the arrival order of its oldest ready message) and `before`, the ready messages of
        the group's conversations that go first: by priority, then oldest, then conversation_id, then
        the initiator's endpoint.
    """
    conversations = ready.groupBy(*CONVERSATION, "priority", "state").agg(
        F.count(F.lit(1)).alias("messages"), F.min("arrival_order").alias("oldest")
    )
    earlier = (
        Window.partitionBy(*GROUP)
        .orderBy(F.desc("priority"), "oldest", "conversation_id", F.desc("is_initiator"))
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    return conversations.withColumn("before", F.coalesce(F.sum("messages").over(earlier), F.lit(0)))


def ready_groups(conversations: DataFrame) -> DataFrame:
    """Groups with ready messages.

    Args:
        conversations: `ready_conversations`.

    Returns:
        One row per (queue, group): `priority`, the highest of its conversations with ready messages;
        `deciding_conversation_id`, the first of these; `oldest_at_priority`, the arrival order of the
        oldest message at that priority, which is the deciding conversation's oldest; `state`;
        `conversations`, `messages` and `oldest_arrival` of all of them.
    """
    # The least by these fields is the conversation that goes first.
    first = F.struct(
        (-F.col("priority")).alias("falling"),
        "oldest",
        "conversation_id",
        (~F.col("is_initiator")).alias("is_target"),
    )
    return (
        conversations.groupBy(*GROUP, "state")
        .agg(
            F.min(first).alias("first"),
            F.count(F.lit(1)).alias("conversations"),
            F.sum("messages").alias("messages"),
            F.min("oldest.arrived_at").alias("oldest_arrival"),
        )
        .withColumns(
            {
                "priority": -F.col("first.falling"),
                "deciding_conversation_id": F.col("first.conversation_id"),
                "oldest_at_priority": F.col("first.oldest"),
            }
        )
        .drop("first")
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
        buckets=level_and_minute(F.col("priority"), F.col("oldest_at_priority.arrived_at")),
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
