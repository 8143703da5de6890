"""Tables of the page: a bounded number of rows, read from frames, as plain values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, functions as F

from pipelines.blocks.tables import Row
from pipelines.config.instants import format_instant, parse_instant
from pipelines.console.wording import format_number
from pipelines.engine.frames import small_frame
from pipelines.storage.collect import collect_rows

LONGEST = 400
"""Characters of a text on the page; an engine's names have 128 at most, a log's may have more."""


@dataclass(frozen=True)
class PageTable:
    """The rows of one table of the page.

    Attributes:
        columns: their names.
        rows: values in the order of the columns.
        total: how many rows there are; more than `rows` where the rest is left out.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int


class PageData:
    """The tables of a page by name, with plain values; a table that was not read is empty."""

    def __init__(self, as_of: datetime, tables: Mapping[str, PageTable]) -> None:
        """Make the values of the tables plain."""
        self.as_of = format_instant(as_of)
        self.moment = as_of
        self.tables = {
            name: PageTable(
                list(table.columns), [list(map(plain_value, row)) for row in table.rows], table.total
            )
            for name, table in tables.items()
        }

    def __contains__(self, name: str) -> bool:
        """Whether a table was read."""
        return name in self.tables

    def rows(self, name: str) -> list[Row]:
        """Return the rows of a table by column; `index` counts them from 0."""
        table = self.tables.get(name, PageTable((), [], 0))
        return [
            {"index": index, **dict(zip(table.columns, row, strict=True))}
            for index, row in enumerate(table.rows)
        ]

    def rows_by_place(self, name: str) -> dict[int, list[Row]]:
        """Return the rows of a table by `place`: the index of the queue or instance that they belong to."""
        by_place: dict[int, list[Row]] = {}
        for row in self.rows(name):
            by_place.setdefault(row["place"], []).append(row)
        return by_place

    def total(self, name: str) -> int:
        """Return how many rows a table has, also those that are left out."""
        return self.tables[name].total if name in self.tables else 0

    def note_left_out(self, name: str, what: str) -> str:
        """Return a sentence about the rows that a table leaves out; empty if it has all."""
        shown = len(self.rows(name))
        total = self.total(name)
        return (
            f"Shown are the {format_number(shown)} {what}, of {format_number(total)}."
            if total > shown
            else ""
        )

    def seconds_since(self, moment: str) -> float:
        """Return the seconds from a moment to as_of, to the millisecond."""
        return round((self.moment - parse_instant(moment)).total_seconds(), 3)


def plain_value(value: Any) -> Any:
    """Return a value as JSON has it: times as text, texts of at most LONGEST characters."""
    if isinstance(value, datetime):
        return format_instant(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str) and len(value) > LONGEST:
        return value[:LONGEST] + "…"
    if isinstance(value, list):
        return list(map(plain_value, value))
    if isinstance(value, dict):
        return {key: plain_value(each) for key, each in value.items()}
    return value


def read_table(rows: DataFrame, *, order: Sequence[Column], limit: int) -> PageTable:
    """Read the first rows in an order; all are counted only where there are more than these."""
    found = collect_rows(rows.orderBy(*order).limit(limit))
    total = len(found) if len(found) < limit else rows.count()
    return PageTable(rows.columns, [list(row.values()) for row in found], total)


def read_sums(rows: DataFrame, names: Sequence[str]) -> PageTable:
    """Read one row: the sums of these columns over all rows, 0 if there are none."""
    [found] = collect_rows(rows.agg(*(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names)))
    return PageTable(names, [list(found.values())], 1)


def number_rows(spark: SparkSession, table: PageTable, key: Sequence[str]) -> DataFrame:
    """Make a small frame of a table to join with: `place`, from 0, and the key, its first columns."""
    rows = [(number, *row[: len(key)]) for number, row in enumerate(table.rows)]
    columns = ", ".join(("place int", *(f"{name} string" for name in key)))
    return F.broadcast(small_frame(spark, rows, columns))
