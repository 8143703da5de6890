"""Whether the ids of a warehouse have their one spelling: older versions stored each id as it was written."""

from functools import reduce
from operator import or_

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.config.errors import ConfigError
from pipelines.console.invocation import command_line
from pipelines.engine.table_writes import set_table_property, table_properties
from pipelines.storage.collect import collect_rows
from schemas.ids import IDS, canonical_id, canonical_text

PROPERTY, VALUE = "priorities.ids", "canonical"
"""The property of the table `batches` that says so."""


def is_marked(spark: SparkSession, path: str) -> bool:
    """Whether the table at a path has the property."""
    return table_properties(spark, path).get(PROPERTY) == VALUE


def mark(spark: SparkSession, path: str) -> None:
    """Give the table at a path the property, in a commit of its own."""
    set_table_property(spark, path, PROPERTY, VALUE)


def other_ids(root: str, table: str, id: str) -> ConfigError:
    """What is said of a warehouse with an id that has another spelling."""
    return ConfigError(
        f"warehouse: {root} was written by an older version, to which {id!r} in {table} was another id than "
        f"{canonical_text(id)!r}; move the folder away (or name another one) and run "
        f"{command_line('nightly', '--as-of', 'latest')} again: it writes all tables from the event "
        "files (docs/operations.md, Old warehouses)"
    )


def other_spelling(rows: DataFrame) -> str | None:
    """An id of these rows that has another spelling; None if there is none. Reads the columns of ids only."""
    names = [name for name in rows.columns if name in IDS]
    others = [F.when(F.col(name) != canonical_id(F.col(name)), F.col(name)) for name in names]
    found = rows.where(reduce(or_, [F.coalesce(each.isNotNull(), F.lit(False)) for each in others]))
    ids = collect_rows(found.select(F.coalesce(*others).alias("id")).limit(1))
    return ids[0]["id"] if ids else None
