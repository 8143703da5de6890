"""Closed rows that new events refer to: late events, and new events of long-lived conversations."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.days import on_days

SMALL_HISTORY = 2_000_000
"""Accepted events up to which a batch searches all closed rows, as that costs little."""


@dataclass(frozen=True)
class Lookback:
    """How far back a batch searches closed rows of its keys.

    For an event of a day, rows closed on that day or later are searched: until then its message, conversation
    or transaction could have a state. Earlier closings are searched if the history is small.

    Attributes:
        full_days: the days with many events of the batch.
        other_days: all other days of its events.
        everywhere: the history is small: all closed rows are searched.
    """

    full_days: Collection[date]
    other_days: Collection[date]
    everywhere: bool

    @property
    def first_day(self) -> date:
        """The first day of the batch's events."""
        return min([*self.full_days, *self.other_days])


def select_closed_rows(
    closed: DataFrame, new: DataFrame, key: Sequence[str], lookback: Lookback
) -> DataFrame:
    """Select the closed rows that new events refer to.

    Args:
        closed: closed rows of a ledger table.
        new: accepted events of the batch, with the key's columns.
        key: the columns by which events refer to rows.
        lookback: how far back to search.

    Returns:
        Rows of `closed`, each once.
    """
    keys = new.select(*key).distinct()
    if lookback.everywhere:
        return closed.join(keys, list(key), "left_semi")
    since = min(lookback.full_days, default=date.max)
    found = closed.where(F.col("closed_on") >= F.lit(since)).join(keys, list(key), "left_semi")
    if not lookback.other_days or min(lookback.other_days) >= since:
        return found
    few = F.broadcast(on_days(new, lookback.other_days).select(*key).distinct())
    earlier = closed.where(
        (F.col("closed_on") < F.lit(since)) & (F.col("closed_on") >= F.lit(min(lookback.other_days)))
    )
    return found.unionByName(earlier.join(few, list(key), "left_semi"))
