"""The tables of a replay, from the rows that the machines played.

Percentiles are by nearest rank; messages that were never served rank last.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.replay.request import Period
from pipelines.replay.timeline import Inputs
from schemas.keys import QUEUE
from schemas.replay import REPLAY_CALIBRATION, REPLAY_CURVE, REPLAY_MESSAGES, REPLAY_QUEUES, REPLAY_WAITS
from schemas.table import Table

SECOND = 1_000_000.0
PERCENTILES = (50, 90, 95, 99, 100)
MILLISECOND = 1000
TENTH, CLOSE = 10, 50 * MILLISECOND
"""A percentile is off if it differs by more than a tenth and by more than 50 ms: short waits vary."""
BY_LEVEL = ["scenario", *QUEUE, "level"]
CALIBRATED, OFF, UNKNOWN, TOO_WIDE = "calibrated", "off", "unknown", "too_wide"
"""Whether the scenario actual follows the log: unknown without figures, too_wide if captures show receives in
intervals that are too wide."""


@dataclass(frozen=True)
class ReplayTables:
    """The tables of a replay; each is a frame with the columns of `schemas.replay`.

    Attributes:
        by_recorded_level: as `waits`, but messages have their recorded level in both scenarios, so that the
            same messages are compared.
    """

    waits: DataFrame
    queues: DataFrame
    calibration: DataFrame
    messages: DataFrame
    curve: DataFrame
    by_recorded_level: DataFrame

    def by_name(self) -> dict[str, DataFrame]:
        """The frames by the names of their tables."""
        return {f"replay_{name}": frame for name, frame in vars(self).items()}


def make_tables(
    played: DataFrame, machines: DataFrame, inputs: Inputs, period: Period, materialize: Materialize
) -> ReplayTables:
    """Make the tables.

    Args:
        played: (machine, `player.RESULTS`), materialized: per machine a row per message and one with its
            totals. Times are microseconds.
        machines: (machine, scenario, of_curve, instance, database, queue), unique by the
            first.
        inputs: the inputs of the replay.
        period: the period that was played.
        materialize: computes a frame once.
    """
    named = F.broadcast(machines).join(played, "machine")
    rows = named.where("message_id is not null").withColumns(
        {
            "wait": F.col("started") - F.col("arrived"),
            "so_far": F.coalesce("gone", F.unix_micros(F.lit(period.end))) - F.col("arrived"),
        }
    )
    main = rows.where("not of_curve")
    by_level = materialize(waits(main, BY_LEVEL))
    of_level = [*QUEUE, "level"]
    logged = waits(_logged(inputs, period), of_level, F.max("width").alias("width"))
    compared = materialize(calibration(logged, by_level.where("scenario = 'actual'"), of_level))
    verdicts = materialize(find_verdicts(compared))

    def finish(table: Table, frame: DataFrame) -> DataFrame:
        """The columns of the table, with the verdict of each queue."""
        of_queue, is_off = F.col("of_queue"), F.col("of_queue") == OFF
        follows = F.when(of_queue.isNull() | (of_queue != TOO_WIDE), ~F.coalesce(is_off, F.lit(False)))
        with_verdicts = frame.join(
            F.broadcast(verdicts.withColumnRenamed("verdict", "of_queue")), QUEUE, "left"
        )
        return materialize(with_verdicts.withColumn("calibrated", follows).select(*table.names))

    totals = named.where("message_id is null")
    recorded = inputs.messages.select("message_id", "level")
    by_recorded_level = waits(main.drop("level").join(recorded, "message_id"), BY_LEVEL)
    moments = {f"{name}_at": F.timestamp_micros(name) for name in ("arrived", "started", "finished")}
    return ReplayTables(
        by_recorded_level=finish(REPLAY_WAITS, _in_milliseconds(by_recorded_level)),
        waits=finish(REPLAY_WAITS, _in_milliseconds(by_level)),
        queues=finish(REPLAY_QUEUES, _queues(totals.where("not of_curve"))),
        calibration=finish(REPLAY_CALIBRATION, _calibration(compared)),
        messages=main.withColumns(moments).select(*REPLAY_MESSAGES.names),
        curve=finish(REPLAY_CURVE, _curve(rows, totals)),
    )


def _logged(inputs: Inputs, period: Period) -> DataFrame:
    """The messages with their wait in the log, to the first RECEIVED of the period, and its `width`."""
    arrived, until = F.unix_micros("arrived_at"), F.least("ended_at", F.lit(period.end))
    messages = inputs.messages.join(inputs.first_received, "message_id", "left")
    return messages.select(
        *QUEUE,
        "level",
        "estimated",
        "width",
        (F.unix_micros("first_received_at") - arrived).alias("wait"),
        (F.unix_micros(until) - arrived).alias("so_far"),
    )


def _in_milliseconds(by_level: DataFrame) -> DataFrame:
    names = {f"wait_p{rank}": milliseconds(f"p{rank}") for rank in (50, 90, 95, 99)}
    return by_level.withColumns(
        {
            **names,
            "wait_max": milliseconds("p100"),
            "wait_mean": milliseconds("total") / F.col("messages"),
            "at_least": milliseconds("at_least"),
        }
    )


def _calibration(compared: DataFrame) -> DataFrame:
    return compared.withColumns(
        {
            f"{name}_p{rank}": milliseconds(f"{name}_p{rank}")
            for name in ("logged", "replayed", "difference")
            for rank in (50, 95)
        }
        | {"width": milliseconds("width")}
    )


def _queues(totals: DataFrame) -> DataFrame:
    known = F.col("readers").isNotNull()
    return totals.withColumns(
        {
            "busy_seconds": F.when(known, F.col("busy") / SECOND),
            "utilisation": F.when(F.col("available") > 0, F.col("busy") / F.col("available")),
            "idle_locked_seconds": F.when(known, F.col("idle_locked") / SECOND),
            "empty_at": F.timestamp_micros("empty_at"),
        }
    )


def _curve(rows: DataFrame, totals: DataFrame) -> DataFrame:
    """Percentile 95 over all levels of a queue, for each number of readers."""
    all_waits = waits(rows.where("of_curve"), ["machine"])
    queues = _queues(totals.where("of_curve")).select(
        "machine", "scenario", *QUEUE, "readers", "utilisation", "idle_locked_seconds"
    )
    return queues.join(all_waits, "machine").withColumns(
        {"wait_p95": milliseconds("p95"), "at_least": F.when(F.col("p95").isNull(), milliseconds("at_least"))}
    )


def waits(rows: DataFrame, key: Sequence[str], *more: Column) -> DataFrame:
    """Waiting times by key.

    Args:
        rows: a row per message with the key, `wait` in microseconds, null if it was not served, `so_far`,
            its wait until then, and `estimated`.
        key: the columns to group by.
        more: further aggregates.

    Returns:
        One row per key: messages, served, unserved, estimated, `p50` to `p100` in microseconds, null where
        the rank falls on a message that was not served; `total` of the waiting, null if any was not served;
        `at_least`, the waiting so far at the lowest such rank, the shortest first; null if all were served;
        and `more`.
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
        *more,
    )


