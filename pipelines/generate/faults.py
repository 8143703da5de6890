"""Faults of a log: duplicates, rows too late, rows out of order, rows that no reader can use.

Nothing is taken away: a bad row is one row more, and a late or displaced one is elsewhere. So the good part
of a faulty log says what the faultless log says, up to the rare events whose id a bad row takes as well.
"""

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.generate.plan import Plan
from pipelines.generate.world import DAY, HOUR

FAULTS = ("duplicate", "late", "displaced", "bad")
"""Each makes up a quarter of the share of faulty events."""

BROKEN_SHARE = 0.5
"""Share of the bad rows that are broken as text, where the format is text."""

CONFLICT_SHARE = 0.04
"""Share of the bad rows that repeat another event's id with other content."""


def with_faults(events: DataFrame, *, plan: Plan, required: str) -> DataFrame:
    """Add the faults, and say where each row goes.

    Args:
        events: events with `c` and `at`.
        plan: how much of what.
        required: a column that may not be null; half the bad rows have none.

    Returns:
        The events and their faulty extra rows, with `late` (how many slices after its own a row comes),
        `place` (order within the slice) and `broken` (the text of the row is to be cut off).
    """
    draws, event = plan.volume.draws, F.col("event_id")
    share = plan.volume.errors / len(FAULTS)
    if share == 0:
        return events.withColumns({"late": F.lit(0), "place": F.col("at"), "broken": F.lit(False)})
    draw = draws.uniform("fault", event)
    is_fault = {name: (draw >= i * share) & (draw < (i + 1) * share) for i, name in enumerate(FAULTS)}
    detail = draws.uniform("fault detail", event)
    moved = F.floor((draws.uniform("place", event) - 0.5) * 6 * HOUR)
    frame = events.withColumns(
        {
            "late": F.when(is_fault["late"], F.floor(detail * 2) + 1).otherwise(0),
            "place": F.col("at") + F.when(is_fault["displaced"], moved).otherwise(0),
            "bad": is_fault["bad"],
            "detail": detail,
            "copy": F.explode(
                F.when(is_fault["duplicate"] | is_fault["bad"], F.array(F.lit(0), F.lit(1))).otherwise(
                    F.array(F.lit(0))
                )
            ),
        }
    )
    return _spoil(frame, plan, required)


def _spoil(frame: DataFrame, plan: Plan, required: str) -> DataFrame:
    """Spoil the extra rows that are to be bad."""
    bad = F.col("bad") & (F.col("copy") == 1)
    conflict = bad & (F.col("detail") < CONFLICT_SHARE)
    own_id = bad & ~conflict
    broken = own_id & (F.col("detail") < CONFLICT_SHARE + BROKEN_SHARE)
    no_column = own_id & ~broken & (F.pmod(F.xxhash64("event_id"), F.lit(2)) == 0)
    no_type = own_id & ~broken & ~no_column
    return frame.withColumns(
        {
            "event_id": F.when(own_id, plan.volume.draws.uuid("bad", F.col("event_id"))).otherwise(
                F.col("event_id")
            ),
            "event_type": F.when(no_type, F.concat(F.lit("UNKNOWN_"), "event_type")).otherwise(
                F.col("event_type")
            ),
            required: F.when(no_column, F.lit(None)).otherwise(F.col(required)),
            "instance": F.when(conflict, F.concat("instance", F.lit("-COPY"))).otherwise(F.col("instance")),
            "broken": broken,
        }
    ).drop("bad", "detail", "copy")


def slice_of(plan: Plan, *, daily: bool) -> Column:
    """The slice a row is written to: with `daily` the night's date, else the number of a part."""
    volume = plan.volume
    if daily:
        day = F.floor((F.col("at") - volume.start_us) / DAY) + F.col("late")
        night = F.greatest(F.least(day, F.lit(volume.days - 1)), F.lit(0)).cast("int")
        return F.date_add(F.lit(volume.start.date()), night).cast("string")
    # As spark.range cuts the conversations, so that a task has one part, and late rows of parts before.
    part = F.floor(((F.col("c") + 1) * volume.parts - 1) / plan.conversations) + F.col("late")
    return F.lpad(F.least(part, F.lit(volume.parts - 1)).cast("string"), 5, "0")
