"""What the replay wants to know of the messages of monitored queues."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.differences import Materialize
from pipelines.state.endpoints import SIDE
from pipelines.state.messages import ARRIVALS, facts
from pipelines.state.transactions import TRANSACTION

MESSAGE_SIDE = ["conversation_id", "sent_by_initiator"]


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


def rolled_back_transactions(queue_events: DataFrame) -> DataFrame:
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
    message_events: DataFrame,
    receivers: DataFrame,
    returning: DataFrame,
    *,
    start: int,
    materialize: Materialize,
) -> DataFrame:
    """The messages that arrived in a monitored queue.

    Args:
        message_events: the message events before as_of.
        receivers: `receivers`.
        returning: `rolled_back_transactions`.
        start: start of the window, in microseconds.
        materialize: computes a frame once (`pipelines.engine.differences.kept`).

    Returns:
        One row per message whose receiving endpoint exists and has a monitored queue: `queue_number`,
        conversation_id and is_initiator of the receiving endpoint; in microseconds `arrived`, `received`
        (the first RECEIVED, null if none) and `ended`; `receives`, the RECEIVED events in the window;
        `may_return`, whether a ROLLBACK may have given it back; `message_id` and `queue_instance`.

    A message has the side of its earliest event. Nearly always all its events name the same one, so they
    are grouped by message and side first, which engines do in a hash table; the earliest of several texts
    takes a sort. Only messages with several sides are looked at again.

    Source: the design, "message_events".
    """
    by_side = materialize(_by_side(message_events, receivers, returning, start=start))
    several = by_side.groupBy("message_id").agg(F.count(F.lit(1)).alias("sides")).where("sides > 1")
    messages = by_side
    if not several.isEmpty():
        few = materialize(several.select("message_id"))
        theirs = few.join(message_events, "message_id", "inner")
        sides = facts(theirs).select("message_id", *MESSAGE_SIDE)
        torn = sides.join(theirs.drop(*MESSAGE_SIDE), "message_id", "inner")
        again = materialize(_by_side(torn, receivers, returning, start=start))
        messages = by_side.join(few, "message_id", "left_anti").unionByName(again)
    return messages.where("queue_number is not null and arrived is not null")


def _by_side(
    message_events: DataFrame, receivers: DataFrame, returning: DataFrame, *, start: int
) -> DataFrame:
    """`monitored_messages` and all others; a row per message and side that events name."""
    event_type, time = F.col("event_type"), F.unix_micros("event_time")
    is_receive = event_type == "RECEIVED"
    rows = message_events.select(
        "message_id",
        "conversation_id",
        # Of the receiving endpoint.
        (~F.col("sent_by_initiator")).alias("is_initiator"),
        time.alias("time"),
        is_receive.alias("is_receive"),
        event_type.isin(*ARRIVALS).alias("arrives"),
        "instance",
        F.when(is_receive, F.col("transaction_id")).alias("transaction_id"),
    )
    flags = returning.select(*TRANSACTION, F.lit(True).alias("returns"))
    found = (
        rows.join(F.broadcast(flags), TRANSACTION, "left")
        .groupBy("message_id", *SIDE)
        .agg(
            F.min(F.when(F.col("arrives"), F.col("time"))).alias("arrived"),
            F.min(F.when(F.col("is_receive"), F.col("time"))).alias("received"),
            F.count_if(F.col("is_receive") & (F.col("time") >= start)).alias("receives"),
            # Counted, because the embedded engine is slow at `bool_or`.
            F.count("returns").alias("returning"),
        )
    )
    return (
        receivers.select(*SIDE, "queue_number", "queue_instance", "ended")
        .join(found, SIDE, "right")
        .select(
            "message_id",
            "queue_number",
            *SIDE,
            "arrived",
            "received",
            "ended",
            "receives",
            (F.col("returning") > 0).alias("may_return"),
            "queue_instance",
        )
    )
