"""The events of a queue as rows of one shape: a position in time, and what each kind of event carries."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, functions as F

BITS = 4
"""Bits of the event code in a position."""
KIND = 2**BITS - 1


def row_position(time: Column, kind: Column) -> Column:
    """A moment in microseconds and an event code as one number that compares the same way."""
    return time * F.lit(2**BITS) + kind


def endpoint_text() -> Column:
    """An endpoint as one text: its conversation_id, and + for the initiator or - for the target."""
    return F.concat("conversation_id", F.when(F.col("is_initiator"), "+").otherwise("-"))


def rows_of_kind(
    rows: DataFrame,
    time: Column,
    kind: int,
    payload: Mapping[str, Column | str],
    types: Mapping[str, str],
    *,
    tie: str | None = None,
) -> DataFrame:
    """Rows of one kind of event; columns that the kind does not carry are null.

    Args:
        rows: any frame with `queue_number`.
        time: the time of the event.
        kind: an event code; at one instant lower codes come first.
        payload: the columns that the kind carries, by name; a text is a column's name.
        types: the columns that any kind carries, with their types.
        tie: the column that orders rows of one instant and kind; without one they are equal.

    Returns:
        queue_number, `position`, `tie`, and the names of `types`.
    """
    columns = []
    for name, type in types.items():
        value = payload.get(name)
        column = F.lit(None) if value is None else F.col(value) if isinstance(value, str) else value
        columns.append(column.cast(type).alias(name))
    position = row_position(F.unix_micros(time), F.lit(kind)).alias("position")
    return rows.select("queue_number", position, (F.col(tie) if tie else F.lit("")).alias("tie"), *columns)
