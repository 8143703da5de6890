"""Waits of messages: percentiles by nearest rank, in which messages that were never served rank last."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window, functions as F

PERCENTILES = (50, 90, 95, 99, 100)
MILLISECOND = 1000
TENTH, CLOSE = 10, 50 * MILLISECOND
"""A percentile is off if it differs by more than a tenth and by more than 50 ms: short waits vary."""


def waits(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Waiting times by key.

    Args:
        rows: a row per message with the key, `wait` in microseconds, null if it was not served, `so_far`,
            its wait until then, and `estimated`.
        key: the columns to group by.

    Returns:
        One row per key: messages, served, unserved, estimated, `p50` to `p100` in microseconds, null where
        the rank falls on a message that was not served; `total` of the waiting, null if any was not served;
        `at_least`, the waiting so far at the lowest such rank, the shortest first; null if all were served.
    """
    all_of_key = Window.partitionBy(*key)
    is_served = F.col("wait").isNotNull()
    in_order = all_of_key.orderBy(F.when(is_served, 0).otherwise(1), F.coalesce("wait", "so_far"))
    ranked = rows.withColumns(
        {
            "rank": F.row_number().over(in_order),
            "messages": F.count(F.lit(1)).over(all_of_key),
            "served": F.count("wait").over(all_of_key),
        }
    )
    rank_of = {percent: F.expr(f"({percent} * messages + 99) div 100") for percent in PERCENTILES}
    beyond = F.least(*[F.when(rank > F.col("served"), rank) for rank in rank_of.values()])
    at_rank = {
        f"p{percent}": F.max(F.when(F.col("rank") == rank, F.col("wait")))
        for percent, rank in rank_of.items()
    }
    return ranked.groupBy(*key, "messages", "served").agg(
        (F.col("messages") - F.col("served")).alias("unserved"),
        F.count(F.when(F.col("estimated"), 1)).alias("estimated"),
        *[value.alias(name) for name, value in at_rank.items()],
        F.when(F.col("messages") == F.col("served"), F.sum("wait")).alias("total"),
        F.max(F.when(F.col("rank") == beyond, F.col("so_far"))).alias("at_least"),
    )


def milliseconds(name: str) -> Column:
    """Microseconds as milliseconds."""
    return F.col(name) / F.lit(float(MILLISECOND))


def calibration(logged: DataFrame, replayed: DataFrame, key: Sequence[str]) -> DataFrame:
    """Compare the replay with the log.

    Args:
        logged: `waits` of the log, by queue and level.
        replayed: `waits` of the scenario actual, by the same key; both have the same messages.
        key: the columns of queue and level.

    Returns:
        One row per key: messages; logged, replayed and difference of p50 and p95 in microseconds;
        `verdict`: calibrated, off or unknown.
    """
    joined = logged.select(
        *key, "messages", *[F.col(f"p{rank}").alias(f"logged_p{rank}") for rank in (50, 95)]
    ).join(
        replayed.select(*key, *[F.col(f"p{rank}").alias(f"replayed_p{rank}") for rank in (50, 95)]), [*key]
    )
    compared = joined.withColumns(
        {f"difference_p{rank}": F.col(f"replayed_p{rank}") - F.col(f"logged_p{rank}") for rank in (50, 95)}
    )
    ours, theirs = F.col("replayed_p50"), F.col("logged_p50")
    is_unknown = ours.isNull() & theirs.isNull()
    verdict = F.when(_is_off(50) | _is_off(95), "off").when(is_unknown, "unknown").otherwise("calibrated")
    return compared.withColumn("verdict", verdict)


def _is_off(rank: int) -> Column:
    ours, theirs = F.col(f"replayed_p{rank}"), F.col(f"logged_p{rank}")
    by = F.abs(F.col(f"difference_p{rank}"))
    differs = (by > F.lit(CLOSE)) & (by * F.lit(TENTH) > theirs)
    return (ours.isNull() != theirs.isNull()) | F.coalesce(differs, F.lit(False))
