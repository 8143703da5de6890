"""Rows under the names that their databases go by, without those of databases that are left out."""

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.frames import small_frame
from pipelines.server.snapshots.places import OWN, PLACE, Places

ALIASED = "before_instance string, before_database string, alias_instance string, alias_database string"
LEFT_OUT = "instance string, database string"


def placed(rows: DataFrame, places: Places, *, has_own: bool) -> DataFrame:
    """The rows, with instance and database as the settings name the database.

    Args:
        rows: any rows with instance and database.
        places: what the settings name.
        has_own: whether the rows have `own_instance` and `own_database`. They say what an alias replaced, and
            such rows follow a changed alias.
    """
    own = {name: F.coalesce(f"own_{name}", name) if has_own else F.col(name) for name in PLACE}
    if not places.aliases:
        nothing = dict.fromkeys(OWN, F.lit(None).cast("string"))
        return rows.withColumns({**own, **nothing}) if has_own else rows
    aliases = [(*before, *alias) for before, alias in sorted(places.aliases.items())]
    few = small_frame(rows.sparkSession, aliases, ALIASED)
    named = rows.withColumns({f"was_{name}": value for name, value in own.items()})
    is_own = [named[f"was_{name}"] == few[f"before_{name}"] for name in PLACE]
    known = named.join(F.broadcast(few), is_own, "left")
    is_aliased = F.col("alias_instance").isNotNull()
    values = {name: F.coalesce(f"alias_{name}", f"was_{name}") for name in PLACE}
    if has_own:
        values |= {f"own_{name}": F.when(is_aliased, F.col(f"was_{name}")) for name in PLACE}
    return known.withColumns(values).select(*rows.columns)


def placed_events(rows: DataFrame, places: Places) -> DataFrame:
    """`placed` rows of an input; where there are aliases, they say what these replaced."""
    missing = [name for name in OWN if name not in rows.columns]
    if missing and not places.aliases:
        return rows
    lacking = dict.fromkeys(missing, F.lit(None).cast("string"))
    return placed(rows.withColumns(lacking) if missing else rows, places, has_own=True)


def without_left_out(rows: DataFrame, places: Places) -> DataFrame:
    """The rows of databases that count."""
    return _by_places(rows, places, "left_anti") if places.left_out else rows


def only_left_out(rows: DataFrame, places: Places) -> DataFrame:
    """The rows of databases that are left out; some are."""
    return _by_places(rows, places, "left_semi")


def _by_places(rows: DataFrame, places: Places, how: str) -> DataFrame:
    few = small_frame(rows.sparkSession, sorted(places.left_out), LEFT_OUT)
    return rows.join(F.broadcast(few), [*PLACE], how)
