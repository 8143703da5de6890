"""Writes to Delta tables: constraints, types of maps, and names of new tables."""

import os
from collections.abc import Mapping
from hashlib import blake2b

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import Column, DataFrame, SparkSession, functions as F
from pyspark.sql.types import MapType

from pipelines.engine.files import delta_identifier
from pipelines.engine.session import is_embedded

OF_TYPE = {
    "string": "''",
    "int": "0",
    "bigint": "0",
    "double": "0",
    "timestamp": "'1970-01-01 00:00:00'",
    "date": "'1970-01-01'",
    "boolean": "0",
}
"""A value of each type as SQL, which no row ever gets."""
TO_THE_MICROSECOND = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""Options of JSON; by default a time has milliseconds."""
TESTED_AS = {"boolean": "int"}
"""A condition is made simpler by the engine's planner until it refuses every row."""


def require_not_null(rows: DataFrame, required: Mapping[str, str]) -> DataFrame:
    """The rows, refused where one of these columns is null, so that a plan knows that they never are.

    The embedded engine tests a table's NOT NULLs and CHECKs one inside the other, and takes twice as long to
    plan for each two of them, up to seconds for a table of twenty. It leaves out what the plan says already.

    Args:
        rows: what is written to a table.
        required: the types of the columns that are NOT NULL there; types other than those of `OF_TYPE` are
            left to the table.
    """
    tested = {name: _tested(name, type) for name, type in required.items() if type in OF_TYPE}
    # Spark Connect refuses to change no column.
    return rows.withColumns(tested) if tested and is_embedded(rows.sparkSession) else rows


def _tested(name: str, type: str) -> Column:
    asked = TESTED_AS.get(type, type)
    refusal = f"[DELTA_NOT_NULL_CONSTRAINT_VIOLATED] NOT NULL constraint violated for column: {name}"
    values = (f"`{name}`", f"raise_error('{refusal}')", OF_TYPE[type])
    # As a text: a night has hundreds, and each part of a column costs the client some microseconds.
    found = ", ".join(f"cast({value} as {asked})" for value in values)
    return F.expr(f"cast(coalesce({found}) as {type})")


def check_constraints_last(rows: DataFrame) -> DataFrame:
    """The rows, so that a table's CHECKs are tested on these and no others.

    The embedded engine tests them as early as it can, also on rows that an anti join leaves out later, and
    then refuses the write. It does not move the test past a repartition. A coalesce would do as
    well, but takes up its inputs one after the other, where a hash join waits for all of them: for ever.
    """
    return rows.repartition(os.cpu_count() or 1) if is_embedded(rows.sparkSession) else rows


def with_nullable_values(rows: DataFrame) -> DataFrame:
    """The rows with maps whose values may be null, as tables declare them.

    Apache Spark writes files that say otherwise if a plan knows better, which the embedded engine does not
    read. It simplifies casts away, so the maps go by way of JSON; maps are in small tables only.
    """
    if is_embedded(rows.sparkSession):
        return rows
    maps = {field.name: field.dataType for field in rows.schema if isinstance(field.dataType, MapType)}
    text = {
        name: F.from_json(F.to_json(name, TO_THE_MICROSECOND), found.simpleString(), TO_THE_MICROSECOND)
        for name, found in maps.items()
    }
    return rows.withColumns(text) if maps else rows


def identifier_of_new(spark: SparkSession, path: str) -> str:
    """How CREATE TABLE names a Delta table at a path.

    Apache Spark knows a table by its path. The embedded engine wants a name, which it forgets with the
    session; the path follows as LOCATION.
    """
    if is_embedded(spark):
        return f"t{blake2b(path.encode(), digest_size=16).hexdigest()}"
    return delta_identifier(path)


def table_properties(spark: SparkSession, path: str) -> dict[str, str]:
    """The properties of the table at a path; none if it cannot be read."""
    properties: dict[str, str]
    try:
        properties = DeltaTable(path).metadata().configuration
    except (DeltaError, OSError):
        # delta-rs may have no credentials for a path that Apache Spark can reach.
        if is_embedded(spark):
            return {}
        [detail] = spark.sql(f"DESCRIBE DETAIL {delta_identifier(path)}").select("properties").collect()
        properties = detail.properties
    return properties


def set_table_property(spark: SparkSession, path: str, name: str, value: str) -> None:
    """Set a property of the table at a path, in a commit of its own."""
    try:
        DeltaTable(path).alter.set_table_properties({name: value}, raise_if_not_exists=False)
    except (DeltaError, OSError):
        if is_embedded(spark):
            raise
        spark.sql(f"ALTER TABLE {delta_identifier(path)} SET TBLPROPERTIES ('{name}' = '{value}')")
