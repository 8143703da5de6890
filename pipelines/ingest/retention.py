"""Which events a later as_of may still need: the rest is closed.

A fold closes what has no state any more at the end of the log's newest day, and no event since. Clocks
differ, so what happened in the last minutes of the log stays open: its other events may come with the next
batch, from an instance whose clock is behind.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.union import union_all
from pipelines.ingest.days import end_of
from pipelines.state.events_before import moment_and_id, moment_and_id_of
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import LOCKING, TRANSACTION
from schemas.keys import QUEUE

SETTLING = timedelta(minutes=15)
"""For so long before the log's newest moment everything stays open (our choice)."""


@dataclass(frozen=True)
class CloseAt:
    """Up to when a fold closes.

    Attributes:
        closed_on: the log's newest UTC day: what closes is closed on it.
        state_at: its end; the state at that moment decides.
        settled_before: what has an event at or after this moment stays open.
    """

    closed_on: date
    state_at: datetime
    settled_before: datetime

    @classmethod
    def newest(cls, moment: datetime) -> "CloseAt":
        """Close up to the log's newest moment."""
        return cls(moment.date(), end_of(moment.date()), moment - SETTLING)


def _not_settled(events: DataFrame, until: CloseAt) -> DataFrame:
    return events.where(F.col("event_time") >= F.lit(until.settled_before))


def messages_that_stay_open(
    message_events: DataFrame, with_state: DataFrame, given_back: DataFrame | None, until: CloseAt
) -> DataFrame:
    """The messages that stay open.

    Args:
        message_events: all message events that the fold looks at.
        with_state: `state.open_messages` at `until.state_at`.
        given_back: `given_back.given_back` at `until.state_at`; None without any queue events.
        until: up to when the fold closes.

    Returns:
        (message_id, conversation_id), unique.
    """
    named = ["message_id", "conversation_id"]
    late = _not_settled(message_events, until)
    there = [with_state, late, *([] if given_back is None else [given_back])]
    return union_all([frame.select(*named) for frame in there]).distinct()


def open_transactions(
    ledger: Ledger, uncommitted: DataFrame, open_messages: DataFrame, until: CloseAt
) -> DataFrame:
    """The transactions whose events stay open.

    Args:
        ledger: the working set.
        uncommitted: `state.uncommitted` at `until.state_at`.
        open_messages: `messages_that_stay_open`.
        until: up to when the fold closes.

    Returns:
        (instance, transaction_id), unique: open ones, those with events that are not settled, and those
        that received a message that stays open, which needs their outcome.
    """
    received = ledger.message_events.where("event_type = 'RECEIVED' and transaction_id is not null")
    needed = received.join(open_messages.select("message_id"), "message_id", "left_semi").select(*TRANSACTION)
    late = _not_settled(ledger.queue_events, until).where("transaction_id is not null").select(*TRANSACTION)
    is_open = uncommitted.where("is_open").select(*TRANSACTION)
    return needed.unionByName(late).unionByName(is_open).distinct()


def open_conversations(sides: DataFrame, open_messages: DataFrame, until: CloseAt) -> DataFrame:
    """The conversations whose endpoint events stay open.

    Args:
        sides: `sides.conversation_sides` of all events that the fold looks at.
        open_messages: `messages_that_stay_open`.
        until: up to when the fold closes.

    Returns:
        (conversation_id), unique: an endpoint that is known has not ended, a message is open, or an event
        is not settled.
    """
    stays = _with_life(sides, until).where("lives").select("conversation_id")
    return stays.unionByName(open_messages.select("conversation_id")).distinct()


def closing_conversations(sides: DataFrame, open_messages: DataFrame, until: CloseAt) -> DataFrame:
    """The conversations whose endpoint events close: all others than `open_conversations`, unique.

    Args:
        sides: `sides.conversation_sides` of all events that the fold looks at.
        open_messages: `messages_that_stay_open`.
        until: up to when the fold closes.
    """
    over = _with_life(sides, until).where("not lives").select("conversation_id")
    held = open_messages.select("conversation_id").join(over, "conversation_id", "left_semi").distinct()
    return over.join(held, "conversation_id", "left_anti")


def _with_life(sides: DataFrame, until: CloseAt) -> DataFrame:
    """Add `lives`: a known endpoint has not ended, or an event is not settled."""
    for side in ("initiator", "target"):
        ended = F.col(f"{side}_ended_at") < F.lit(until.state_at)
        sides = sides.withColumn(f"{side}_ended", F.coalesce(ended, F.lit(False)))
    lives = F.expr(
        "(initiator_known and not initiator_ended) or "
        "((target_known or (initiator_known and first_arrived_at is not null)) and not target_ended)"
    )
    is_late = F.coalesce(F.col("last_told_at") >= F.lit(until.settled_before), F.lit(False))
    return sides.withColumn("lives", F.coalesce(lives, F.lit(False)) | is_late)


def open_queue_events(
    queue_events: DataFrame, transactions: DataFrame, last: DataFrame, until: CloseAt
) -> DataFrame:
    """The queue events that stay open.

    Args:
        queue_events: all queue events that the fold looks at.
        transactions: `open_transactions`.
        last: `last_of_kind`.
        until: up to when the fold closes.

    Returns:
        (event_time, event_id), unique: those of the transactions, the last of their kind, and those that
        are not settled.
    """
    place = ["event_time", "event_id"]
    late = _not_settled(queue_events, until).select(*place)
    of_open = queue_events.join(F.broadcast(transactions), TRANSACTION, "left_semi").select(*place)
    return late.unionByName(of_open).unionByName(last).distinct()


def last_of_kind(queue_events: DataFrame, until: CloseAt) -> DataFrame:
    """The queue events of whose kind no later one says otherwise: few.

    Args:
        queue_events: queue events that the fold looks at.
        until: up to when the fold closes; what a clock that is ahead said later supersedes nothing yet.

    Returns:
        (event_time, event_id), unique: the last WAIT_*, the last TASK_* of a session in a queue, the last
        QUEUE_ALTERED of a queue that says on or off, and its last empty result without WHERE.
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
    so_far = rows.where(F.col("kind").isNotNull() & (F.col("event_time") < F.lit(until.state_at)))
    last = so_far.groupBy(*QUEUE, "kind", "of_session").agg(F.max("place").alias("place"))
    return last.select(*moment_and_id_of("place"))
