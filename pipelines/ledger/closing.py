"""When ledger rows need no more reading."""

from pyspark.sql import DataFrame, functions as F


def with_closed_on(endpoints: DataFrame, messages: DataFrame) -> DataFrame:
    """Close the endpoints of conversations that are over.

    Args:
        endpoints: `fold_endpoints`; key (conversation_id, is_initiator).
        messages: (conversation_id, is_open, closed_on) of conversations with open messages, or with
            messages that were closed after their last event; unique by the first.

    Returns:
        The same rows with `closed_on`, without `is_over`: the day of the conversation's last fact, once
        all its known endpoints have ended and no message of it is open; else null. Both rows of a
        conversation agree.
    """
    of_messages = messages.withColumnRenamed("closed_on", "messages_closed_on")
    closes = F.col("is_over") & ~F.coalesce("is_open", F.lit(False))
    last_day = F.greatest("last_fact_on", "messages_closed_on")
    return (
        endpoints.join(of_messages, "conversation_id", "left")
        .withColumn("closed_on", F.when(closes, last_day))
        .drop("is_over", "is_open", "messages_closed_on")
    )


def with_ends(messages: DataFrame, ends: DataFrame) -> DataFrame:
    """Say which messages their conversation's ends have dropped.

    Args:
        messages: `messages` rows.
        ends: (conversation_id, is_initiator, ended_at, ended_with_error_at, ended_with_cleanup_at) of
            endpoints that have ended, unique by the first two.

    Returns:
        The same rows with `ended_on`, the day the receiving endpoint ended, and `dropped_on`, the day
        the sending endpoint dropped what it had sent and was not delivered; null if neither.

    Source: the design, "State at as_of".
    """
    sender, receiver = ends.alias("sender"), ends.alias("receiver")
    conversation, by_initiator = F.col("first_event.conversation_id"), F.col("first_event.sent_by_initiator")
    is_error = F.endswith("first_event.message_type", F.lit("/ServiceBroker/Error"))
    dropped_at = F.least(
        "sender.ended_with_cleanup_at", F.when(~is_error, F.col("sender.ended_with_error_at"))
    )
    return (
        messages.alias("message")
        .join(
            receiver,
            (F.col("receiver.conversation_id") == conversation)
            & (F.col("receiver.is_initiator") == ~by_initiator),
            "left",
        )
        .join(
            sender,
            (F.col("sender.conversation_id") == conversation)
            & (F.col("sender.is_initiator") == by_initiator),
            "left",
        )
        .select(
            "message.*",
            F.to_date("receiver.ended_at").alias("ended_on"),
            F.to_date(dropped_at).alias("dropped_on"),
        )
    )
