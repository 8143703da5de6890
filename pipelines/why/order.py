"""What is ahead of each message in its place: messages that count more, its own group's, and others."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.why.places import PLACE

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

    Without blocks no message is ahead of one that counts more, so positions say how many are ahead. Blocks
    may put a lower level first; then the messages ahead are counted one by one.
    """
    has_place, is_in_block = F.col("position").isNotNull(), F.col("block").isNotNull()
    placed = _by_levels(rows.where(has_place & ~is_in_block))
    # Few nights have blocks, and the plan of their order takes long.
    if not rows.where(is_in_block).isEmpty():
        placed = placed.unionByName(_one_by_one(rows.where(has_place & is_in_block)))
    return placed.unionByName(without_order(rows.where(~has_place)))


def without_order(rows: DataFrame) -> DataFrame:
    """The rows with all columns of `with_order` false; for callers that skip the order."""
    return rows.withColumns({name: F.lit(False) for name in FLAGS})


def _by_levels(rows: DataFrame) -> DataFrame:
    """The order without blocks: what counts more is ahead, so the positions of a level follow each other."""
    first = rows.groupBy(*PLACE, "counts_as").agg(F.min("position").alias("first"))
    # One order serves both: in a unit, what counts more is ahead.
    by_level = Window.partitionBy(*PLACE, "unit").orderBy(F.desc("counts_as"))
    own, own_higher = (
        F.row_number().over(by_level.orderBy(F.desc("counts_as"), "position")),
        F.rank().over(by_level),
    )
    narrow = rows.select(*PLACE, "unit", "counts_as", "position")
    counted = narrow.select(
        *PLACE, "position", "counts_as", (own - 1).alias("own"), (own_higher - 1).alias("own_higher")
    )
    higher, same = F.col("first") - 1, F.col("position") - F.col("first")
    flags = (
        F.broadcast(first)
        .join(counted, [*PLACE, "counts_as"])
        .select(
            *PLACE,
            "position",
            (higher > F.col("own_higher")).alias("is_outranked"),
            (F.col("own") > 0).alias("is_behind_own"),
            (same > F.col("own") - F.col("own_higher")).alias("is_behind_older"),
        )
    )
    return flags.join(rows, [*PLACE, "position"]).select(*rows.columns, *FLAGS)


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
