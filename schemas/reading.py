"""Which rows of the ledger the state at a moment needs: the one rule of reading."""

from datetime import UTC, date, datetime

from schemas.table import Table


def open_at(as_of: datetime) -> str:
    """The rows of an event table, or of `endpoints`, that may matter at as_of or later, as SQL.

    A row is closed on the UTC day after which no as_of needs it; times decide the rest.
    """
    return open_since(as_of.astimezone(UTC).date())


def open_since(day: date) -> str:
    """The rows that are open, or were closed on the day or later, as SQL."""
    return f"closed_on IS NULL OR closed_on >= DATE'{day}'"


DAYS = ("closed_on", "sent_on")
"""The partition columns with a day before which rows may be pruned: it closed them, or they were sent."""


def day_column(table: Table) -> str | None:
    """The column with the day by which rows of a table are pruned; None if they are not."""
    return next((name for name in table.partition_by if name in DAYS), None)


def before_day(table: Table, day: date) -> str:
    """The rows of a table that has days, of those before the day, as SQL."""
    return f"{day_column(table)} < DATE'{day}'"


def as_of_key(as_of: datetime) -> str:
    """The instant as the text that tables with as_of are partitioned by: nothing that a path escapes."""
    return as_of.astimezone(UTC).strftime("%Y%m%dT%H%M%S%fZ")


def as_of_of_key(key: str) -> datetime:
    """The instant of an `as_of_key`."""
    return datetime.strptime(key, "%Y%m%dT%H%M%S%fZ").replace(tzinfo=UTC)


def of_as_of(table: Table, as_of: datetime) -> str:
    """The rows of one as_of, as SQL over the partition."""
    if table.partition_by != ("as_of_key",):
        raise ValueError(f"table {table.name} has no as_of")
    return f"as_of_key = '{as_of_key(as_of)}'"
