"""How much stands in each queue, and how much waits at each sending instance."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F


def queue_depth(schedule: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count the ready messages of each queue by what keeps them back.

    Args:
        schedule: rows of `receive_schedule` of one as_of.
        as_of: the instant of the schedule.

    Returns:
        One row per queue (`instance`, `database`, `queue`) with messages: `messages`, of these `ready`,
        `group_locked` and `queue_off`; the arrival of the `oldest`; `median_seconds` and `p95_seconds` of
        waiting so far, as in `pipelines/questions/waiting.py`.

    Source: our choice.
    """
    states = [
        F.count_if(F.col("state") == state).alias(state) for state in ("ready", "group_locked", "queue_off")
    ]
    return schedule.groupBy("instance", "database", "queue").agg(
        F.count(F.lit(1)).alias("messages"), *states, *_waits("arrived_at", as_of)
    )


def instance_depth(schedule: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count the messages that wait for transmission at each instance.

    Args:
        schedule: rows of `transmission_schedule` of one as_of.
        as_of: the instant of the schedule.

    Returns:
        One row per sending `instance`: `messages`, of these `forwarded` and `elevated` ones; when the
        `oldest` became sendable; `median_seconds` and `p95_seconds` of waiting so far.

    Source: our choice.
    """
    return schedule.groupBy("instance").agg(
        F.count(F.lit(1)).alias("messages"),
        F.count_if("forwarded").alias("forwarded"),
        F.count_if("elevated").alias("elevated"),
        *_waits("sendable_at", as_of),
    )


def _waits(since: str, as_of: datetime) -> list[Column]:
    seconds = F.floor((F.unix_micros(F.lit(as_of)) - F.unix_micros(since)) / 1_000_000)
    return [
        F.min(since).alias("oldest"),
        F.percentile(seconds, F.lit(0.5)).alias("median_seconds"),
        F.percentile(seconds, F.lit(0.95)).alias("p95_seconds"),
    ]
