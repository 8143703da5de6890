"""The tables of a replay, from the rows that the machines played."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.materialize import Materialize
from pipelines.replay.request import Period
from pipelines.replay.timeline import Inputs
from pipelines.replay.waits import calibration, milliseconds, waits
from schemas.keys import QUEUE
from schemas.replay import (
    REPLAY_CALIBRATION,
    REPLAY_CURVE,
    REPLAY_MESSAGES,
    REPLAY_QUEUES,
    REPLAY_WAITS,
)

SECOND = 1_000_000.0
BY_LEVEL = ["scenario", *QUEUE, "level"]


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
        machines: (machine, scenario, given_readers, of_curve, instance, database, queue), unique by the
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
    logged = waits(_logged(inputs, period), [*QUEUE, "level"])
    compared = materialize(calibration(logged, by_level.where("scenario = 'actual'"), [*QUEUE, "level"]))
    verdicts = materialize(
        compared.groupBy(*QUEUE).agg(
            (F.count(F.when(F.col("verdict") == "off", 1)) == 0).alias("is_calibrated")
        )
    )

    def with_verdict(table: DataFrame) -> DataFrame:
        found = table.join(F.broadcast(verdicts), QUEUE, "left")
        return found.withColumn("calibrated", F.coalesce("is_calibrated", F.lit(True))).drop("is_calibrated")

    totals = named.where("message_id is null")
    recorded = inputs.messages.select("message_id", "level")
    by_recorded_level = waits(main.drop("level").join(recorded, "message_id"), BY_LEVEL)
    return ReplayTables(
        by_recorded_level=materialize(
            with_verdict(_in_milliseconds(by_recorded_level)).select(*REPLAY_WAITS.names)
        ),
        waits=materialize(with_verdict(_in_milliseconds(by_level)).select(*REPLAY_WAITS.names)),
        queues=materialize(with_verdict(_queues(totals.where("not of_curve"))).select(*REPLAY_QUEUES.names)),
        calibration=materialize(with_verdict(_calibration(compared)).select(*REPLAY_CALIBRATION.names)),
        messages=main.select(
            "scenario",
            *QUEUE,
            "message_id",
            F.timestamp_micros("arrived").alias("arrived_at"),
            F.timestamp_micros("started").alias("started_at"),
            F.timestamp_micros("finished").alias("finished_at"),
            "receive_number",
            "level",
        ).select(*REPLAY_MESSAGES.names),
        curve=materialize(with_verdict(_curve(rows, totals)).select(*REPLAY_CURVE.names)),
    )


def _logged(inputs: Inputs, period: Period) -> DataFrame:
    """The messages with their wait in the log, to the first RECEIVED of the period."""
    arrived, until = F.unix_micros("arrived_at"), F.least("ended_at", F.lit(period.end))
    messages = inputs.messages.join(inputs.first_received, "message_id", "left")
    return messages.select(
        *QUEUE,
        "level",
        "estimated",
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
    )


def _queues(totals: DataFrame) -> DataFrame:
    known = F.col("readers").isNotNull()
    return totals.withColumns(
        {
            "busy_seconds": F.when(known, F.col("busy") / SECOND),
            "utilisation": _utilisation(),
            "idle_locked_seconds": F.when(known, F.col("idle_locked") / SECOND),
            "empty_at": F.timestamp_micros("empty_at"),
        }
    )


def _curve(rows: DataFrame, totals: DataFrame) -> DataFrame:
    """Percentile 95 over all levels of a queue, for each number of readers."""
    all_waits = waits(rows.where("of_curve"), ["machine"])
    queues = totals.where("of_curve").select(
        "machine",
        "scenario",
        *QUEUE,
        F.col("given_readers").alias("readers"),
        (F.col("idle_locked") / SECOND).alias("idle_locked_seconds"),
        _utilisation().alias("utilisation"),
    )
    return queues.join(all_waits, "machine").withColumns(
        {
            "wait_p95": milliseconds("p95"),
            "at_least": F.when(F.col("p95").isNull(), milliseconds("at_least")),
        }
    )


def _utilisation() -> Column:
    return F.when(F.col("available") > 0, F.col("busy") / F.col("available"))
