"""Read the published as_ofs over time: their runs, messages by place, and the oldest wait by level."""

from datetime import datetime

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.engine.frames import small_frame
from pipelines.report.tables import PageTable, number_rows, read_table
from pipelines.storage.published import read_published_runs
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import WAITS
from schemas.reading import as_of_key

POINTS = 400
"""As_ofs in a picture, the newest ones."""
LINES = 8
"""Places with a line of their own: those that had the most messages at one of the as_ofs."""
LEVELS = 10
PLACE = ("kind", "instance", "database", "queue")


def read_over_time(warehouse: Warehouse, as_of: datetime) -> dict[str, PageTable]:
    """Read what the table `waits` has of the published as_ofs up to this one.

    Returns:
        `points`: the as_ofs with their numbers; none that an older version published, or whose rows were
        removed. `waited_places`: the places with a line of their own. `waited`: messages by point and place,
        which is null for all other places together. `oldest_waits` by point and level.
    """
    runs = read_published_runs(warehouse, "as_of", "row_counts")
    counts = {run["as_of"]: dict(run["row_counts"]).get(WAITS.name) for run in runs if run["as_of"] <= as_of}
    kept = sorted(each for each, rows in counts.items() if rows is not None)[-POINTS:]
    if not kept:
        return {}
    points = small_frame(warehouse.spark, list(enumerate(kept)), "point int, as_of timestamp")
    waits = (
        warehouse.read(WAITS)
        .where(F.col("as_of_key").between(as_of_key(kept[0]), as_of_key(kept[-1])))
        .withColumns({name: F.coalesce(name, F.lit("")) for name in PLACE})
        .join(F.broadcast(points), "as_of", "inner")
    )
    by_place = waits.groupBy("point", *PLACE).agg(F.sum(F.col("ready") + F.col("held")).alias("messages"))
    most = by_place.groupBy(*PLACE).agg(F.max("messages").alias("most"))
    places = read_table(most, order=[F.desc("most"), *map(F.col, PLACE)], limit=LINES)
    numbered = by_place.join(number_rows(warehouse.spark, places, PLACE), list(PLACE), "left")
    waited = read_table(
        numbered.groupBy("point", "place").agg(F.sum("messages").alias("messages")),
        order=[F.col("point"), F.col("place")],
        limit=POINTS * (LINES + 1),
    )
    oldest = read_table(
        waits.groupBy("point", "level").agg(F.max("oldest_seconds").alias("seconds")),
        order=[F.col("point"), F.col("level")],
        limit=POINTS * LEVELS,
    )
    there = {row[0] for row in waited.rows}
    shown = [(number, each) for number, each in enumerate(kept) if number in there or not counts[each]]
    return {
        "points": PageTable(("point", "as_of"), shown, len(shown)),
        "waited_places": places,
        "waited": waited,
        "oldest_waits": oldest,
    }


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
        One row per as_of with a run that succeeded. The latest of these runs gives `run_id`, `started_at`,
        `finished_at`, `seconds` that it took, `code_version` and the sums (null where a run did not count
        them). `attempts` are all runs of this as_of, `failed` those that did not succeed.
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
