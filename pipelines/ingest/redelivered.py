"""Committed messages that a later ROLLBACK can still return to the queue."""

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.differences import Materialize
from pipelines.state.ledger import Ledger
from pipelines.state.messages import order_of_events
from pipelines.state.open_messages import StateOfMessages
from pipelines.state.transactions import TRANSACTION


def select_redelivered(
    ledger: Ledger, state: StateOfMessages, sides: DataFrame, *, materialize: Materialize
) -> DataFrame:
    """Select the messages without a state that a ROLLBACK returned last, or can still return; very few.

    A replay of the queue assigns a message to the transaction that found it ready. While that transaction
    holds it, other RECEIVED events have no effect, committed or not.

    Args:
        ledger: the working set.
        state: the state of its messages at the end of the log's newest day, materialized.
        sides: `sides.conversation_sides`, materialized.
        materialize: computes a frame once.

    Returns:
        (message_id, conversation_id), unique: a transaction without a COMMIT has received it, and has not
        been rolled back between that and the last RECEIVED; the receiving endpoint has not ended.

    See docs/semantics.md#activation.
    """
    received = ledger.message_events.where("event_type = 'RECEIVED' and transaction_id is not null")
    takes = materialize(
        state.uncommitted.select(*TRANSACTION)
        .join(received.select("message_id", *TRANSACTION, "event_time"), TRANSACTION, "inner")
        .join(state.messages.select("message_id"), "message_id", "left_anti")
    )
    rollbacks = ledger.queue_events.where("event_type = 'ROLLBACK' and transaction_id is not null")
    last_rollback = rollbacks.groupBy(*TRANSACTION).agg(F.max("event_time").alias("rolled_back_at"))
    position = order_of_events()
    messages = (
        ledger.message_events.join(takes.select("message_id").distinct(), "message_id", "left_semi")
        .groupBy("message_id")
        .agg(
            F.min_by("conversation_id", position).alias("conversation_id"),
            F.min_by("sent_by_initiator", position).alias("sent_by_initiator"),
            F.max(F.when(F.col("event_type") == "RECEIVED", F.col("event_time"))).alias("last_received_at"),
        )
    )
    ended_at = F.when(F.col("sent_by_initiator"), F.col("target_ended_at")).otherwise(
        F.col("initiator_ended_at")
    )
    has_ended = F.coalesce(ended_at < F.lit(state.as_of), F.lit(False))
    return (
        takes.join(last_rollback, TRANSACTION, "left")
        .join(messages, "message_id", "inner")
        .where("rolled_back_at is null or rolled_back_at < event_time or rolled_back_at >= last_received_at")
        .join(sides, "conversation_id", "left")
        .where(~has_ended)
        .select("message_id", "conversation_id")
        .distinct()
    )