def milliseconds(name: str) -> Column:
    """Microseconds as milliseconds."""
    return F.col(name) / F.lit(float(MILLISECOND))


def calibration(logged: DataFrame, replayed: DataFrame, key: Sequence[str]) -> DataFrame:
    """Compare the replay with the log.

    Args:
        logged: `waits` of the log, by queue and level, and `width`, the largest; null if none has one.
        replayed: `waits` of the scenario actual, by the same key; both have the same messages.
        key: the columns of queue and level.

    Returns:
        One row per key: messages; logged, replayed and difference of p50 and p95, and width, in microseconds;
        `verdict`: too_wide if a width is more than the difference may be, else calibrated, off or unknown.
    """
    joined = logged.select(
        *key, "messages", "width", *[F.col(f"p{rank}").alias(f"logged_p{rank}") for rank in (50, 95)]
    ).join(
        replayed.select(*key, *[F.col(f"p{rank}").alias(f"replayed_p{rank}") for rank in (50, 95)]), [*key]
    )
    compared = joined.withColumns(
        {f"difference_p{rank}": F.col(f"replayed_p{rank}") - F.col(f"logged_p{rank}") for rank in (50, 95)}
    )
    ours, theirs = F.col("replayed_p50"), F.col("logged_p50")
    is_unknown = ours.isNull() & theirs.isNull()
    is_wide = _is_beyond(F.col("width"), 50) | _is_beyond(F.col("width"), 95)
    verdict = (
        F.when(is_wide, TOO_WIDE)
        .when(_is_off(50) | _is_off(95), OFF)
        .when(is_unknown, UNKNOWN)
        .otherwise(CALIBRATED)
    )
    return compared.withColumn("verdict", verdict)


def find_verdicts(calibration: DataFrame) -> DataFrame:
    """The `verdict` of each queue: off or too_wide if one of its levels is, unknown if all are."""
    found = {name: F.max((F.col("verdict") == name).cast("int")) > 0 for name in (OFF, TOO_WIDE, CALIBRATED)}
    of_queue = F.lit(UNKNOWN)
    for name in reversed(found):
        of_queue = F.when(found[name], name).otherwise(of_queue)
    return calibration.groupBy(*QUEUE).agg(of_queue.alias("verdict"))


def _is_off(rank: int) -> Column:
    ours, theirs = F.col(f"replayed_p{rank}"), F.col(f"logged_p{rank}")
    differs = (ours.isNotNull() & theirs.isNotNull()) & _is_beyond(F.abs(F.col(f"difference_p{rank}")), rank)
    return (ours.isNull() != theirs.isNull()) | differs


def _is_beyond(by: Column, rank: int) -> Column:
    """Whether a length is more than a tenth of the percentile in the log, and than 50 ms."""
    theirs = F.coalesce(F.col(f"logged_p{rank}"), F.lit(0))
    return F.coalesce((by > F.lit(CLOSE)) & (by * F.lit(TENTH) > theirs), F.lit(False))
