"""Drawings that leave the types to a declaration, and the columns that do not matter to a value or null."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from schemas.table import Table
from tests.support.frames import assert_same, frame

Types = Table | str
"""A declared table, or columns as DDL without commas in a type."""


class Draw:
    """Draws frames: `draw('''...''')`, or of declared columns `draw.rows(RULES, instance="SQL1")('''...''')`.

    A column of a drawing can always bring its own type, and has to where the declaration lacks it.
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def __call__(self, drawing: str, types: Types = "") -> DataFrame:
        """A frame of the drawn columns; those without a declared type are strings."""
        known = _types(types)
        header, *lines = [line for line in drawing.splitlines() if line.strip()]
        names = [cell.strip() for cell in header.split("|")]
        typed = " | ".join(name if " " in name else f"{name} {known.get(name, 'string')}" for name in names)
        return frame(self.session, "\n".join([typed, *lines]))

    def columns(self, types: Types) -> Callable[[str], DataFrame]:
        """Draw some columns of a declaration."""
        return lambda drawing: self(drawing, types)

    def rows(self, types: Types, **others: Any) -> Callable[[str], DataFrame]:
        """Draw some columns of a declaration; all others are there, and have these values, else null."""

        def draw(drawing: str) -> DataFrame:
            rows = self(drawing, types)
            missing = {name: type for name, type in _types(types).items() if name not in rows.columns}
            nulls = {name: F.lit(others.get(name)).cast(type) for name, type in missing.items()}
            return rows.withColumns(nulls) if nulls else rows

        return draw

    def lines(self, drawing: str) -> DataFrame:
        """A wide frame, with a line for each column: its name and type, then its value in each row."""
        columns = [line.strip().split("|") for line in drawing.splitlines() if line.strip()]
        return self("\n".join("|".join(row) for row in zip(*columns, strict=True)))

    def require(self, found: DataFrame, types: Types = "") -> Callable[[str], None]:
        """Require that a frame has the drawn rows; of its columns the drawn ones count."""

        def require(drawing: str) -> None:
            expected = self(drawing, types)
            assert_same(found.select(*expected.columns), expected)

        return require

    def keep(self, rows: DataFrame) -> DataFrame:
        """The rows computed once, as jobs materialize them: later plans start there."""
        return self.session.createDataFrame(rows.collect(), rows.schema)


@pytest.fixture
def draw(session: SparkSession) -> Draw:
    return Draw(session)


def in_micros(rows: DataFrame, *names: str) -> DataFrame:
    """The rows with these moments as microseconds since the epoch."""
    return rows.withColumns({name: F.unix_micros(name) for name in names})


def in_time(rows: DataFrame, *names: str) -> DataFrame:
    """The rows with these microseconds as moments."""
    return rows.withColumns({name: F.timestamp_micros(name) for name in names})


def _types(types: Types) -> dict[str, str]:
    if isinstance(types, Table):
        return {column.name: column.type for column in types.columns}
    pairs = (column.partition(" ") for column in types.split(", "))
    return {name: type for name, _, type in pairs if name}
