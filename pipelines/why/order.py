"""What is ahead of each message in its place: messages that count more, its own group's, and others."""

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.why.places import PLACE

LEVELS = range(1, 11)
FLAGS = ("is_outranked", "is_behind_own", "is_behind_older")


def with_order(rows: DataFrame, positions: DataFrame) -> DataFrame:
    """Add what is ahead of each message.

    Args:
        rows: `open_rows`.
        positions: `read_positions` of the same as_of; they are read several times.

    Returns:
        The rows with `is_outranked` (messages of other units are ahead that count more), `is_behind_own`
        (messages of its own unit are ahead) and `is_behind_older` (messages of other units are ahead that do
        not count more); false for a message without position.

    Without blocks no message is ahead of one that counts more, so the first positions of levels and units say
    what is ahead. Blocks may put a lower level first; then the messages ahead are counted one by one.
    """
    is_in_block = F.col("block").isNotNull()
    # Few nights have blocks, and the plan of their order takes long.
    if positions.where(is_in_block).isEmpty():
        return _by_levels(rows, positions)
    placed = rows.where(is_in_block & F.col("position").isNotNull())
    others = rows.where(~is_in_block | F.col("position").isNull())
    return _by_levels(others, positions.where(~is_in_block)).unionByName(_one_by_one(placed))


def without_order(rows: DataFrame) -> DataFrame:
    """The rows with all columns of `with_order` false; for callers that skip the order."""
    return rows.withColumns({name: F.lit(False) for name in FLAGS})


def _by_levels(rows: DataFrame, positions: DataFrame) -> DataFrame:
    """The order without blocks: what counts more is ahead, so the positions of a level follow each other.

    Other units are ahead of a message at its level if the first message of the level is of another unit, or
    the first one that is not of that unit is ahead of the message. It is the same with the place's first
    message for those that count more.
    """
    of_level, of_unit = [*PLACE, "counts_as"], [*PLACE, "unit"]
    position, unit = F.col("position"), F.col("unit")
    levels = positions.groupBy(*of_level).agg(
        F.min(position).alias("first"), F.min_by(unit, position).alias("first_unit")
    )
    top = levels.groupBy(*PLACE).agg(F.min_by("first_unit", "first").alias("top_unit"))
    firsts = levels.join(top, list(PLACE), "inner")
    seconds = (
        F.broadcast(firsts)
        .join(positions, of_level, "inner")
        .groupBy(*firsts.columns)
        .agg(
            F.min(F.when(unit != F.col("first_unit"), position)).alias("second"),
            F.min(F.when(unit != F.col("top_unit"), position)).alias("other"),
        )
    )
    others = seconds.groupBy(*PLACE).agg(F.min("other").alias("first_other"))
    known = seconds.drop("other").join(others, list(PLACE), "inner")
    own = positions.groupBy(*of_unit).agg(
        F.min(position).alias("first_own"), F.max(position).alias("last_own")
    )
    several = own.where("first_own < last_own").drop("last_own")
    is_ahead_above = (unit != F.col("top_unit")) | (F.col("first_other") < F.col("first"))
    flags = {
        "is_outranked": (F.col("first") > 1) & is_ahead_above,
        "is_behind_own": F.col("first_own") < position,
        "is_behind_older": (unit != F.col("first_unit")) | (F.col("second") < position),
    }
    holds = [
        F.coalesce(position.isNotNull() & flag, F.lit(False)).alias(name) for name, flag in flags.items()
    ]
    with_levels = F.broadcast(known).join(rows, of_level, "right")
    return several.join(with_levels, of_unit, "right").select(*rows.columns, *holds)


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
