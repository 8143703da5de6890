"""The few rows of a query as plain Python."""

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, functions as F, types as T

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def collect_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Collect rows as dicts by column, in the frame's order.

    Timestamps are aware and in UTC: Spark itself gives naive ones in the time zone of the machine. Those
    inside structs and arrays are left as they are.
    """
    rows = [row.asDict() for row in frame.collect()]
    if any(_is_ambiguous(value) for row in rows for value in row.values()):
        return _collect_micros(frame)
    return [
        {name: value.astimezone(UTC) if isinstance(value, datetime) else value for name, value in row.items()}
        for row in rows
    ]


def collect_first(
    counted: DataFrame, limit: int, summed: str | None = "messages"
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Collect the first rows of an ordered frame, and the number and sum of all its rows.

    Returns:
        The rows, and `rows` and the summed column of the whole frame, if one is named.
    """
    rows = collect_rows(counted.limit(limit))
    names = [] if summed is None else [summed]
    if len(rows) < limit:
        return rows, {"rows": len(rows), **{name: sum(row[name] for row in rows) for name in names}}
    sums = F.count(F.lit(1)).alias("rows"), *[F.sum(name).alias(name) for name in names]
    # The embedded engine takes names that a file has once for constants, and fails to sum counts by these
    # alone.
    numbered = counted.withColumn("number", F.monotonically_increasing_id())
    return rows, collect_rows(numbered.agg(*sums))[0]


def _is_ambiguous(value: object) -> bool:
    """Whether this is a time that the clocks of the machine show twice, as when summer time ends."""
    return isinstance(value, datetime) and value.replace(fold=0).astimezone(UTC) != value.replace(
        fold=1
    ).astimezone(UTC)


def _collect_micros(frame: DataFrame) -> list[dict[str, Any]]:
    """`collect_rows` by numbers, for which the engine plans the frame once more to say its types."""
    moments = [field.name for field in frame.schema.fields if field.dataType == T.TimestampType()]
    rows = frame.withColumns({name: F.unix_micros(name) for name in moments}).collect()
    return [
        {name: instant_of(value) if name in moments else value for name, value in row.asDict().items()}
        for row in rows
    ]


def instant_of(micros: int | None) -> datetime | None:
    """Return the instant of a number of microseconds since the epoch."""
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def micros(moment: datetime) -> int:
    """Microseconds since the epoch."""
    return (moment - EPOCH) // timedelta(microseconds=1)
