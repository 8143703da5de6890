"""Rows of the ledger by their id."""

from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.storage.collect import collect_rows


def open_first(rows: DataFrame, *columns: str, moment: str) -> list[dict[str, Any]]:
    """Collect the few rows of one id, the open ones if there are any, else the closed ones.

    Args:
        rows: rows of a ledger table, those of one id; all of them are open or all are closed.
        columns: what is wanted of them.
        moment: a time of each row, in whose order files were written more or less.

    What is asked about is mostly open, and all open rows lie together. Files are not ordered by ids, so
    finding one reads that column of all of them: just that one and the moment. Everything else is read at
    these moments only, and the files' statistics say where that is.
    """
    for partitions in ("closed_on is null", "closed_on is not null"):
        found = rows.where(partitions)
        moments = {row[moment] for row in collect_rows(found.select(moment))}
        if moments:
            return collect_rows(found.where(F.col(moment).isin(sorted(moments))).select(*columns))
    return []
