"""Since when and until when messages are ready, and groups are held: what happened on queues as intervals.

A place in the order of a queue is a time and a number: at each instant the facts have number 0, and its
decisions are numbered from 1. An interval has its first place and not its last.
"""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.conformance import happenings as h
from pipelines.state.carried import BITS, KIND

MESSAGE = ("queue_number", "message_id")
CONVERSATION = ("queue_number", "side")
GROUP = ("queue_number", "group_id")
DECISION = ("queue_number", "time", "transaction", "group_id")
MEMBER = ("member_from", "member_until", "moved_to")
NEVER = 2**62
NUMBERS = 1_000_000
"""Decisions of one instant are fewer."""


@dataclass(frozen=True)
class Happened:
    """The rows of a timeline by kind, with `time` in microseconds."""

    arrivals: DataFrame
    ends: DataFrame
    moves: DataFrame
    taken: DataFrame
    statements: DataFrame
    """RECEIVE and GET_CONVERSATION_GROUP."""


def split(timeline: DataFrame) -> Happened:
    """The rows by kind."""
    timed = timeline.withColumns(
        {"time": F.shiftright("place", BITS), "kind": F.col("place").bitwiseAND(F.lit(KIND).cast("bigint"))}
    )

    def of(*kinds: int) -> DataFrame:
        return timed.where(F.col("kind").isin(*kinds))

    return Happened(of(h.ARRIVAL), of(h.END), of(h.MOVE), of(h.TAKEN), of(h.RECEIVE, h.GET_GROUP))


def at(time: Column | str, number: Column | int = 0) -> Column:
    """A place as one number: microseconds, and the number in the last six digits."""
    whole = F.col(time) if isinstance(time, str) else time
    nth = F.lit(number) if isinstance(number, int) else number
    return (whole.cast("decimal(20,0)") * F.lit(NUMBERS) + nth).cast("decimal(28,0)")


def members(moves: DataFrame) -> DataFrame:
    """Where conversations that ever moved belong: `moved_to` from `member_from` until before `member_until`.

    Before the first move `moved_to` is null: that is their first group. Times are whole instants: what
    happens at the instant of a move happens in the new group.
    """
    stays = moves.select(*CONVERSATION, "time", F.col("group_id").alias("moved_to"))
    before = (
        moves.select(*CONVERSATION)
        .distinct()
        .select(
            *CONVERSATION,
            F.lit(-NEVER).alias("time"),
            F.lit(None).cast("string").alias("moved_to"),
        )
    )
    until = F.lead("time").over(Window.partitionBy(*CONVERSATION).orderBy("time"))
    return (
        stays.unionByName(before)
        .withColumn("member_until", F.coalesce(until, F.lit(NEVER)))
        .select(*CONVERSATION, F.col("time").alias("member_from"), "member_until", "moved_to")
    )


def in_groups(rows: DataFrame, members: DataFrame) -> DataFrame:
    """Rows at a `time`, with `group_id` as the group of that time in place of the first one."""
    there = (F.col("time") >= F.col("member_from")) & (F.col("time") < F.col("member_until"))
    return _with_members(rows, members).where(F.col("member_from").isNull() | there).drop(*MEMBER)


def _with_members(rows: DataFrame, members: DataFrame) -> DataFrame:
    joined = rows.join(members, list(CONVERSATION), "left")
    return joined.withColumn("group_id", F.coalesce("moved_to", "group_id"))


def _cut(spans: DataFrame, members: DataFrame) -> DataFrame:
    """Intervals of conversations as intervals of the groups that they belong to."""
    moved = F.col("member_from").isNotNull()
    begins = F.when(moved, F.greatest("begins", at("member_from"))).otherwise(F.col("begins"))
    ends = F.when(moved, F.least("ends", at("member_until"))).otherwise(F.col("ends"))
    return (
        _with_members(spans, members)
        .withColumns({"begins": begins, "ends": ends})
        .where("begins < ends")
        .drop(*MEMBER)
    )


def _first_outcome() -> Column:
    """When the transaction of a row was first committed or rolled back; NEVER if it was not."""
    return F.coalesce(F.least("committed", "rolled_back"), F.lit(NEVER))


@dataclass(frozen=True)
class Spans:
    """Intervals in groups: `begins` and `ends` are places.

    Attributes:
        ready: a row per message and interval, with `level`.
        held: a row per interval and reason why `transaction_id` holds the group; intervals may overlap.
    """

    ready: DataFrame
    held: DataFrame


