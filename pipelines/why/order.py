"""What is ahead of each message in its place: messages that count more, its own group's, and others."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window, functions as F

from pipelines.engine.frames import small_frame
from pipelines.storage.collect import collect_rows
from pipelines.why.places import OF_PLACE, PLACE, Place, Row, place_of

Level = tuple[Place, int]
"""A place and a level that orders its messages."""
LEVEL_ORDER = "first bigint, first_unit string, second bigint, top_unit string, first_other bigint"
OF_ORDER = ("first_own", "first", "first_unit", "second", "top_unit", "first_other")
LEVELS = range(1, 11)
FLAGS = ("is_outranked", "is_behind_own", "is_behind_older")


@dataclass(frozen=True)
class LevelOrder:
    """The first positions of a place, as far as they say what is ahead of the messages of one level.

    Attributes:
        first, first_unit: of the level; None if it has no position.
        second: the first of the level that is of another unit.
        top_unit: of the first message of the place.
        first_other: the first of the place that is of another unit than that.
    """

    first: int | None = None
    first_unit: str | None = None
    second: int | None = None
    top_unit: str | None = None
    first_other: int | None = None


def find_order(positions: DataFrame) -> dict[Level, LevelOrder]:
    """The order of each place and level that has a position.

    Args:
        positions: `read_positions` without those in blocks.
    """
    of_level = [*PLACE, "counts_as"]
    position, unit = F.col("position"), F.col("unit")
    firsts = {
        _level_of(row): row
        for row in collect_rows(
            positions.groupBy(*of_level).agg(
                F.min(position).alias("first"), F.min_by(unit, position).alias("first_unit")
            )
        )
    }
    top: dict[Place, Row] = {}
    for (place, _), row in firsts.items():
        top[place] = min(top.get(place, row), row, key=lambda each: each["first"])
    units = [
        (*place, level, row["first_unit"], top[place]["first_unit"]) for (place, level), row in firsts.items()
    ]
    known = small_frame(
        positions.sparkSession, units, f"{OF_PLACE}, counts_as int, first_unit string, top_unit string"
    )
    seconds = positions.join(F.broadcast(known), of_level, "inner")
    found = {
        _level_of(row): row
        for row in collect_rows(
            seconds.groupBy(*of_level).agg(
                F.min(F.when(unit != F.col("first_unit"), position)).alias("second"),
                F.min(F.when(unit != F.col("top_unit"), position)).alias("other"),
            )
        )
    }
    others: dict[Place, int] = {}
    for (place, _), row in found.items():
        if row["other"] is not None:
            others[place] = min(others.get(place, row["other"]), row["other"])
    return {
        (place, level): LevelOrder(
            row["first"],
            row["first_unit"],
            found[place, level]["second"],
            top[place]["first_unit"],
            others.get(place),
        )
        for (place, level), row in firsts.items()
    }


def with_own_first(rows: DataFrame, positions: DataFrame) -> DataFrame:
    """Add `first_own`, the first position of the unit in the place; null if it has one position or none.

    Args:
        rows: `placed_rows`.
        positions: `read_positions` of the same as_of.
    """
    of_unit = [*PLACE, "unit"]
    own = positions.groupBy(*of_unit).agg(
        F.min("position").alias("first_own"), F.max("position").alias("last_own")
    )
    several = own.where("first_own < last_own").drop("last_own")
    # The embedded engine holds the left side, which is the smaller one.
    return several.join(rows, of_unit, "right").select(*rows.columns, "first_own")


def with_order(rows: DataFrame, *, has_blocks: bool) -> DataFrame:
    """Add what is ahead of each message.

    Without blocks what counts more is ahead, so the positions of a level follow each other. Other units are
    ahead of a message at its level if the first message of the level is of another unit, or the first one
    that is not of that unit is ahead of the message. It is the same with the place's first message for those
    that count more. Blocks may put a lower level first; then the messages ahead are counted one by one.

    Args:
        rows: `placed_rows` with `first_own` and the columns of `LevelOrder`.
        has_blocks: whether a message is in a block.

    Returns:
        The rows with `is_outranked` (messages of other units are ahead that count more), `is_behind_own`
        (messages of its own unit are ahead) and `is_behind_older` (messages of other units are ahead that do
        not count more) in place of these columns; false for a message without position.
    """
    if not has_blocks:
        return _by_levels(rows)
    is_in_block = F.col("block").isNotNull() & F.col("position").isNotNull()
    placed, others = rows.where(is_in_block).drop(*OF_ORDER), rows.where(~is_in_block)
    return _by_levels(others).unionByName(_one_by_one(placed))


def without_order(rows: DataFrame) -> DataFrame:
    """The rows with all columns of `with_order` false; for callers that skip the order."""
    return rows.withColumns({name: F.lit(False) for name in FLAGS})


def _by_levels(rows: DataFrame) -> DataFrame:
    position, unit = F.col("position"), F.col("unit")
    is_ahead_above = (unit != F.col("top_unit")) | (F.col("first_other") < F.col("first"))
    flags = {
        "is_outranked": (F.col("first") > 1) & is_ahead_above,
        "is_behind_own": F.col("first_own") < position,
        "is_behind_older": (unit != F.col("first_unit")) | (F.col("second") < position),
    }
    holds = [
        F.coalesce(position.isNotNull() & flag, F.lit(False)).alias(name) for name, flag in flags.items()
    ]
    return rows.select(*[name for name in rows.columns if name not in OF_ORDER], *holds)


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


def _level_of(row: Row) -> Level:
    return place_of(row), row["counts_as"]
