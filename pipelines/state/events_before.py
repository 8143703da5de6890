"""The events before a moment, their order, and those that say whether a queue is on or off."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window, functions as F

from schemas.keys import QUEUE

YEAR_1 = 62_135_596_800_000_000
"""Microseconds from the first instant that a timestamp holds to the epoch."""
DIGITS = 18
"""Digits of the microseconds since the first instant that a timestamp holds."""


def events_before(events: DataFrame, as_of: datetime) -> DataFrame:
    """The events with `event_time < as_of`; see docs/semantics.md#state-at-as_of."""
    return events.where(F.col("event_time") < F.lit(as_of))


def moment_and_id() -> Column:
    """The order (event_time; event_id) as text that compares the same way.

    One text, as structs compare slowly.
    """
    return F.concat(moment_of("event_time"), F.col("event_id"))


def moment_and_id_of(position: str) -> tuple[Column, Column]:
    """`event_time` and `event_id` of a `moment_and_id`."""
    micros = F.substring(position, 1, DIGITS).cast("bigint") - F.lit(YEAR_1)
    event_id = F.expr(f"substring({position}, {DIGITS + 1})")
    return F.timestamp_micros(micros).alias("event_time"), event_id.alias("event_id")


def moment_rank_and_id(rank: Column) -> Column:
    """The order (event_time; rank, a digit; event_id) as text that compares the same way."""
    return F.concat(moment_of("event_time"), rank.cast("string"), F.col("event_id"))


def moment_of(name: str | Column) -> Column:
    """A timestamp as text that compares as the times do."""
    return F.lpad((F.unix_micros(name) + F.lit(YEAR_1)).cast("string"), DIGITS, "0")


def just_before(moment: str | Column) -> Column:
    """A microsecond before a moment: when a fact without a time happened that a snapshot of then shows."""
    return F.timestamp_micros(F.unix_micros(moment) - F.lit(1))


def ever(condition: Column) -> Column:
    """Whether a condition holds for any row of a group; null counts as false.

    A count is faster than `bool_or`.
    """
    return F.count(F.when(condition, 1)) > 0


def status_changes(queue_events: DataFrame) -> DataFrame:
    """The events that say whether a queue is on or off; few.

    Args:
        queue_events: the queue events that count.

    Returns:
        Rows of `queue_events`: each QUEUE_ALTERED with a queue_status, with `place`, its order in the queue
        (`moment_and_id`), and `keeps_off`: it says off, and no later event of the queue says on. A queue is
        off by its events if one of them keeps it off.
    """
    altered = queue_events.where("event_type = 'QUEUE_ALTERED' and queue_status is not null")
    is_off, of_queue = F.upper("queue_status") == "OFF", Window.partitionBy(*QUEUE)
    placed = altered.withColumn("place", moment_and_id())
    last_on = F.max(F.when(~is_off, F.col("place"))).over(of_queue)
    marked = placed.withColumns({"is_off": is_off, "last_on": last_on})
    is_last = F.col("last_on").isNull() | (F.col("place") > F.col("last_on"))
    return marked.withColumn("keeps_off", F.col("is_off") & is_last).drop("is_off", "last_on")
