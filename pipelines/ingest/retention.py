"""Which rows stay open because a later as_of can need them; a batch closes all others.

A batch closes rows of messages, conversations and transactions that have no state at as_of, and no event
since. What is settled then is settled for every later as_of. Clocks differ, so rows of the log's last minutes
stay open: the next batch can bring other events of theirs, from an instance whose clock is behind.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.engine.frames import union_all
from pipelines.engine.materialize import Materialize
from pipelines.ingest.days import end_of
from pipelines.state.events_before import moment_and_id, moment_and_id_of, status_changes
from pipelines.state.ledger import Ledger
from pipelines.state.messages import order_of_events
from pipelines.state.open_messages import StateOfMessages
from pipelines.state.transactions import LOCKING, TRANSACTION
from pipelines.storage.freshness import RESOLUTION
from schemas.keys import QUEUE

SETTLING = timedelta(minutes=15)
"""Rows with an event this close to the log's newest moment stay open, whatever their state."""


@dataclass(frozen=True)
class CloseAt:
    """The moments by which a batch closes rows.

    Attributes:
        closed_on: the UTC day that closed rows get as `closed_on`; no as_of after it needs them.
        state_at: rows without a state then can close.
        settled_before: rows with an event at or after this moment stay open.
    """

    closed_on: date
    state_at: datetime
    settled_before: datetime

    @classmethod
    def at(cls, as_of: datetime | None, newest: datetime, first_day: date | None = None) -> "CloseAt":
        """Close what is settled at as_of, or at the end of the log's newest day if that is earlier.

        Args:
            as_of: the instant that the run describes; None describes none.
            newest: the log's newest moment.
            first_day: the first day that was not pruned; rows of earlier days would be lost.
        """
        state_at = end_of(newest.date()) if as_of is None else min(as_of, end_of(newest.date()))
        last_day = (state_at - RESOLUTION).astimezone(UTC).date()
        return cls(
            last_day if first_day is None else max(last_day, first_day),
            state_at,
            min(newest - SETTLING, state_at),
        )


def _recent(events: DataFrame, close_at: CloseAt) -> DataFrame:
    return events.where(F.col("event_time") >= F.lit(close_at.settled_before))


def select_open_messages(
    message_events: DataFrame, with_state: DataFrame, redelivered: DataFrame | None, close_at: CloseAt
) -> DataFrame:
    """Select the messages that stay open.

    Args:
        message_events: the message events of the working set.
        with_state: `state.open_messages` at `close_at.state_at`.
        redelivered: `select_redelivered`; None without any queue events.
        close_at: the moments by which the batch closes rows.

    Returns:
        (message_id, conversation_id), unique, and `is_first`, which one row of each message has: its events
        may name several conversations.
    """
    named = ["message_id", "conversation_id"]
    frames = [_recent(message_events, close_at), *([] if redelivered is None else [redelivered])]
    of_message = Window.partitionBy("message_id").orderBy("conversation_id")
    others = union_all([frame.select(*named) for frame in frames]).distinct()
    numbered = others.withColumn("number", F.row_number().over(of_message))
    # Messages with a state may be many; the others are few.
    known = with_state.select("message_id", F.col("conversation_id").alias("known_id"))
    is_new = F.col("known_id").isNull()
    rest = numbered.join(known, "message_id", "left").where(
        is_new | (F.col("conversation_id") != F.col("known_id"))
    )
    return with_state.select(*named, F.lit(True).alias("is_first")).unionByName(
        rest.select(*named, (is_new & (F.col("number") == 1)).alias("is_first"))
    )


def select_open_transactions(
    ledger: Ledger, uncommitted: DataFrame, open_messages: DataFrame, close_at: CloseAt
) -> DataFrame:
    """Select the transactions whose events stay open.

    Args:
        ledger: the working set.
        uncommitted: `state.uncommitted` at `close_at.state_at`.
        open_messages: `select_open_messages`.
        close_at: the moments by which the batch closes rows.

    Returns:
        (instance, transaction_id), unique: open transactions, those with recent events, and those that
        received a message that stays open, which needs their outcome.
    """
    received = ledger.message_events.where("event_type = 'RECEIVED' and transaction_id is not null")
    needed = received.join(open_messages.select("message_id"), "message_id", "left_semi").select(*TRANSACTION)
    late = _recent(ledger.queue_events, close_at).where("transaction_id is not null").select(*TRANSACTION)
    is_open = uncommitted.where("is_open").select(*TRANSACTION)
    return needed.unionByName(late).unionByName(is_open).distinct()


