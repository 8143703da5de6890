"""Rows of the tables of accepted events: all their columns, by what the tables and the views declare."""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.server.snapshots.declaration import ViewColumn
from pipelines.server.snapshots.places import OWN, PLACE
from pipelines.server.snapshots.views import VIEWS, columns_in_files
from pipelines.storage.snapshots.views import TYPES
from schemas.events import ACCEPTED, accepted_columns
from schemas.table import Table


def event_rows(rows: DataFrame, table: Table, *same: str, **values: Column) -> DataFrame:
    """Rows of a table of accepted events, without batch.

    Args:
        rows: one row an event.
        table: the table.
        same: its columns that `rows` has under the same names.
        values: its other columns that have values; all that are not named are null.
    """
    given = {name: F.col(name) for name in same} | values
    nothing = {column.name: F.lit(None).cast(column.type) for column in accepted_columns(table.name)}
    assert given.keys() <= nothing.keys()
    return rows.select(*[value.alias(name) for name, value in (nothing | given).items()])


def view_event_rows(rows: DataFrame, view: str, **values: Column) -> DataFrame:
    """Rows of the table of a view's events, without batch.

    Args:
        rows: rows of views with `instance`, `database` and `taken_at`.
        view: what they are declared as. Columns that an event has, too, go into it.
        values: the columns that the declaration does not give; all others are null.
    """
    table = ACCEPTED[VIEWS[view].events]
    columns = {column.event or column.name: column for column in columns_in_files(view)}
    shown = {
        each.name: _typed(columns[each.name], each.type)
        for each in accepted_columns(table.name)
        if each.name in columns
    }
    return event_rows(rows, table, **{**seen_in(), **shown, **values})


def _typed(column: ViewColumn, type: str) -> Column:
    """The values of a view's column, with the type that events have."""
    value = F.col(column.name)
    return value if TYPES[column.kind] == type else value.cast(type)


def seen_in() -> dict[str, Column]:
    """Where a row of a view happened, and that a snapshot shows it."""
    return {name: F.col(name) for name in (*PLACE, *OWN)} | {"seen_at": F.col("taken_at")}
