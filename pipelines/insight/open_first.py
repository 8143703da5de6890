"""Rows of the ledger by their id."""

from typing import Any

from pyspark.sql import DataFrame

from pipelines.collected import collected


def open_first(rows: DataFrame, *columns: Any) -> list[dict[str, Any]]:
    """Collect the few rows of one id, the open ones if there are any, else the closed ones.

    Args:
        rows: rows of a ledger table, those of one id; all of them are open or all are closed.
        columns: what is wanted of them.

    What is asked about is mostly open. All open rows lie in one partition, closed ones in a partition for
    each day and fold, and a search opens a file in each.
    """
    return collected(rows.where("closed_on is null").select(*columns)) or collected(
        rows.where("closed_on is not null").select(*columns)
    )
