"""The messages of monitored queues, their receiving endpoints, and transactions that return messages."""

from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.state.endpoints import SIDE
from pipelines.state.messages import ARRIVALS, describe_messages
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
    """The few transactions that were rolled back.

    Args:
        queue_events: the queue events before as_of.

    Returns:
        (instance, transaction_id), unique: those with a ROLLBACK and without a COMMIT.
    """
    outcomes = queue_events.where("event_type in ('COMMIT', 'ROLLBACK') and transaction_id is not null")
    rolled_back = outcomes.where("event_type = 'ROLLBACK'").select(*TRANSACTION).distinct()
    committed = outcomes.where("event_type = 'COMMIT'").select(*TRANSACTION)
    # Only committed transactions with a ROLLBACK matter.
    both = F.broadcast(rolled_back).join(committed, TRANSACTION, "inner").distinct()
    return rolled_back.join(F.broadcast(both), TRANSACTION, "left_anti")


def monitored_messages(
    message_events: DataFrame,
    receivers: DataFrame,
    rolled_back: DataFrame,
    *,
    start: int,
    materialize: Materialize,
) -> DataFrame:
    """The messages that arrived in a monitored queue.

    Args:
        message_events: the message events before as_of.
        receivers: `receivers`.
        rolled_back: `rolled_back_transactions`.
        start: start of the window, in microseconds.
        materialize: computes a frame once.

    Returns:
        One row per message whose receiving endpoint exists and has a monitored queue: `queue_number`,
        conversation_id and is_initiator of the receiving endpoint; in microseconds `arrived`, `received`
        (the first RECEIVED, null if none) and `ended`; `receives`, the RECEIVED events in the window;
        `may_return`, whether a ROLLBACK can have returned it; `message_id` and `queue_instance`.

    The earliest event of a message decides its receiving endpoint. Nearly always all its events name the same
    endpoint, so events are grouped by message and endpoint first, which needs no sort. Only messages with
    several endpoints are grouped again.
    """
    by_endpoint = materialize(_by_endpoint(message_events, receivers, rolled_back, start=start))
    several = (
        by_endpoint.groupBy("message_id").agg(F.count(F.lit(1)).alias("endpoints")).where("endpoints > 1")
    )
    messages = by_endpoint
    if not several.isEmpty():
        few = materialize(several.select("message_id"))
        events = materialize(few.join(message_events, "message_id", "inner"))
        endpoints = describe_messages(events, materialize).select("message_id", *MESSAGE_SIDE)
        corrected = endpoints.join(events.drop(*MESSAGE_SIDE), "message_id", "inner")
        again = materialize(_by_endpoint(corrected, receivers, rolled_back, start=start))
        messages = by_endpoint.join(few, "message_id", "left_anti").unionByName(again)
    return messages.where("queue_number is not null and arrived is not null")


def _by_endpoint(
    message_events: DataFrame, receivers: DataFrame, rolled_back: DataFrame, *, start: int
) -> DataFrame:
    """`monitored_messages` and all other messages; a row per message and endpoint that its events name."""
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
    flags = rolled_back.select(*TRANSACTION, F.lit(True).alias("returns"))
    by_endpoint = (
        rows.join(F.broadcast(flags), TRANSACTION, "left")
        .groupBy("message_id", *SIDE)
        .agg(
            F.min(F.when(F.col("arrives"), F.col("time"))).alias("arrived"),
            F.min(F.when(F.col("is_receive"), F.col("time"))).alias("received"),
            F.count_if(F.col("is_receive") & (F.col("time") >= start)).alias("receives"),
            F.count("returns").alias("rolled_back"),
        )
    )
    return (
        receivers.select(*SIDE, "queue_number", "queue_instance", "ended")
        .join(by_endpoint, SIDE, "right")
        .select(
            "message_id",
            "queue_number",
            *SIDE,
            "arrived",
            "received",
            "ended",
            "receives",
            (F.col("rolled_back") > 0).alias("may_return"),
            "queue_instance",
        )
    )
