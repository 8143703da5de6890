"""What happens on queues as rows of one shape, for machines that play them: when, and what each carries."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame, functions as F

BITS = 4
"""Of the kind in a place."""
KIND = 2**BITS - 1


def row_position(time: Column, kind: Column) -> Column:
    """A moment in microseconds, and the kind, as one number that compares the same way."""
    return time * F.lit(2**BITS) + kind


def side_text() -> Column:
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
    """Rows of one kind; what they don't carry is null.

    Args:
        rows: anything with `queue_number`.
        time: when it happens.
        kind: a small number; at one instant lower ones come first.
        payload: what the kind carries, by name; a text is a column's name.
        types: all that any kind carries, with its type.
        tie: the column that orders rows of one instant and kind; all are equal without one.

    Returns:
        queue_number, `row_position`, `tie`, and the names of `types`.
    """
    columns = []
    for name, type in types.items():
        value = payload.get(name)
        column = F.lit(None) if value is None else F.col(value) if isinstance(value, str) else value
        columns.append(column.cast(type).alias(name))
    at = row_position(F.unix_micros(time), F.lit(kind)).alias("place")
    return rows.select("queue_number", at, (F.col(tie) if tie else F.lit("")).alias("tie"), *columns)