def spans(
    happened: Happened, members: DataFrame, decisions: DataFrame, *, every_receive_counts: bool
) -> Spans:
    """When messages are ready and groups are held.

    Args:
        happened: what happened.
        members: see `members`.
        decisions: queue_number, time, transaction_id, group_id, `number` within the instant.
        every_receive_counts: without any queue events a RECEIVED counts as committed.
    """
    ends = happened.ends.select(*CONVERSATION, F.col("time").alias("ended"))
    arrivals = (
        happened.arrivals.select(*MESSAGE, "side", "group_id", "level", F.col("time").alias("ready_at"))
        .join(ends, list(CONVERSATION), "left")
        .withColumn("ended", F.coalesce("ended", F.lit(NEVER)))
    )
    taken = in_groups(happened.taken, members).withColumn("transaction", named("transaction_id"))
    takes = (
        taken.join(decisions.select(*DECISION, "number"), list(DECISION))
        .select(*MESSAGE, "transaction_id", "time", "number", "committed", "rolled_back")
        .join(arrivals.select(*MESSAGE, "ready_at"), list(MESSAGE))
    )
    # A message that was received before its endpoint was there is taken as soon as it is.
    is_early = F.col("time") < F.col("ready_at")
    moment = F.greatest("time", "ready_at")
    place = at(moment, F.when(is_early, 0).otherwise(F.col("number")))
    at_once = F.coalesce(F.col("committed") <= moment, F.lit(False)) | F.col("transaction_id").isNull()
    if every_receive_counts:
        at_once = F.lit(True)
    holds = ~at_once & (_first_outcome() > moment)
    takes = takes.select(
        *MESSAGE,
        "transaction_id",
        place.alias("begins"),
        F.when(holds, at(_first_outcome())).alias("ends"),
        F.when(at_once, place).when(F.col("committed").isNotNull(), at("committed")).alias("gone"),
    )
    gone = takes.groupBy(*MESSAGE).agg(F.min("gone").alias("gone"))
    present = (
        arrivals.join(gone, list(MESSAGE), "left")
        .withColumn("gone", F.least(F.coalesce("gone", at(F.lit(NEVER))), at("ended")))
        .drop("ended")
    )
    held = (
        takes.where("ends is not null")
        .drop("gone")
        .join(present.drop("level", "ready_at"), list(MESSAGE))
        .withColumn("ends", F.least("ends", "gone"))
        .where("begins < ends")
    )
    in_order = Window.partitionBy(*MESSAGE).orderBy("begins", "ends")
    before = F.max("ends").over(in_order.rowsBetween(Window.unboundedPreceding, -1))
    # What is ready lies between what is held, and before the message is gone.
    ready = (
        held.select(*MESSAGE, "begins", "ends")
        .unionByName(present.select(*MESSAGE, F.col("gone").alias("begins"), F.col("gone").alias("ends")))
        .withColumn("free_from", before)
        .select(*MESSAGE, "free_from", F.col("begins").alias("ends"))
        .join(present, list(MESSAGE))
        .withColumn("begins", F.coalesce("free_from", at("ready_at")))
        .where("begins < ends")
        .select(*CONVERSATION, "group_id", "level", "begins", "ends")
    )
    by_messages = _cut(held.select(*CONVERSATION, "group_id", "transaction_id", "begins", "ends"), members)
    by_name = _by_name(happened.statements, decisions)
    columns = (*GROUP, "transaction_id", "begins", "ends")
    all_held = by_messages.select(*columns).unionByName(by_name.select(*columns))
    if every_receive_counts:
        all_held = all_held.where(F.lit(False))
    return Spans(_cut(ready, members).select(*GROUP, "level", "begins", "ends"), all_held)


def named(transaction: str) -> Column:
    """A transaction as a text that is never null."""
    return F.coalesce(F.concat(F.lit("t"), F.col(transaction)), F.lit(""))


def _by_name(statements: DataFrame, decisions: DataFrame) -> DataFrame:
    """Groups that statements of open transactions name, held from the statement, or its decision, on."""
    naming = statements.where("group_id is not null and transaction_id is not null").withColumn(
        "is_receive", F.col("kind") == h.RECEIVE
    )
    parts = decisions.select(
        "queue_number", "time", "group_id", "transaction_id", "number", F.lit(True).alias("is_receive")
    )
    return (
        naming.join(parts, ["queue_number", "time", "group_id", "transaction_id", "is_receive"], "left")
        .where(_first_outcome() > F.col("time"))
        .select(
            *GROUP,
            "transaction_id",
            at("time", F.coalesce("number", F.lit(0))).alias("begins"),
            at(_first_outcome()).alias("ends"),
        )
    )
