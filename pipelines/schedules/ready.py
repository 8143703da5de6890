"""Queues that are off, locked groups, and messages in queues with the order inside their group."""

from pyspark.sql import Column, DataFrame, Window, functions as F

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


def groups_locked(named: DataFrame, in_flight: DataFrame) -> DataFrame:
    """The groups that an open transaction holds.

    Args:
        named: `state.named_locks`.
        in_flight: the messages in flight, `with_receiver`.

    Returns:
        (instance, database, queue, conversation_group_id), unique.
    """
    held = in_flight.where("receiver_queue is not null").select(
        *[F.col(f"receiver_{name}").alias(name) for name in GROUP]
    )
    return named.unionByName(held).distinct()


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


LEAST = 2**63


def received_messages(messages: DataFrame, off: DataFrame, locked: DataFrame) -> DataFrame:
    """The messages in queues, with whether a RECEIVE can return them.

    Args:
        messages: the messages that are `in_queue`, `with_receiver`.
        off: `queues_off`.
        locked: `groups_locked`.

    Returns:
        One row per message; key message_id: the receiving endpoint's names and `priority`, `queue`, null
        where the message can't be placed, `state`, which tells whether queue and group are free,
        `arrival_order`, `receiver_exists` and `unknown_handle`.
    """
    received = messages.select(
        *[F.col(f"receiver_{name}").alias(name) for name in GROUP],
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
        "receiver_exists",
        "unknown_handle",
    )
    return with_arrival_order(with_state(received, off, locked))


def with_arrival_order(ready: DataFrame) -> DataFrame:
    """Add `arrival_order`, which compares the arrivals of messages in a queue.

    That is their time, then queuing_order (nulls last), then message_id, as one text. See
    docs/semantics.md#orders.

    Args:
        ready: rows with arrived_at, queuing_order and message_id.
    """
    return ready.withColumn("arrival_order", _arrival_order())


def with_rank(ready: DataFrame, conversations: DataFrame) -> DataFrame:
    """Add `rank`, the place of each ready message in its group, from 1.

    Args:
        ready: ready messages, `with_arrival_order`.
        conversations: `ready_conversations` of them.

    Messages of earlier conversations of the group come first. In a conversation DialogTimer comes first, then
    Error, then all others; then message_sequence_number (nulls last), then arrival. Levels do not matter.
    See docs/semantics.md#orders; the vendor's page "Broker System Messages" has the precedence of system
    messages.
    """
    side = ["conversation_id", "is_initiator"]
    in_conversation = Window.partitionBy(*side).orderBy(
        message_type_rank(), F.asc_nulls_last("message_sequence_number"), "arrival_order"
    )
    # The small side stands on the left, which is held in memory. Most conversations have one message.
    alone, several = (
        conversations.where(condition).select(*side, "before").join(ready, side)
        for condition in ("messages = 1", "messages > 1")
    )
    ranked = alone.withColumn("rank", F.lit(1)).unionByName(
        several.withColumn("rank", F.row_number().over(in_conversation))
    )
    return ranked.withColumn("rank", F.col("rank") + F.col("before")).drop("before")


def _arrival_order() -> Column:
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
