"""What is known of places and of their levels, which many messages share."""

from collections.abc import Collection, Mapping
from dataclasses import astuple

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.frames import small_frame
from pipelines.state.endpoints import SIDE
from pipelines.state.events_before import ever
from pipelines.storage.collect import collect_rows
from pipelines.why.holders import is_raised
from pipelines.why.monitors import SHOWN, QueueName, ShownMonitor, monitor_values
from pipelines.why.order import LEVEL_ORDER, Level, LevelOrder
from pipelines.why.places import OF_PLACE, PLACE, Row, place_of
from pipelines.why.read import PublishedTables
from pipelines.why.receives import RECEIVES, Receives


def find_levels(tables: PublishedTables) -> list[Row]:
    """One row per place and level that orders: PLACE, `counts_as`, `is_ready` and `has_raised`.

    `is_ready` is whether a message is; `has_raised`, whether an endpoint that holds one has a higher level
    than the default by a rule.
    """
    raised = tables.endpoints().where(is_raised()).select(*SIDE, F.lit(True).alias("is_raised"))
    rows = tables.schedules(*SIDE, "counts_as", "state").join(raised, SIDE, "left")
    is_ready = ever(F.col("state") == "ready").alias("is_ready")
    has_raised = ever(F.col("is_raised") & (F.col("state") != "forwarded")).alias("has_raised")
    return collect_rows(rows.groupBy(*PLACE, "counts_as").agg(is_ready, has_raised))


def levels_frame(
    spark: SparkSession,
    levels: Collection[Row],
    order: Mapping[Level, LevelOrder],
    receives: Mapping[QueueName, Receives],
    monitors: Mapping[QueueName, ShownMonitor],
) -> DataFrame:
    """What is known of places and levels: one row each, as joins with all messages are what costs time.

    Returns:
        PLACE and `counts_as`; `has_raised`, whether an endpoint of the place has a higher level than the
        default by a rule; the columns of `LevelOrder`, RECEIVES and SHOWN, null where nothing is known.
    """
    raised = {place_of(row) for row in levels if row["has_raised"]}
    unknown = (None,) * len(RECEIVES.split(","))
    rows = []
    for row in levels:
        place = place_of(row)
        # Of a place that is no queue the names are empty.
        queue = place[1:]
        in_order = astuple(order.get((place, row["counts_as"]), LevelOrder()))
        rows.append(
            (
                *place,
                row["counts_as"],
                place in raised,
                *in_order,
                *receives.get(queue, unknown),
                *monitor_values(monitors.get(queue)),
            )
        )
    columns = f"{OF_PLACE}, counts_as int, has_raised boolean, {LEVEL_ORDER}, {RECEIVES}, {SHOWN}"
    return small_frame(spark, rows, columns)
