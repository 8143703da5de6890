"""What the ledger knows of the messages of monitored queues, as the replay wants it."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.arrays import any_of, each_of, those_of


def monitored_messages(
    messages: DataFrame,
    endpoints: DataFrame,
    services: DataFrame,
    *,
    as_of: datetime,
    every_receive_counts: bool,
) -> DataFrame:
    """The messages that arrived in a monitored queue before as_of.

    Args:
        messages: `messages` rows that may have been ready in the window; key message_id.
        endpoints: `endpoints` rows of their conversations; key (conversation_id, is_initiator).
        services: (instance, database, local_service, queue_number) of the services of monitored queues,
            unique by the first three.
        as_of: the instant.
        every_receive_counts: without any queue events a RECEIVED counts as committed.

    Returns:
        One row per message whose receiving endpoint exists at as_of and has a monitored queue; key
        message_id. All times are microseconds since the epoch:
        `arrived`, `arrival_id`: the arrival and its event;
        `ended`: when the receiving endpoint ended, null if not before as_of;
        `receives`: RECEIVED events before as_of in order: `time`, `event_id`, `transaction` (null if it can't
            give the message back: there is none, or it has a COMMIT, or is of another instance),
            `is_rolled_back`, and `over`, when the transaction was over (null while it is open);
        `creation_group`, `created`, `moves`: what its group follows from.

    Source: the design, "Activation" and "State at as_of".
    """
    instant = F.lit(as_of)
    receivers = (
        endpoints.where(F.col("created_at") < instant)
        .join(F.broadcast(services), ["instance", "database", "local_service"], "inner")
        .select(
            "conversation_id",
            "is_initiator",
            "queue_number",
            F.col("instance").alias("queue_instance"),
            F.unix_micros(F.when(F.col("ended_at") < instant, F.col("ended_at"))).alias("ended"),
            F.coalesce("creation.conversation_group_id", "conversation_id").alias("creation_group"),
            F.col("created_at").alias("created"),
            "moves",
        )
    )
    arrived = messages.where(F.col("arrival.arrived_at") < instant).select(
        "message_id",
        "first_event.conversation_id",
        (~F.col("first_event.sent_by_initiator")).alias("is_initiator"),
        F.unix_micros("arrival.arrived_at").alias("arrived"),
        F.col("arrival.event_id").alias("arrival_id"),
        "receives",
    )
    placed = arrived.join(receivers, ["conversation_id", "is_initiator"], "inner")
    return placed.withColumn("receives", _receives(instant, every_receive_counts)).drop("queue_instance")


def _receives(instant: Column, every_receive_counts: bool) -> Column:
    happened = those_of(F.col("receives"), lambda receive: receive.received_at < instant)

    def as_replayed(receive: Column) -> Column:
        is_committed = F.coalesce(receive.committed_at < instant, F.lit(False))
        gives_back = (receive.instance == F.col("queue_instance")) & ~is_committed
        alone = receive.transaction_id.isNull() | F.lit(every_receive_counts)
        over = F.least(receive.committed_at, receive.rolled_back_at)
        return F.struct(
            F.unix_micros(receive.received_at).alias("time"),
            receive.event_id.alias("event_id"),
            F.when(gives_back, receive.transaction_id).alias("transaction"),
            (receive.rolled_back_at < instant).alias("is_rolled_back"),
            F.unix_micros(F.when(alone, receive.received_at).otherwise(over)).alias("over"),
        )

    return F.sort_array(each_of(happened, as_replayed))


def first_returnable_receive() -> Column:
    """The earliest RECEIVED, in microseconds, of a transaction that may have given messages back.

    An aggregate over `monitored_messages`: the ROLLBACK events that matter are not older.
    """
    times = each_of(those_of(F.col("receives"), _may_return), lambda receive: receive.time)
    return F.min(F.array_min(times))


def may_return() -> Column:
    """Whether a ROLLBACK may have given the message back."""
    return any_of(F.col("receives"), _may_return)


def _may_return(receive: Column) -> Column:
    return receive.transaction.isNotNull() & F.coalesce(receive.is_rolled_back, F.lit(False))
