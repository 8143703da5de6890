"""What the replay wants to know of the messages of monitored queues."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.state.endpoints import SIDE
from pipelines.state.messages import ARRIVALS, order_of_events
from pipelines.state.transactions import TRANSACTION

LENGTH_DIGITS = 9


def receivers(endpoints: DataFrame, services: DataFrame, *, as_of: datetime) -> DataFrame:
    """The endpoints that exist and receive from monitored queues.

    Args:
        endpoints: `endpoints` rows that may matter in the window.
        services: (instance, database, local_service, queue_number) of the services of monitored queues,
            unique by the first three.
        as_of: the instant.

    Returns:
        One row per (conversation_id, is_initiator): `queue_number`, `queue_instance`, `created_at`,
        `first_group_id`, and `ended`, the first end in microseconds, null if not before as_of.
    """
    instant = F.lit(as_of)
    exists = endpoints.where(F.col("created_at") < instant)
    named = F.broadcast(services).join(exists, ["instance", "database", "local_service"], "inner")
    return named.select(
        *SIDE,
        "queue_number",
        F.col("instance").alias("queue_instance"),
        "created_at",
        "first_group_id",
        F.unix_micros(F.when(F.col("ended_at") < instant, F.col("ended_at"))).alias("ended"),
    )


def returning_transactions(queue_events: DataFrame) -> DataFrame:
    """The transactions that were rolled back: few.

    Args:
        queue_events: the queue events before as_of.

    Returns:
        (instance, transaction_id), unique: those with a ROLLBACK and without a COMMIT.

    Source: the design, "queue_events" (if it has both, COMMIT counts).
    """
    outcomes = queue_events.where("event_type in ('COMMIT', 'ROLLBACK') and transaction_id is not null")
    rolled_back = outcomes.where("event_type = 'ROLLBACK'").select(*TRANSACTION).distinct()
    committed = outcomes.where("event_type = 'COMMIT'").select(*TRANSACTION)
    # Of the many that were committed only those matter that were rolled back as well.
    both = F.broadcast(rolled_back).join(committed, TRANSACTION, "inner").distinct()
    return rolled_back.join(F.broadcast(both), TRANSACTION, "left_anti")


def monitored_messages(
    message_events: DataFrame, receivers: DataFrame, returning: DataFrame, *, start: int
) -> DataFrame:
    """The messages that arrived in a monitored queue.

    Args:
        message_events: the message events before as_of.
        receivers: `receivers`.
        returning: `returning_transactions`.
        start: start of the window, in microseconds.

    Returns:
        One row per message whose receiving endpoint exists and has a monitored queue: `queue_number`,
        conversation_id and is_initiator of the receiving endpoint; in microseconds `arrived`, `received`
        (the first RECEIVED, null if none) and `ended`; `receives`, the RECEIVED events in the window;
        `message_id` and `queue_instance`, for those that a ROLLBACK may have given back, else null.

    Source: the design, "message_events".
    """
    event_type = F.col("event_type")
    is_receive = event_type == "RECEIVED"
    time = F.unix_micros("event_time")
    side = _side(F.col("conversation_id"), F.col("sent_by_initiator"))
    rows = message_events.select(
        "message_id",
        time.alias("time"),
        is_receive.alias("is_receive"),
        event_type.isin(*ARRIVALS).alias("arrives"),
        "instance",
        F.when(is_receive, F.col("transaction_id")).alias("transaction_id"),
        _placed(side).alias("placed_side"),
    )
    flags = returning.select(*TRANSACTION, F.lit(True).alias("returns"))
    flagged = rows.join(F.broadcast(flags), TRANSACTION, "left")
    found = (
        flagged.groupBy("message_id")
        .agg(
            _earliest("placed_side").alias("side"),
            F.min(F.when(F.col("arrives"), F.col("time"))).alias("arrived"),
            F.min(F.when(F.col("is_receive"), F.col("time"))).alias("received"),
            F.count_if(F.col("is_receive") & (F.col("time") >= start)).alias("receives"),
            # Counted, because the embedded engine is slow at `bool_or`.
            F.count("returns").alias("returning"),
        )
        .where("arrived is not null")
    )
    to = receivers.select(
        _side(F.col("conversation_id"), ~F.col("is_initiator")).alias("side"),
        *SIDE,
        "queue_number",
        "queue_instance",
        "ended",
    )
    may_return = F.col("returning") > 0
    return to.join(found, "side", "inner").select(
        "queue_number",
        *SIDE,
        "arrived",
        "received",
        "ended",
        "receives",
        F.when(may_return, F.col("message_id")).alias("message_id"),
        F.when(may_return, F.col("queue_instance")).alias("queue_instance"),
    )


def _placed(side: Column) -> Column:
    """The text behind the event's place in the message, so that the least of them is the earliest.

    Engines are many times quicker at the least text than at `min_by`. The place ends with what is less than
    any character, as one event_id may begin with another; how long the text is comes last.
    """
    length = F.lpad(F.length(side).cast("string"), LENGTH_DIGITS, "0")
    return F.concat(order_of_events(), F.lit("\0"), side, length)


def _earliest(placed: str) -> Column:
    """An aggregate: the text of the earliest event."""
    least = F.min(placed)
    length = F.right(least, F.lit(LENGTH_DIGITS)).cast("int")
    return F.substring(least, F.length(least) - LENGTH_DIGITS - length + 1, length)


def _side(conversation_id: Column, sent_by_initiator: Column) -> Column:
    """Conversation and direction as one text: engines are slow at comparing structs."""
    return F.concat(F.when(sent_by_initiator, F.lit("1")).otherwise(F.lit("0")), conversation_id)