def select_open_conversations(sides: DataFrame, open_messages: DataFrame, close_at: CloseAt) -> DataFrame:
    """Select the conversations whose endpoint events stay open.

    Args:
        sides: `sides.conversation_sides` of the working set.
        open_messages: `select_open_messages`.
        close_at: the moments by which the batch closes rows.

    Returns:
        (conversation_id), unique: a known endpoint has not ended, a message is open, or an event is
        recent.
    """
    stays = _with_life(sides, close_at).where("lives").select("conversation_id")
    return stays.unionByName(open_messages.select("conversation_id")).distinct()


def select_closing_conversations(sides: DataFrame, open_messages: DataFrame, close_at: CloseAt) -> DataFrame:
    """Select the conversations whose endpoint events close: those not in `select_open_conversations`.

    Args:
        sides: `sides.conversation_sides` of the working set.
        open_messages: `select_open_messages`.
        close_at: the moments by which the batch closes rows.
    """
    over = _with_life(sides, close_at).where("not lives").select("conversation_id")
    held = open_messages.select("conversation_id").join(over, "conversation_id", "left_semi").distinct()
    return over.join(held, "conversation_id", "left_anti")


def _with_life(sides: DataFrame, close_at: CloseAt) -> DataFrame:
    """Add `lives`: a known endpoint has not ended, or an event is recent."""
    for side in ("initiator", "target"):
        ended = F.col(f"{side}_ended_at") < F.lit(close_at.state_at)
        sides = sides.withColumn(f"{side}_ended", F.coalesce(ended, F.lit(False)))
    lives = F.expr(
        "(initiator_known and not initiator_ended) or "
        "((target_known or (initiator_known and first_arrived_at is not null)) and not target_ended)"
    )
    is_late = F.coalesce(F.col("last_event_at") >= F.lit(close_at.settled_before), F.lit(False))
    return sides.withColumn("lives", F.coalesce(lives, F.lit(False)) | is_late)


def select_open_queue_events(
    queue_events: DataFrame, transactions: DataFrame, last: DataFrame, close_at: CloseAt
) -> DataFrame:
    """Select the queue events that stay open.

    Args:
        queue_events: the queue events of the working set.
        transactions: `select_open_transactions`.
        last: `select_last_of_kind`.
        close_at: the moments by which the batch closes rows.

    Returns:
        (event_time, event_id), unique: those of open transactions, the last of their kind, and recent ones.
    """
    position = ["event_time", "event_id"]
    late = _recent(queue_events, close_at).select(*position)
    of_open = queue_events.join(F.broadcast(transactions), TRANSACTION, "left_semi").select(*position)
    return late.unionByName(of_open).unionByName(last).distinct()


def select_last_of_kind(queue_events: DataFrame, close_at: CloseAt) -> DataFrame:
    """Select the queue events that no later event of their kind supersedes; few.

    Args:
        queue_events: the queue events of the working set.
        close_at: the moments by which the batch closes rows; later events, of clocks that are ahead, do not
            supersede yet.

    Returns:
        (event_time, event_id), unique: the last WAIT_*, the last TASK_* of a session in a queue, the last
        QUEUE_ALTERED of a queue that sets it on or off, and its last empty result without WHERE. Of a queue
        that is off also the first QUEUE_ALTERED, logged or shown, that says so since it was on.
    """
    event_type = F.col("event_type")
    is_empty = event_type.isin(*LOCKING) & (F.col("row_count") == 0) & ~F.coalesce("has_where", F.lit(False))
    kind = (
        F.when(event_type.startswith("WAIT_"), "WAIT")
        .when(event_type.startswith("TASK_"), "TASK")
        .when((event_type == "QUEUE_ALTERED") & F.col("queue_status").isNotNull(), "ALTERED")
        .when(is_empty, "EMPTY")
    )
    session = F.when(kind.isin("WAIT", "TASK"), F.coalesce(F.col("session_id").cast("string"), F.lit("")))
    rows = queue_events.withColumns(
        {"kind": kind, "of_session": F.coalesce(session, F.lit("")), "place": moment_and_id()}
    )
    so_far = rows.where(F.col("kind").isNotNull() & (F.col("event_time") < F.lit(close_at.state_at)))
    last = so_far.groupBy(*QUEUE, "kind", "of_session").agg(F.max("place").alias("place"))
    off = status_changes(so_far).where("keeps_off").groupBy(*QUEUE, F.col("seen_at").isNull())
    first_off = off.agg(F.min("place").alias("place"))
    places = last.select("place").unionByName(first_off.select("place")).distinct()
    return places.select(*moment_and_id_of("place"))


def select_redelivered(
    ledger: Ledger, state: StateOfMessages, sides: DataFrame, *, materialize: Materialize
) -> DataFrame:
    """Select the messages without a state that a ROLLBACK returned last, or can still return; very few.

    A replay of the queue assigns a message to the transaction that found it ready. While that transaction
    holds it, other RECEIVED events have no effect, committed or not.

    Args:
        ledger: the working set.
        state: the state of its messages at `CloseAt.state_at`, materialized.
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
