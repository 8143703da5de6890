"""Who waits, and how long already: by queue or sending instance, and by level."""

from collections.abc import Sequence
from datetime import datetime

from pyspark.sql import DataFrame, functions as F


def waiting(
    schedule: DataFrame, *, within: Sequence[str], level: str, since: str, as_of: datetime
) -> DataFrame:
    """How many messages wait, and for how long at as_of.

    Args:
        schedule: rows of `receive_schedule` or `transmission_schedule` of one as_of.
        within: what the messages wait in: the queue's three columns, or instance.
        level: the level to tell them by: priority for a queue, transmit_priority for an instance.
        since: when the wait began: arrived_at or sendable_at.
        as_of: the instant of the schedule.

    Returns:
        One row per combination and level: `messages`, `oldest`, and `median_seconds` and `p95_seconds`
        of waiting so far. They are exact, and interpolated between messages, of whole seconds: so
        many different values are bounded, however many messages there are.

    Source: our choice.
    """
    seconds = F.floor((F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / 1_000_000)
    return schedule.groupBy(*within, level).agg(
        F.count(F.lit(1)).alias("messages"),
        F.min(since).alias("oldest"),
        F.percentile(seconds, F.lit(0.5)).alias("median_seconds"),
        F.percentile(seconds, F.lit(0.95)).alias("p95_seconds"),
    )
