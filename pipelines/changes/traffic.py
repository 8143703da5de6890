"""Conversations that begin and end between two moments, and messages that arrive and are received."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.endpoints import SIDE
from pipelines.state.fates import RECEIVED, find_fates
from pipelines.state.messages import ARRIVALS, shown_last
from pipelines.state.transactions import TRANSACTION
from schemas.keys import QUEUE

DATABASE = ("instance", "database")


def count_conversations(endpoints: DataFrame, since: datetime, as_of: datetime) -> DataFrame:
    """Count the conversations that begin or end in (since, as_of], once a database.

    Args:
        endpoints: `endpoints` rows that may matter at since or later.
        since: the earlier moment.
        as_of: the later one.

    Returns:
        One row a database with any: instance, database, `begun` and `gone`.
    """
    of_conversation = endpoints.groupBy(*DATABASE, "conversation_id").agg(
        F.min("created_at").alias("begun_at"),
        F.max("ended_at").alias("gone_at"),
        F.count(F.when(F.col("ended_at").isNull(), 1)).alias("open"),
    )
    is_gone = _is_between("gone_at", since, as_of) & (F.col("open") == 0)
    counted = of_conversation.groupBy(*DATABASE).agg(
        F.count_if(_is_between("begun_at", since, as_of)).alias("begun"),
        F.count_if(is_gone).alias("gone"),
    )
    return counted.where("begun > 0 or gone > 0")


def arrived_messages(
    message_events: DataFrame,
    uncommitted: DataFrame,
    endpoints: DataFrame,
    endpoint_events: DataFrame,
    complete: DataFrame,
    bindings: DataFrame,
    since: datetime,
) -> DataFrame:
    """What is known of the messages that arrived.

    Args:
        message_events: message events up to as_of that may matter at since or later.
        uncommitted: `transactions.uncommitted` of them.
        endpoints: as for `count_conversations`.
        endpoint_events: endpoint events that may matter at since or later.
        complete: (instance, database, taken_at), unique: complete views of conversation_endpoints.
        bindings: rows of `catalog_history` that say the queues of services.
        since: the earlier moment.

    Returns:
        One row a message whose receiver is known: QUEUE, `created_at` and `ended_at` of the receiver;
        `arrived_at`; `received_at`, the first moment by which a fact shows that it was received: a RECEIVED
        that committed, or that it is gone from a complete view with the fate `received`; `gone_at`,
        when it is gone or was received; `order`, its queuing_order, and `order_then`, if known at since.
    """
    event_type, time = F.col("event_type"), F.col("event_time")
    is_received, is_inferred = event_type == "RECEIVED", F.coalesce("inferred", F.lit(False))
    undone = uncommitted.select(*TRANSACTION, F.col("is_open").alias("is_undone"))
    # A column of the other side says what has no row there, as a literal would be taken for a constant.
    facts = message_events.join(undone, TRANSACTION, "left")
    is_committed = is_received & ~is_inferred & F.col("is_undone").isNull()
    is_missing = is_received & is_inferred
    by_message = facts.groupBy("message_id", "conversation_id", "sent_by_initiator").agg(
        F.min(F.when(event_type.isin(*ARRIVALS), time)).alias("arrived_at"),
        F.min(F.when(is_committed, time)).alias("committed_at"),
        F.min(F.when(is_missing, time)).alias("missing_at"),
        F.min(F.when(is_missing, F.col("seen_at"))).alias("missing_in"),
        F.min(F.when(is_missing, F.col("not_before"))).alias("not_before"),
        F.max(F.when(~is_inferred, F.coalesce(shown_last(), time))).alias("last_seen_at"),
        F.max("queuing_order").alias("order"),
        F.max(F.when(time <= F.lit(since), F.col("queuing_order"))).alias("order_then"),
    )
    receivers = endpoints.select(*SIDE, *QUEUE, "local_service", "created_at", "ended_at")
    rows = (
        by_message.where("arrived_at is not null")
        .withColumn("is_initiator", ~F.col("sent_by_initiator"))
        .join(receivers, SIDE, "inner")
    )
    since_seen = F.coalesce("not_before", "last_seen_at")
    gone = rows.where("missing_in is not null").withColumns({"since": since_seen, "by": F.col("missing_in")})
    known = rows.join(find_fates(gone, complete, endpoint_events, bindings), "message_id", "left")
    by_view = F.when(F.col("fate") == RECEIVED, F.col("missing_at"))
    return known.select(
        *QUEUE,
        "created_at",
        "ended_at",
        "arrived_at",
        F.least("committed_at", by_view).alias("received_at"),
        F.least("committed_at", "missing_at").alias("gone_at"),
        "order",
        "order_then",
    )


def count_traffic(messages: DataFrame, since: datetime, as_of: datetime) -> DataFrame:
    """Count what arrives and is received in (since, as_of].

    Returns:
        One row a queue: QUEUE, `arrived_at_least`, `received_at_least`, and `arrived_at_most`, the growth of
        the largest queuing_order; null if one of the two is not known.
    """
    return (
        messages.where("queue is not null")
        .groupBy(*QUEUE)
        .agg(
            F.count_if(_is_between("arrived_at", since, as_of)).alias("arrived_at_least"),
            F.count_if(_is_between("received_at", since, as_of)).alias("received_at_least"),
            (F.max("order") - F.max("order_then")).alias("arrived_at_most"),
        )
    )


def count_unread(messages: DataFrame, since: datetime, as_of: datetime) -> DataFrame:
    """Count the messages that are gone with their endpoint and that no fact shows as received.

    Returns:
        One row a database with any: instance, database and `unread_gone`: messages that stood in a queue at
        since, and whose receiver ended in (since, as_of].
    """
    at = F.lit(since)
    was_open = (F.col("arrived_at") <= at) & (F.col("gone_at").isNull() | (F.col("gone_at") > at))
    is_gone = was_open & F.col("received_at").isNull() & _is_between("ended_at", since, as_of)
    return messages.where(is_gone).groupBy(*DATABASE).agg(F.count(F.lit(1)).alias("unread_gone"))


def _is_between(name: str, since: datetime, as_of: datetime) -> Column:
    return (F.col(name) > F.lit(since)) & (F.col(name) <= F.lit(as_of))
