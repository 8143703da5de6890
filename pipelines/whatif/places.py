"""Queues and instances that are not in the order that levels and settings ask for: these are ordered anew."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, functions as F

from pipelines.storage.collect import collect_rows
from pipelines.whatif.published import SIDES


def places_anew(rows: DataFrame, within: Sequence[str], everywhere: Mapping[str, bool]) -> DataFrame:
    """The places that are to be ordered anew.

    Args:
        rows: messages with `level`, `level_before` and `level_after`.
        within: the columns of a place.
        everywhere: for each of `SIDES`, whether a setting orders all places otherwise than the levels.

    Returns:
        One row per place with any: its columns and for each of `SIDES` whether it is to be ordered anew.
    """
    differs = {
        side: F.lit(True) if everywhere[side] else F.col(f"level_{side}") != F.col("level") for side in SIDES
    }
    return (
        rows.groupBy(*within)
        .agg(*[F.bool_or(differs[side]).alias(side) for side in SIDES])
        .where(" or ".join(SIDES))
    )


def sides_anew(places: DataFrame) -> list[str]:
    """The `SIDES` for which any place is to be ordered anew."""
    found = collect_rows(places.agg(*[F.bool_or(side).alias(side) for side in SIDES]))
    return [side for side in SIDES if found[0][side]]


def rows_of(rows: DataFrame, places: DataFrame, side: str) -> DataFrame:
    """The messages of the places that are to be ordered anew for a side.

    Args:
        rows: messages.
        places: `places_anew` of them, kept.
        side: one of `SIDES`.
    """
    names = [name for name in places.columns if name not in SIDES]
    return rows.join(F.broadcast(places.where(side).select(*names)), names, "left_semi")
