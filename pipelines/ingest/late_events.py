"""Events that concern what is closed already: late ones, and what a long-lived conversation brings."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

from pyspark.sql import DataFrame, functions as F

from pipelines.ingest.days import in_days

SMALL_HISTORY = 2_000_000
"""Up to so many accepted events a fold looks through all that is closed (our choice)."""


@dataclass(frozen=True)
class Lookback:
    """How far back a fold looks for closed rows of its keys.

    An event of a day looks at what was closed on that day or later: until then its message, conversation or
    transaction could have a state. Earlier closings are looked at where that costs little.

    Attributes:
        full_days: the days that the batch has many events of.
        other_days: all other days that it has events of.
        everywhere: the history is small: no row is out of reach.
    """

    full_days: Collection[date]
    other_days: Collection[date]
    everywhere: bool


def brought_back(closed: DataFrame, new: DataFrame, key: Sequence[str], reach: Lookback) -> DataFrame:
    """The closed rows that new events concern.

    Args:
        closed: closed rows of a ledger table.
        new: accepted events of the batch, with the key's columns.
        key: what the two have in common.
        reach: how far back to look.

    Returns:
        Rows of `closed`, each once.
    """
    keys = new.select(*key).distinct()
    if reach.everywhere:
        return closed.join(keys, list(key), "left_semi")
    since = min(reach.full_days, default=date.max)
    found = closed.where(F.col("closed_on") >= F.lit(since)).join(keys, list(key), "left_semi")
    if not reach.other_days or min(reach.other_days) >= since:
        return found
    few = F.broadcast(new.where(in_days(reach.other_days)).select(*key).distinct())
    earlier = closed.where(
        (F.col("closed_on") < F.lit(since)) & (F.col("closed_on") >= F.lit(min(reach.other_days)))
    )
    return found.unionByName(earlier.join(few, list(key), "left_semi"))
