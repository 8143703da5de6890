"""The conversation groups that could be read when a queue had the most ready messages."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.activation import happenings as h
from pipelines.arrays import any_of, those_of


def groups_at_most_ready(messages: DataFrame, transactions: DataFrame, totals: DataFrame) -> DataFrame:
    """Count the groups with ready messages, and those of them that nobody held.

    Args:
        messages: `with_changes`.
        transactions: `transactions` rows that may have been open in the window, each with the queues'
            numbers: (queue_number, conversation_group_id, locked_at, over_at) per lock.
        totals: (queue_number, most_ready_at), unique by the first, the moment in microseconds.

    Returns:
        One row per queue that had ready messages: queue_number, groups_ready, groups_free, conversations.
        Moments are instants: everything that happened at that one has happened.

    A group is held by an open transaction that named it, or that took one of its messages (the design,
    "State at as_of"). One more reader finds work only in a free group.
    """
    peak = F.broadcast(totals.where("most_ready_at is not null").select("queue_number", "most_ready_at"))
    moment = F.col("most_ready_at")
    then = messages.join(peak, "queue_number", "inner").select(
        "queue_number",
        "conversation_id",
        _group(F.timestamp_micros(moment)).alias("conversation_group_id"),
        _is_ready(moment).alias("is_ready"),
        _is_in_flight(moment).alias("is_in_flight"),
    )
    groups = (
        then.where("is_ready or is_in_flight")
        .groupBy("queue_number", "conversation_group_id")
        .agg(
            F.count_distinct(F.when(F.col("is_ready"), F.col("conversation_id"))).alias("conversations"),
            F.some("is_in_flight").alias("is_held"),
        )
        .where("conversations > 0")
    )
    over = F.coalesce(F.unix_micros("over_at") <= moment, F.lit(False))
    locked = (
        transactions.join(peak, "queue_number", "inner")
        .where((F.unix_micros("locked_at") <= moment) & ~over)
        .select("queue_number", "conversation_group_id", F.lit(True).alias("is_locked"))
        .distinct()
    )
    is_free = ~(F.col("is_held") | F.coalesce("is_locked", F.lit(False)))
    return (
        groups.join(locked, ["queue_number", "conversation_group_id"], "left")
        .groupBy("queue_number")
        .agg(
            F.count(F.lit(1)).alias("groups_ready"),
            F.count_if(is_free).alias("groups_free"),
            F.sum("conversations").alias("conversations"),
        )
    )


def _is_ready(moment: Column) -> Column:
    """Whether the last change until then made it ready."""
    until = F.filter("changes", lambda change: (change.time <= moment) & ~change.kind.isin(h.NOT_READY))
    last = F.get(until, F.size(until) - 1)
    return F.coalesce(last.kind.isin(h.ARRIVAL, h.GIVEN_BACK), F.lit(False))


def _is_in_flight(moment: Column) -> Column:
    return any_of(
        F.col("receives"),
        lambda receive: (receive.time <= moment) & (receive["over"].isNull() | (receive["over"] > moment)),
    )


def _group(moment: Column) -> Column:
    """The group of the creation, until the latest move at or after the creation and not after the moment."""
    moved = those_of(
        F.col("moves"), lambda move: (move.moved_at >= F.col("created")) & (move.moved_at <= moment)
    )
    return F.coalesce(F.array_max(moved).conversation_group_id, F.col("creation_group"))
