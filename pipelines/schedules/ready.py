"""Queues that are off, locked groups, and ready messages with the order inside their conversation."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.ordered import single_and_repeated
from pipelines.state.events_before import moment_and_id, moment_of
from schemas.keys import GROUP, QUEUE


def queues_off(catalog_queues: DataFrame, queue_events: DataFrame) -> DataFrame:
    """The queues that are off: by their last status change, else by the catalog.

    Args:
        catalog_queues: (instance, database, queue, is_on), one row per queue of the catalog.
        queue_events: the queue events that count.

    Returns:
        (instance, database, queue), unique.

    A QUEUE_ALTERED without queue_status does not change the status.
    """
    altered = queue_events.where("event_type = 'QUEUE_ALTERED' and queue_status is not null")
    latest = altered.groupBy(*QUEUE).agg(F.max_by("queue_status", moment_and_id()).alias("last_status"))
    is_on = F.coalesce(F.upper("last_status") != "OFF", F.col("is_on"), F.lit(True))
    return catalog_queues.join(latest, QUEUE, "full").where(~is_on).select(*QUEUE)


def groups_locked(named: DataFrame, messages: DataFrame) -> DataFrame:
    """The groups that an open transaction holds.

    Args:
        named: `state.named_locks`.
        messages: `messages_with_endpoints`, for the messages in flight.

    Returns:
        (instance, database, queue, conversation_group_id), unique.
    """
    in_flight = messages.where("in_flight and receiver_exists and receiver_queue is not null").select(
        F.col("receiver_instance").alias("instance"),
        F.col("receiver_database").alias("database"),
        F.col("receiver_queue").alias("queue"),
        F.col("receiver_group_id").alias("conversation_group_id"),
    )
    return named.unionByName(in_flight).distinct()


def with_state(messages: DataFrame, off: DataFrame, locked: DataFrame) -> DataFrame:
    """Add `state`: queue_off, group_locked or ready, in this order of precedence.

    Args:
        messages: any frame with instance, database, queue and conversation_group_id.
        off: `queues_off`, unique.
        locked: `groups_locked`, unique.
    """
    flagged = messages.join(F.broadcast(off.withColumn("is_off", F.lit(True))), QUEUE, "left").join(
        locked.withColumn("is_locked", F.lit(True)), GROUP, "left"
    )
    state = F.when(F.col("is_off"), "queue_off").when(F.col("is_locked"), "group_locked").otherwise("ready")
    return flagged.withColumn("state", state).drop("is_off", "is_locked")


CONVERSATION = [*GROUP, "conversation_id", "is_initiator"]
LEAST = 2**63


def ready_messages(messages: DataFrame, off: DataFrame, locked: DataFrame) -> DataFrame:
    """The messages in queues, with whether a RECEIVE can return them.

    Args:
        messages: `messages_with_endpoints`.
        off: `queues_off`.
        locked: `groups_locked`.

    Returns:
        One row per ready message; key (instance, database, queue, message_id). `priority` is the
        receiving endpoint's, `state` tells whether queue and group are free, `arrival_order` compares
        arrivals, and `rank` counts from 1 in the conversation: DialogTimer first, then Error, then
        all others; then message_sequence_number (nulls last), then arrival. `is_alone` if there is no other
        ready message in the conversation. See docs/semantics.md#orders; the vendor's page "Broker System
        Messages" has the precedence of system messages.
    """
    received = messages.where("in_queue and receiver_exists and receiver_queue is not null").select(
        F.col("receiver_instance").alias("instance"),
        F.col("receiver_database").alias("database"),
        F.col("receiver_queue").alias("queue"),
        F.col("receiver_group_id").alias("conversation_group_id"),
        "conversation_id",
        (~F.col("sent_by_initiator")).alias("is_initiator"),
        F.col("receiver_conversation_handle").alias("conversation_handle"),
        F.col("receiver_priority").alias("priority"),
        "message_id",
        "message_sequence_number",
        "message_type",
        "arrived_at",
        "queuing_order",
        F.col("receiver_contract").alias("contract"),
        F.col("receiver_local_service").alias("local_service"),
        F.col("receiver_remote_service").alias("remote_service"),
    )
    return in_conversations(with_state(received, off, locked))


def in_conversations(ready: DataFrame) -> DataFrame:
    """Order ready messages inside their conversations; levels do not matter there.

    Args:
        ready: one row per ready message with queue, group, conversation_id, is_initiator, message_id,
            message_sequence_number, message_type, arrived_at and queuing_order.

    Returns:
        The same rows with `arrival_order` and `rank`, as `ready_messages` has them, and `is_alone`: no other
        message is ready in the conversation.
    """
    in_conversation = Window.partitionBy(*CONVERSATION).orderBy(
        message_type_rank(), F.asc_nulls_last("message_sequence_number"), "arrival_order"
    )
    rows = ready.withColumn("arrival_order", _arrival_order())
    alone, several = single_and_repeated(rows, ["conversation_id", "is_initiator"])
    return alone.withColumns({"rank": F.lit(1), "is_alone": F.lit(True)}).unionByName(
        several.withColumns({"rank": F.row_number().over(in_conversation), "is_alone": F.lit(False)})
    )


def _arrival_order() -> Column:
    """Arrival order in a queue as one text: time, queuing_order (nulls last), message_id."""
    number = F.col("queuing_order")
    # Negative numbers come first, the least of them before all others.
    shifted = F.when(number < 0, number + F.lit(LEAST - 1) + F.lit(1)).otherwise(number)
    sign = F.when(number < 0, "0").otherwise("1")
    numbered = F.concat(sign, F.lpad(shifted.cast("string"), 19, "0"))
    return F.concat(moment_of("arrived_at"), F.coalesce(numbered, F.lit("2")), F.col("message_id"))


def message_type_rank() -> Column:
    """The rank of a message's type in its conversation: DialogTimer 0, Error 1, all others 2."""
    message_type = F.col("message_type")
    return (
        F.when(message_type.endswith("/ServiceBroker/DialogTimer"), 0)
        .when(message_type.endswith("/ServiceBroker/Error"), 1)
        .otherwise(2)
    )
