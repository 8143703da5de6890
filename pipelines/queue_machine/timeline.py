"""The events of a queue as rows of one shape: a position in time, and what each kind of event carries."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, functions as F

BITS = 4
"""Bits of the event code in a position."""
KIND = 2**BITS - 1


def row_position(time: Column, code: Column | int) -> Column:
    """A moment in microseconds and an event code as one number that compares the same way."""
    return time * F.lit(2**BITS) + (F.lit(code) if isinstance(code, int) else code)


def endpoint_text() -> Column:
    """An endpoint as one text: its conversation_id, and + for the initiator or - for the target."""
    return F.concat("conversation_id", F.when(F.col("is_initiator"), "+").otherwise("-"))


def event_rows(
    rows: DataFrame,
    position: Column,
    payload: Mapping[str, Column | str],
    types: Mapping[str, str],
    *,
    tie: str | None = None,
) -> DataFrame:
    """Rows of events; columns that they do not carry are null.

    Args:
        rows: any frame with `queue_number`.
        position: their `row_position`; at one instant lower codes come first.
        payload: the columns that the events carry, by name; a text is a column's name.
        types: the columns that any event carries, with their types.
        tie: the column that orders rows of one position; without one they are equal.

    Returns:
        queue_number, `position`, `tie`, and the names of `types`.
    """
    columns = []
    for name, type in types.items():
        value = payload.get(name)
        column = F.lit(None) if value is None else F.col(value) if isinstance(value, str) else value
        columns.append(column.cast(type).alias(name))
    tied = F.col(tie) if tie else F.lit("")
    return rows.select("queue_number", position.alias("position"), tied.alias("tie"), *columns)
