"""The conversation groups that could be read when a queue had the most ready messages."""

from pyspark.sql import DataFrame, functions as F

from pipelines.state.endpoints import SIDE, group_after_moves, latest_moves
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import LOCKING, OUTCOMES, TRANSACTION
from schemas.events import MOVE

GROUP = ["queue_number", "conversation_group_id"]


def members_at_peaks(receivers: DataFrame, endpoint_events: DataFrame, peaks: DataFrame) -> DataFrame:
    """The receiving endpoints of each queue, with their group at a moment.

    Args:
        receivers: `messages.receivers`.
        endpoint_events: the endpoint events before as_of, for their moves.
        peaks: (queue_number, moment), unique by the first, the moment in microseconds. All events
            of that instant have happened.

    Returns:
        One row per (conversation_id, is_initiator) of these queues: queue_number, conversation_group_id and
        the moment.
    """
    members = F.broadcast(peaks).join(receivers, "queue_number", "inner")
    until_then = (
        endpoint_events.where(F.col("event_type") == MOVE)
        .join(members.select(*SIDE, "moment"), SIDE, "inner")
        .where(F.unix_micros("event_time") <= F.col("moment"))
    )
    return (
        latest_moves(until_then)
        .join(members, SIDE, "right")
        .select(*SIDE, "queue_number", "moment", group_after_moves().alias("conversation_group_id"))
    )


def groups_at_peaks(periods: DataFrame, members: DataFrame, peaks: DataFrame) -> DataFrame:
    """The groups that had ready messages.

    Args:
        periods: see `pipelines.activation.ready`.
        members: `members_at_peaks`.
        peaks: as for `members_at_peaks`.

    Returns:
        One row per (queue_number, conversation_group_id): moment, and the `conversations` with
            ready messages.
    """
    is_ready = (F.col("ready_from") <= F.col("moment")) & (
        F.col("ready_until").isNull() | (F.col("ready_until") > F.col("moment"))
    )
    ready = F.broadcast(peaks).join(periods, "queue_number", "inner").where(is_ready).select(*SIDE).distinct()
    return (
        ready.join(members, SIDE, "inner")
        .groupBy(*GROUP, "moment")
        .agg(F.count_distinct("conversation_id").alias("conversations"))
    )


def holders_at_peaks(
    groups: DataFrame, members: DataFrame, ledger: Ledger, monitored_events: DataFrame
) -> DataFrame:
    """The transactions that had named one of the groups at that moment, or received from its conversations.

    Args:
        groups: `groups_at_peaks`.
        members: `members_at_peaks`.
        ledger: the events before as_of.
        monitored_events: the queue events before as_of of monitored queues, with `queue_number`.

    Returns:
        (queue_number, conversation_group_id, moment, instance, transaction_id), unique; most of them had
        ended. See docs/semantics.md#state-at-as_of.
    """
    named = _named(monitored_events, groups)
    if not ledger.has_queue_events:
        return named
    return named.unionByName(_receiving(ledger.message_events, members, groups))


def count_groups(groups: DataFrame, holders: DataFrame, queue_events: DataFrame) -> DataFrame:
    """Count the groups with ready messages, and those of them without holders.

    Args:
        groups: `groups_at_peaks`.
        holders: `holders_at_peaks`.
        queue_events: the queue events before as_of.

    Returns:
        One row per queue that had ready messages: queue_number, groups_ready, groups_free, conversations.

    Open transactions hold groups; one more reader finds work only in a free group.
    """
    over = queue_events.where(F.col("event_type").isin(*OUTCOMES)).select(
        *TRANSACTION, F.unix_micros("event_time").alias("over")
    )
    ended = holders.join(over, TRANSACTION, "inner").where("over <= moment")
    transactions = [*GROUP, *TRANSACTION]
    held = (
        holders.join(ended.select(*transactions).distinct(), transactions, "left_anti")
        .select(*GROUP, F.lit(True).alias("is_held"))
        .distinct()
    )
    is_free = F.col("is_held").isNull()
    return (
        groups.join(held, GROUP, "left")
        .groupBy("queue_number")
        .agg(
            F.count(F.lit(1)).alias("groups_ready"),
            F.count_if(is_free).alias("groups_free"),
            F.sum("conversations").alias("conversations"),
        )
    )


def _named(queue_events: DataFrame, groups: DataFrame) -> DataFrame:
    """The transactions that had named one of the groups by its moment."""
    naming = queue_events.where(F.col("event_type").isin(*LOCKING) & F.col("transaction_id").isNotNull())
    return _by_moment(groups.select(*GROUP, "moment").join(naming, GROUP, "inner"))


def _receiving(message_events: DataFrame, members: DataFrame, groups: DataFrame) -> DataFrame:
    """The transactions that had received from one of the groups by its moment."""
    of_groups = groups.select(*GROUP).join(members, GROUP, "inner")
    received = message_events.where("event_type = 'RECEIVED' and transaction_id is not null").select(
        *TRANSACTION, "event_time", "conversation_id", (~F.col("sent_by_initiator")).alias("is_initiator")
    )
    return _by_moment(of_groups.join(received, SIDE, "inner"))


def _by_moment(rows: DataFrame) -> DataFrame:
    until_moment = rows.where(F.unix_micros("event_time") <= F.col("moment"))
    return until_moment.select(*GROUP, "moment", *TRANSACTION).distinct()
