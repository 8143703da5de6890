"""What is ahead of each message in its place: messages that count more, its own group's, and others."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.why.codes import PLACE

LEVELS = range(1, 11)
FLAGS = ("is_outranked", "is_behind_own", "is_behind_older")


def with_order(rows: DataFrame) -> DataFrame:
    """Add what is ahead of each message.

    Args:
        rows: `open_rows`, materialized: they are read several times.

    Returns:
        The rows with `is_outranked` (messages of other units are ahead that count more), `is_behind_own`
        (messages of its own unit are ahead) and `is_behind_older` (messages of other units are ahead that do
        not count more); false for a message without position.

    Without blocks no message is ahead of one that counts more, so counts by unit and level say it all. Blocks
    may put a lower level first; then the messages ahead are counted one by one.
    """
    has_place = F.col("position").isNotNull()
    plain = _by_levels(rows.where(has_place & F.col("block").isNull()))
    in_blocks = _one_by_one(rows.where(has_place & F.col("block").isNotNull()))
    held = rows.where(~has_place).withColumns({name: F.lit(False) for name in FLAGS})
    return plain.unionByName(in_blocks).unionByName(held)


def _by_levels(rows: DataFrame) -> DataFrame:
    unit = [*PLACE, "unit"]
    units = rows.groupBy(*unit, "counts_as").agg(
        F.count(F.lit(1)).alias("messages"), F.min("position").alias("first")
    )
    higher_levels = Window.orderBy(F.desc("counts_as")).rowsBetween(Window.unboundedPreceding, -1)
    of_place = higher_levels.partitionBy(*PLACE)
    levels = (
        units.groupBy(*PLACE, "counts_as")
        .agg(F.sum("messages").alias("messages"), F.min("first").alias("least"))
        .select(*PLACE, "counts_as", "least", F.sum("messages").over(of_place).alias("higher"))
    )
    known = F.broadcast(levels).join(units, [*PLACE, "counts_as"])
    # The first message of a level that is not of the level's first unit.
    second = known.groupBy(*PLACE, "counts_as").agg(
        F.min(F.when(F.col("first") > F.col("least"), F.col("first"))).alias("second")
    )
    of_unit = higher_levels.partitionBy(*unit)
    known = (
        F.broadcast(second)
        .join(known, [*PLACE, "counts_as"])
        .select(
            *unit,
            "counts_as",
            F.min("first").over(Window.partitionBy(*unit)).alias("own_first"),
            (F.coalesce("higher", F.lit(0)) > F.coalesce(F.sum("messages").over(of_unit), F.lit(0))).alias(
                "is_outranked"
            ),
            F.when(F.col("first") == F.col("least"), F.col("second"))
            .otherwise(F.col("least"))
            .alias("other_first"),
        )
    )
    return (
        rows.join(known, [*unit, "counts_as"])
        .withColumns(
            {
                "is_behind_own": F.col("own_first") < F.col("position"),
                "is_behind_older": F.coalesce(F.col("other_first") < F.col("position"), F.lit(False)),
            }
        )
        .select(*rows.columns, *FLAGS)
    )


def _one_by_one(rows: DataFrame) -> DataFrame:
    ahead = Window.orderBy("position").rowsBetween(Window.unboundedPreceding, -1)
    of_place, of_unit = ahead.partitionBy(*PLACE), ahead.partitionBy(*PLACE, "unit")
    counted = rows.withColumns(
        {
            "own": F.count(F.lit(1)).over(of_unit),
            **{
                f"others_{level}": F.coalesce(
                    F.count(F.when(F.col("counts_as") == level, 1)).over(of_place), F.lit(0)
                )
                - F.coalesce(F.count(F.when(F.col("counts_as") == level, 1)).over(of_unit), F.lit(0))
                for level in LEVELS
            },
        }
    )
    higher = F.lit(0)
    for level in LEVELS:
        higher += F.when(F.col("counts_as") < level, F.col(f"others_{level}")).otherwise(0)
    return counted.withColumns(
        {
            "is_outranked": higher > 0,
            "is_behind_own": F.col("own") > 0,
            "is_behind_older": F.col("position") - 1 - F.col("own") - higher > 0,
        }
    ).select(*rows.columns, *FLAGS)
