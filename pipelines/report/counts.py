"""The nights that the page shows."""

from datetime import datetime

from pyspark.sql import DataFrame, Window, functions as F

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
