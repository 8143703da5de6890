"""Ready messages in their queues, with the order inside their conversation."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.schedules.queue_state import GROUP, with_state

CONVERSATION = [*GROUP, "conversation_id", "is_initiator"]


def ready_messages(messages: DataFrame, off: DataFrame, locked: DataFrame) -> DataFrame:
    """The messages that a RECEIVE could return, and what keeps it from doing so.

    Args:
        messages: `messages_at`.
        off: `queues_off`.
        locked: `groups_locked`.

    Returns:
        One row per ready message; key (instance, database, queue, message_id). `priority` is the
        receiving endpoint's, `state` says whether queue and group are free, `arrival_order` compares
        arrivals, and `rank` counts from 1 in the conversation: DialogTimer first, then Error, then
        all others; then message_sequence_number (nulls last), then arrival.

    Source: the design, "Orders"; the system messages' precedence is the vendor's "Broker System Messages".
    """
    placed = messages.where("in_queue and receiver.exists and receiver.queue is not null").select(
        "receiver.instance",
        "receiver.database",
        "receiver.queue",
        F.col("receiver.group_id").alias("conversation_group_id"),
        "conversation_id",
        (~F.col("sent_by_initiator")).alias("is_initiator"),
        "receiver.conversation_handle",
        "receiver.priority",
        "message_id",
        "message_sequence_number",
        "message_type",
        "arrived_at",
        _arrival_order().alias("arrival_order"),
    )
    in_conversation = Window.partitionBy(*CONVERSATION).orderBy(
        _system_first(), F.asc_nulls_last("message_sequence_number"), "arrival_order"
    )
    return with_state(placed, off, locked).withColumn("rank", F.row_number().over(in_conversation))


def _arrival_order() -> Column:
    """Arrival order in a queue as one sortable value: time, queuing_order (nulls last), message_id."""
    # False sorts before true.
    unnumbered = F.col("queuing_order").isNull().alias("unnumbered")
    return F.struct("arrived_at", unnumbered, "queuing_order", "message_id")


def _system_first() -> Column:
    message_type = F.col("message_type")
    return (
        F.when(message_type.endswith("/ServiceBroker/DialogTimer"), 0)
        .when(message_type.endswith("/ServiceBroker/Error"), 1)
        .otherwise(2)
    )
