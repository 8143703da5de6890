"""Count queues, sending instances and nights for the page."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, Window, functions as F

from pipelines.questions.waiting import percentile, seconds_waited

SUMS = (
    "open_receive",
    "open_transmission",
    "open_forwarded",
    "unresolved_receive",
    "unresolved_transmission",
    "events",
    "rejected",
)
"""What is compared, by its name in `runs.reconciliation`."""


def count_by_queue(schedule: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count the ready messages of each queue by state.

    Args:
        schedule: rows of `receive_schedule` of one as_of.
        as_of: the instant of the schedule.

    Returns:
        One row per queue (`instance`, `database`, `queue`) with messages: `messages`, of these `ready`,
        `group_locked` and `queue_off`; the arrival of the `oldest`; `median_seconds` and `p95_seconds` of
        waiting so far, as in `pipelines/questions/waiting.py`.
    """
    states = [
        F.count_if(F.col("state") == state).alias(state) for state in ("ready", "group_locked", "queue_off")
    ]
    return schedule.groupBy("instance", "database", "queue").agg(
        F.count(F.lit(1)).alias("messages"), *states, *_waits("arrived_at", as_of)
    )


def count_by_instance(schedule: DataFrame, *, as_of: datetime) -> DataFrame:
    """Count the messages that wait for transmission at each instance.

    Args:
        schedule: rows of `transmission_schedule` of one as_of.
        as_of: the instant of the schedule.

    Returns:
        One row per sending `instance`: `messages`, of these `forwarded` and `elevated` ones; when the
        `oldest` became sendable; `median_seconds` and `p95_seconds` of waiting so far.
    """
    return schedule.groupBy("instance").agg(
        F.count(F.lit(1)).alias("messages"),
        F.count_if("forwarded").alias("forwarded"),
        F.count_if("elevated").alias("elevated"),
        *_waits("sendable_at", as_of),
    )


def _waits(since: str, as_of: datetime) -> list[Column]:
    seconds = seconds_waited(since, as_of)
    return [
        F.min(since).alias("oldest"),
        percentile(seconds, 0.5).alias("median_seconds"),
        percentile(seconds, 0.95).alias("p95_seconds"),
    ]


def select_nights(runs: DataFrame, *, as_of: datetime) -> DataFrame:
    """The published runs up to an as_of, one for each as_of.

    Args:
        runs: the table `runs`.
        as_of: the last as_of to report.

    Returns:
        One row per as_of with a run that succeeded; what a run says is taken from the latest of these:
        `run_id`, `started_at`, `finished_at`, `seconds` that it took, `code_version` and the sums (null
        where a run did not count them). `attempts` are all runs of this as_of, `failed` those that did not
        succeed.
    """
    of_as_of = Window.partitionBy("as_of")
    latest_first = of_as_of.orderBy(F.col("status") != "succeeded", F.desc("started_at"), "run_id")
    return (
        runs.where(F.col("as_of") <= F.lit(as_of))
        .withColumns(
            {
                "attempts": F.count(F.lit(1)).over(of_as_of),
                "failed": F.count_if(F.col("status") != "succeeded").over(of_as_of),
                "place": F.row_number().over(latest_first),
            }
        )
        .where("place = 1 and status = 'succeeded'")
        .select(
            "as_of",
            "run_id",
            "started_at",
            "finished_at",
            ((F.unix_micros("finished_at") - F.unix_micros("started_at")) / 1_000_000).alias("seconds"),
            "code_version",
            "attempts",
            "failed",
            *[F.try_element_at("reconciliation", F.lit(name)).alias(name) for name in SUMS],
        )
    )
