"""Messages that have a state at a moment: ready, in flight, waiting, being forwarded."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.materialize import Materialize, materialize_selections
from pipelines.state.endpoints import ends
from pipelines.state.ledger import Ledger
from pipelines.state.messages import describe_messages, dropped_at, forwarding, undecided
from pipelines.state.transactions import uncommitted


@dataclass(frozen=True)
class StateOfMessages:
    """The open messages and transactions at a moment.

    Attributes:
        as_of: the moment.
        messages: `open_messages`: one row per message that has a state.
        forwarding: `messages.forwarding`.
        uncommitted: `transactions.uncommitted`.
        complete_from: the moment before which closed rows that the ledger lacks can have a state; None if it
            lacks none.
    """

    as_of: datetime
    messages: DataFrame
    forwarding: DataFrame
    uncommitted: DataFrame
    complete_from: datetime | None = None

    def holds_at(self, as_of: datetime, all_counts_from: datetime | None) -> bool:
        """Whether this is the state at as_of, and of all messages.

        Args:
            as_of: the moment.
            all_counts_from: the first as_of for which all data counts, after which nothing happens; None if
                it is not known.
        """
        if self.complete_from is not None and as_of < self.complete_from:
            return False
        if as_of == self.as_of:
            return True
        return all_counts_from is not None and all_counts_from <= min(as_of, self.as_of)


def state_of_messages(ledger: Ledger, *, as_of: datetime, materialize: Materialize) -> StateOfMessages:
    """Find the messages that have a state at as_of; few, as most are received and committed.

    Args:
        ledger: the rows that can matter at as_of, with events of any time.
        as_of: the moment.
        materialize: computes a frame once.

    Narrow passes over all events find the messages; only their events are read whole.
    """
    so_far = ledger.before(as_of)
    exceptions = uncommitted(so_far.message_events, so_far.queue_events)
    # Without queue events, no transaction is known.
    exceptions = materialize(exceptions if ledger.has_queue_events else exceptions.limit(0))
    left = materialize(undecided(so_far, exceptions))
    passing_on = materialize(forwarding(so_far.message_events))
    ids = left.select("message_id")
    others = passing_on.select("message_id").distinct().join(ids, "message_id", "left_anti")
    messages = describe_messages(
        ledger.message_events, materialize, ids=ids.unionByName(others), shown_until=as_of
    )
    conversations = messages.select("conversation_id").distinct()
    # Both ends of a conversation are joined. Apache Spark plans and computes the same rows once.
    ended = materialize_selections(
        ends(so_far.endpoint_events.join(conversations, "conversation_id", "left_semi")), materialize
    )
    found = open_messages(messages, left, passing_on, ended)
    return StateOfMessages(as_of, materialize(found), passing_on, exceptions)


def open_messages(
    messages: DataFrame, undecided: DataFrame, forwarding: DataFrame, ends: DataFrame
) -> DataFrame:
    """The messages that have a state, with their attributes and flags.

    Args:
        messages: `describe_messages` of the messages of `undecided` and `forwarding`.
        undecided: `messages.undecided`.
        forwarding: `messages.forwarding`.
        ends: `ends.ends`.

    Returns:
        One row per message_id of `messages` for which any flag is true; its columns, `taken_at` and the flags
        `in_flight`: an open transaction has received it;
        `in_queue`: it arrived, is neither received nor in flight, and its receiver has not ended;
        `waits`: a transmission queue can hold it, and it was not dropped;
        `is_forwarded`: an instance accepted it and has not passed it on.

    See docs/semantics.md#state-at-as_of.
    """
    passing_on = forwarding.select("message_id").distinct().withColumn("is_forwarded", F.lit(True))
    # The two endpoints of a conversation, by the direction of the message.
    receiver = ends.select(
        "conversation_id",
        (~F.col("is_initiator")).alias("sent_by_initiator"),
        F.col("ended_at").alias("receiver_ended_at"),
    )
    sender = ends.select(
        "conversation_id", F.col("is_initiator").alias("sent_by_initiator"), "error_at", "cleanup_at"
    )
    side = ["conversation_id", "sent_by_initiator"]
    known = (
        messages.join(undecided, "message_id", "left")
        .join(passing_on, "message_id", "left")
        .join(receiver, side, "left")
        .join(sender, side, "left")
    )
    none = F.lit(False)
    flags = {name: F.coalesce(name, none) for name in ("sent", "arrived", "is_forwarded")}
    is_held = F.col("taken_at").isNotNull()
    known = known.withColumns(flags | {"held": is_held})
    dropped = dropped_at(*map(F.col, ("receiver_ended_at", "error_at", "cleanup_at", "shown_at")))
    placed = known.withColumns(
        {
            "in_flight": F.col("arrived") & F.col("held"),
            "in_queue": F.expr("arrived and not held and receiver_ended_at is null"),
            "waits": F.col("sent") & dropped.isNull(),
        }
    )
    return placed.where("in_flight or in_queue or waits or is_forwarded").drop(
        "sent", "arrived", "held", "shown_at", "receiver_ended_at", "error_at", "cleanup_at"
    )
