"""Queues that are off, locked groups, and messages in queues with the order inside their group."""

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.state.events_before import ever, moment_of, status_changes
from pipelines.state.messages import SHOWN
from schemas.keys import GROUP, QUEUE

BLANKS = r"\x09-\x0d\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""What Python takes for blanks in a regular expression, as engines differ."""


def queues_off(catalog_queues: DataFrame, queue_events: DataFrame) -> DataFrame:
    """The queues that are off: by their last status change, else by the catalog.

    Args:
        catalog_queues: (instance, database, queue, is_on), one row per queue of the catalog.
        queue_events: the queue events that count.

    Returns:
        (instance, database, queue), unique; `name`, the queue as answers print it; `off_since`, null if only
        the catalog says that it is off, and `off_source`: log, snapshot or catalog. See
        docs/semantics.md#since-when.

    A QUEUE_ALTERED without queue_status does not change the status.
    """
    keeps_off, is_logged = F.col("keeps_off"), F.col("seen_at").isNull()
    by_events = (
        status_changes(queue_events)
        .groupBy(*QUEUE)
        .agg(
            ever(keeps_off).alias("is_off"),
            F.min(F.when(keeps_off & is_logged, F.col("event_time"))).alias("logged_off"),
            F.min(F.when(keeps_off, F.col("seen_at"))).alias("seen_off"),
        )
    )
    source = F.when(F.col("logged_off").isNotNull(), "log").when(F.col("seen_off").isNotNull(), "snapshot")
    return (
        catalog_queues.join(by_events, QUEUE, "full")
        .where(F.coalesce(F.col("is_off"), ~F.col("is_on"), F.lit(False)))
        .select(
            *QUEUE,
            queue_name().alias("name"),
            F.coalesce("logged_off", "seen_off").alias("off_since"),
            F.coalesce(source, F.lit("catalog")).alias("off_source"),
        )
    )


def queue_name() -> Column:
    """The queue of a row as answers print it; see `pipelines.config.queue_filter.queue_text`."""
    return F.concat_ws(".", *[_name_part(F.col(name)) for name in QUEUE])


def _name_part(part: Column) -> Column:
    bracketed = F.concat(F.lit("["), F.replace(part, F.lit("]"), F.lit("]]")), F.lit("]"))
    return F.when((part == "") | part.rlike(rf"[{BLANKS}.\[\]]"), bracketed).otherwise(part)


def groups_locked(named: DataFrame, in_flight: DataFrame) -> DataFrame:
    """The groups that an open transaction holds.

    Args:
        named: `state.named_locks`.
        in_flight: the messages in flight, `with_receiver`.

    Returns:
        (instance, database, queue, conversation_group_id), unique, and `locked_since`, the first fact that
        locks the group.
    """
    held = in_flight.where("receiver_queue is not null").select(
        *[F.col(f"receiver_{name}").alias(name) for name in GROUP], F.col("taken_at").alias("locked_since")
    )
    return named.unionByName(held).groupBy(*GROUP).agg(F.min("locked_since").alias("locked_since"))


def with_state(messages: DataFrame, off: DataFrame, locked: DataFrame) -> DataFrame:
    """Add `state`: queue_off, group_locked or ready, in this order of precedence, and since when.

    Args:
        messages: any frame with instance, database, queue and conversation_group_id.
        off: `queues_off`.
        locked: `groups_locked`.

    Returns:
        The same rows with `state`, `held_since` and `held_source`, as `receive_schedule` has them.
    """
    flagged = messages.join(F.broadcast(off.drop("name")), QUEUE, "left").join(locked, GROUP, "left")
    is_off, is_locked = F.col("off_source").isNotNull(), F.col("locked_since").isNotNull()
    return flagged.withColumns(
        {
            "state": F.when(is_off, "queue_off").when(is_locked, "group_locked").otherwise("ready"),
            "held_since": F.when(is_off, F.col("off_since")).otherwise(F.col("locked_since")),
            "held_source": F.when(is_off, F.col("off_source")).when(is_locked, "log"),
        }
    ).drop("off_since", "off_source", "locked_since")


LEAST = 2**63


def received_messages(messages: DataFrame, off: DataFrame, locked: DataFrame) -> DataFrame:
    """The messages in queues, with whether a RECEIVE can return them.

    Args:
        messages: the messages that are `in_queue`, `with_receiver`.
        off: `queues_off`.
        locked: `groups_locked`.

    Returns:
        One row per message; key message_id: the receiving endpoint's names and `priority`, `queue`, null
        where the message can't be placed, `state`, which tells whether queue and group are free, and since
        when they are not (`with_state`), `arrival_order`, `receiver_exists`, `unknown_handle` and `SHOWN`.
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
        *SHOWN,
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
