"""Open messages as they are at `as_of`, each between its two endpoints."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.arrays import any_of, those_of


def messages_at(
    messages: DataFrame, conversations: DataFrame, *, as_of: datetime, every_receive_counts: bool
) -> DataFrame:
    """Every message that is ready, in flight, waiting or being forwarded, and what is open but unplaced.

    Args:
        messages: `messages` rows that may matter at as_of; key message_id.
        conversations: `conversations_at`; key conversation_id.
        as_of: the instant.
        every_receive_counts: without any queue events a RECEIVED counts as committed.

    Returns:
        One row per message_id: what the message is, its `sender` and `receiver` (null where nothing is
        known of them), and the flags
        `in_flight`: a transaction that is open at as_of has received it;
        `in_queue`: it arrived, is neither received nor in flight, and its receiver has not ended;
        `waits`: it was sent, did not arrive, and was not dropped;
        `forwards`: the instances that accepted it and have not forwarded it, with (instance,
        database, accepted_at).

    Source: the design, "State at as_of".
    """
    instant = F.lit(as_of)
    facts = messages.select(
        "message_id",
        "first_event.conversation_id",
        "first_event.sent_by_initiator",
        "first_event.message_type",
        F.col("sequence.value").alias("message_sequence_number"),
        F.col("size.value").alias("size_bytes"),
        F.col("queuing.value").alias("queuing_order"),
        "sent_at",
        "arrival.arrived_at",
        F.coalesce(F.col("arrival.arrived_at") < instant, F.lit(False)).alias("arrived"),
        F.coalesce(F.col("sent_at") < instant, F.lit(False)).alias("sent"),
        _is_received(instant, every_receive_counts).alias("received"),
        _is_in_flight(instant, every_receive_counts).alias("held"),
        _forwards(instant).alias("forwards"),
    )
    undecided = facts.where("(not received and (arrived or sent)) or size(forwards) > 0")
    placed = undecided.join(conversations, "conversation_id", "left")
    by_initiator = F.col("sent_by_initiator")
    sender = F.when(by_initiator, F.col("initiator")).otherwise(F.col("target"))
    receiver = F.when(by_initiator, F.col("target")).otherwise(F.col("initiator"))
    placed = placed.withColumns({"sender": sender, "receiver": receiver}).drop("initiator", "target")
    receiver_ended, in_flight = (
        _true("receiver.has_ended"),
        F.col("arrived") & ~F.col("received") & F.col("held"),
    )
    return placed.select(
        "*",
        in_flight.alias("in_flight"),
        (F.col("arrived") & ~F.col("received") & ~F.col("held") & ~receiver_ended).alias("in_queue"),
        (F.col("sent") & ~F.col("arrived") & ~receiver_ended & ~_is_dropped()).alias("waits"),
    ).drop("arrived", "sent", "received", "held")


def _is_received(instant: Column, every_receive_counts: bool) -> Column:
    def counts(receive: Column) -> Column:
        committed = F.coalesce(receive.committed_at < instant, F.lit(False))
        return (receive.received_at < instant) & (
            receive.transaction_id.isNull() | committed | F.lit(every_receive_counts)
        )

    return any_of(F.col("receives"), counts)


def _is_in_flight(instant: Column, every_receive_counts: bool) -> Column:
    def is_open(receive: Column) -> Column:
        over = F.least(receive.committed_at, receive.rolled_back_at) < instant
        return (
            (receive.received_at < instant)
            & receive.transaction_id.isNotNull()
            & ~F.coalesce(over, F.lit(False))
        )

    return any_of(F.col("receives"), is_open) & F.lit(not every_receive_counts)


def _forwards(instant: Column) -> Column:
    def is_open(forward: Column) -> Column:
        done = F.coalesce(forward.forwarded_at < instant, F.lit(False))
        return F.coalesce(forward.accepted_at < instant, F.lit(False)) & ~done

    return those_of(F.col("forwards"), is_open)


def _is_dropped() -> Column:
    """Whether the sender's end dropped it; its own Error message survives an end with error."""
    is_error = F.endswith("message_type", F.lit("/ServiceBroker/Error"))
    return _true("sender.has_ended_with_cleanup") | (_true("sender.has_ended_with_error") & ~is_error)


def _true(name: str) -> Column:
    return F.coalesce(F.col(name), F.lit(False))
