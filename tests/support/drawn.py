"""Drawings that leave the types to a declaration, and the columns that do not matter to a value or null."""

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as F

from schemas.table import Table
from tests.support.frames import frame

Types = Table | str
"""A declared table, or columns as DDL without commas in a type."""


class Draw:
    """Draws frames: `draw('''...''')`, or of declared columns `draw.rows(RULES, instance="SQL1")('''...''')`.

    A column of a drawing can always bring its own type.
    """

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def __call__(self, drawing: str) -> DataFrame:
        """A frame of the drawn columns."""
        return frame(self.session, drawing)

    def lines(self, drawing: str) -> DataFrame:
        """A wide frame, with a line for each column: its name and type, then its value in each row."""
        columns = [line.strip().split("|") for line in drawing.splitlines() if line.strip()]
        return self("\n".join("|".join(row) for row in zip(*columns, strict=True)))

    def columns(self, types: Types) -> Callable[[str], DataFrame]:
        """Draw some columns of a declaration."""
        return lambda drawing: self(_typed(drawing, _types(types)))

    def rows(self, types: Types, **others: Any) -> Callable[[str], DataFrame]:
        """Draw some columns of a declaration; all others are there, and have these values, else null."""
        known = _types(types)

        def draw(drawing: str) -> DataFrame:
            rows = self(_typed(drawing, known))
            missing = {name: type for name, type in known.items() if name not in rows.columns}
            return rows.withColumns(
                {name: F.lit(others.get(name)).cast(type) for name, type in missing.items()}
            )

        return draw

    def keep(self, rows: DataFrame) -> DataFrame:
        """The rows computed once, as jobs materialize them: later plans start there."""
        return self.session.createDataFrame(rows.collect(), rows.schema)


@pytest.fixture
def draw(session: SparkSession) -> Draw:
    return Draw(session)


def in_micros(rows: DataFrame, *names: str) -> DataFrame:
    """The rows with these moments as microseconds since the epoch."""
    return rows.withColumns({name: F.unix_micros(name) for name in names})


def _types(types: Types) -> dict[str, str]:
    if isinstance(types, Table):
        return {column.name: column.type for column in types.columns}
    return {name: type for name, _, type in (column.partition(" ") for column in types.split(", "))}


def _typed(drawing: str, types: dict[str, str]) -> str:
    header, *lines = [line for line in drawing.splitlines() if line.strip()]
    names = [cell.strip() for cell in header.split("|")]
    return "\n".join([" | ".join(name if " " in name else f"{name} {types[name]}" for name in names), *lines])
