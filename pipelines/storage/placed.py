"""Rows under the names that their databases go by, without those of databases that are left out."""

from pyspark.sql import DataFrame, functions as F

from pipelines.config.snapshots.places import PLACE, Places
from pipelines.engine.frames import small_frame

ALIASED = "own_instance string, own_database string, alias_instance string, alias_database string"
LEFT_OUT = "instance string, database string"


def placed(rows: DataFrame, places: Places) -> DataFrame:
    """The rows, with instance and database as the settings name the database."""
    if not places.aliases:
        return rows
    aliases = [(*own, *other) for own, other in sorted(places.aliases.items())]
    few = small_frame(rows.sparkSession, aliases, ALIASED)
    is_own = [rows[name] == few[f"own_{name}"] for name in PLACE]
    named = {name: F.coalesce(f"alias_{name}", name) for name in PLACE}
    return rows.join(F.broadcast(few), is_own, "left").withColumns(named).select(*rows.columns)


def without_left_out(rows: DataFrame, places: Places) -> DataFrame:
    """The rows of databases that count."""
    return _by_places(rows, places, "left_anti") if places.left_out else rows


def only_left_out(rows: DataFrame, places: Places) -> DataFrame:
    """The rows of databases that are left out; some are."""
    return _by_places(rows, places, "left_semi")


def _by_places(rows: DataFrame, places: Places, how: str) -> DataFrame:
    few = small_frame(rows.sparkSession, sorted(places.left_out), LEFT_OUT)
    return rows.join(F.broadcast(few), [*PLACE], how)
