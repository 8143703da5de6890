"""Which events count."""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

YEAR_1 = 62_135_596_800_000_000
"""Microseconds from the first instant that a timestamp holds to the epoch."""
DIGITS = 18
"""Of the microseconds since then."""


def events_before(events: DataFrame, as_of: datetime | None) -> DataFrame:
    """The events before as_of; all of them without one.

    Source: the design, "Vocabulary": events with `event_time < as_of` have happened.
    """
    return events if as_of is None else events.where(F.col("event_time") < F.lit(as_of))


def moment_and_id() -> Column:
    """The order (event_time; event_id) as text that compares the same way.

    One column, because the embedded engine is slow at comparing structs.
    """
    return F.concat(moment_of("event_time"), F.col("event_id"))


def moment_and_id_of(place: str) -> tuple[Column, Column]:
    """`event_time` and `event_id` of a `moment_and_id`."""
    micros = F.substring(place, 1, DIGITS).cast("bigint") - F.lit(YEAR_1)
    event_id = F.expr(f"substring({place}, {DIGITS + 1})")
    return F.timestamp_micros(micros).alias("event_time"), event_id.alias("event_id")


def moment_rank_and_id(rank: Column) -> Column:
    """The order (event_time; rank, a digit; event_id) as text that compares the same way."""
    return F.concat(moment_of("event_time"), rank.cast("string"), F.col("event_id"))


def moment_of(name: str) -> Column:
    """A timestamp as text that compares as the times do."""
    return F.lpad((F.unix_micros(name) + F.lit(YEAR_1)).cast("string"), DIGITS, "0")


def ever(condition: Column) -> Column:
    """Whether a condition holds for any row of a group; a null does not.

    Counted, because the embedded engine is slow at `bool_or`.
    """
    return F.count(F.when(condition, 1)) > 0
