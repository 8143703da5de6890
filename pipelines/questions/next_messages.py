"""What comes next, and why."""

from pyspark.sql import DataFrame, Window, functions as F


def next_received(queue: DataFrame, limit: int) -> DataFrame:
    """The next messages of a queue.

    Args:
        queue: rows of `receive_schedule` of one as_of and one queue.
        limit: how many.

    Returns:
        In order of `position`: the RECEIVE that returns the message, the group that this RECEIVE chooses,
        the group's priority then and the conversation that gives it (`deciding_conversation_id`), the
        message's own conversation, level, number, type and arrival.

    What a RECEIVE returns begins with the conversation of the highest level that is left in the group, so
    that is the one which decides.
    Source: the design, "Orders" and "Receive schedule".
    """
    of_receive = Window.partitionBy("receive_number").orderBy("position")
    return (
        queue.where(F.col("position") <= limit)
        .withColumn("deciding_conversation_id", F.first("conversation_id").over(of_receive))
        .select(
            "position",
            "receive_number",
            "conversation_group_id",
            "group_priority",
            "deciding_conversation_id",
            "conversation_id",
            "priority",
            "message_sequence_number",
            "message_type",
            "arrived_at",
            "message_id",
        )
        .orderBy("position")
    )


def next_transmitted(instance: DataFrame, limit: int) -> DataFrame:
    """The next messages of an instance's transmission queues.

    Args:
        instance: rows of `transmission_schedule` of one as_of and one sending instance.
        limit: how many.

    Returns:
        In order of `position`: the level that counts and the one that is shown, whether waiting raised it
        or the message is only forwarded, its block, when it became sendable, what it is, where it goes, and
        what the server says of it. With `waits_for` (`pipelines.activation.queues_off.with_queue_off`),
        messages that wait
        for a queue that is off are left out.
    """
    if "waits_for" in instance.columns:
        first = instance.where("waits_for is null").orderBy("position").limit(limit)
    else:
        first = instance.where(F.col("position") <= limit)
    return first.select(
        "position",
        "transmit_priority",
        "priority",
        "elevated",
        "forwarded",
        "block",
        "sendable_at",
        "database",
        "conversation_id",
        "message_sequence_number",
        "message_type",
        "destination_instance",
        "destination_database",
        "to_service",
        "message_id",
        "why_still_here",
    ).orderBy("position")
