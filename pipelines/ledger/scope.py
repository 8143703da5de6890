"""Which ledger rows a fold reads and replaces.

A fold reads the open rows and those closed rows that its events concern, and writes them anew. An
event at time t can only concern rows that are open or were closed on t's day or later, with a day's
margin for clocks. Closed rows lie in partitions (closed_on, ledger_batch), so a fold appends what it
closes to partitions of its own and rewrites only the partitions that its events touch.
"""

from dataclasses import dataclass
from datetime import date, timedelta

from pyspark.sql import DataFrame, functions as F

MARGIN = timedelta(days=1)


@dataclass(frozen=True)
class Scope:
    """The rows of one ledger table that a fold reads and replaces, as one SQL predicate."""

    predicate: str


def everything() -> Scope:
    """All rows: for the rare fold after which old rows mean something else."""
    return Scope("true")


def touched(table: DataFrame, keys: DataFrame, *, ledger_batch: int, since: date) -> Scope:
    """The open rows, this fold's own, and the partitions that hold a row with one of these keys.

    Args:
        table: the ledger table.
        keys: the keys that the new events name; their columns are columns of the table; no order,
            repeats allowed.
        ledger_batch: the fold; what a broken-off attempt of it wrote is replaced.
        since: closed rows of an earlier day are out of the events' reach.
    """
    concerned = (
        table.where(F.col("closed_on") >= F.lit(since))
        .join(keys, keys.columns, "left_semi")
        .groupBy("closed_on", "ledger_batch")
        .agg(F.lit(1))
    )
    partitions = sorted((row.closed_on, row.ledger_batch) for row in concerned.collect())
    return Scope(
        " OR ".join(
            ["closed_on IS NULL", f"ledger_batch = {ledger_batch}"]
            + [f"(closed_on = DATE'{day}' AND ledger_batch = {batch})" for day, batch in partitions]
        )
    )
