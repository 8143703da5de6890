"""Refuse a warehouse that has lost tables or commits.

`runs` has the version at which each published run left every table. It is also the first table that a
warehouse gets, before its rows: without it, what was published is lost.
"""

from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from pyspark.sql import SparkSession

from pipelines.config.errors import REBUILD, WarehouseError
from pipelines.config.instants import format_instant
from pipelines.storage.versions import small_table_rows, versions_of
from schemas import ACCEPTED
from schemas.events import table_of
from schemas.ledger import ENDPOINTS
from schemas.outputs import BATCHES, FILES, PRIORITY_RULES, RUNS, SNAPSHOTS

PUT_BACK = f"Put back what is missing, or {REBUILD}"


def require_as_left(root: str, runs: Iterable[Mapping[str, Any]], spark: SparkSession | None = None) -> None:
    """Compare the tables under a folder with what its runs and batches left.

    Where neither delta-rs nor a session reaches the tables, nothing is compared.

    Args:
        root: the folder of the tables, or its URI.
        runs: the published runs, with as_of, finished_at and versions.
        spark: a session, for tables that delta-rs can't reach.

    Raises:
        WarehouseError: a table is at an older version or is gone, or its columns differ from its
            declaration; every such table is listed.
    """
    found = versions_of(root, spark)
    if found is None:
        return
    last = max(runs, key=itemgetter("finished_at"), default=None)
    # Rules come from their files. Versions before this one wrote them without `runs`.
    if RUNS.name not in found and found.keys() - {PRIORITY_RULES.name}:
        lost = [runs_are_gone(root)]
    elif last is None:
        lost = list(_lost_since_folds(root, found, spark))
    else:
        lost = list(_lost_since(root, last, found))
    WarehouseError.raise_any(lost)


def runs_are_gone(root: str) -> str:
    """Say that `runs` is not there, where other tables are."""
    return (
        f"warehouse: {root}/{RUNS.name} is gone, but other tables are there: what was published is not "
        f"known. {PUT_BACK}"
    )


def _lost_since(root: str, run: Mapping[str, Any], found: Mapping[str, int]) -> Iterator[str]:
    for name, version in sorted(dict(run["versions"] or {}).items()):
        if found.get(name, -1) < version:
            state = f"at version {found[name]}" if name in found else "gone"
            yield (
                f"warehouse: {root}/{name} is {state}, but the run of {format_instant(run['as_of'])} that "
                f"finished at {format_instant(run['finished_at'])} left it at version {version}: commits are "
                f"lost. {PUT_BACK}"
            )


def _lost_since_folds(root: str, found: Mapping[str, int], spark: SparkSession | None) -> Iterator[str]:
    """Missing tables that completed batches wrote, if no run was published yet."""
    if BATCHES.name not in found:
        return
    rows = small_table_rows(f"{root}/{BATCHES.name}", ["source", "events", "accepted"], spark)
    written = set()
    for row in rows:
        table = table_of(row["source"])
        if row["events"]:
            written.add(SNAPSHOTS.name if table == SNAPSHOTS.name else FILES.name)
        if row["accepted"] and table in ACCEPTED:
            written.add(table)
            written |= {ENDPOINTS.name} if table == "endpoint_events" else set()
    for name in sorted(written - found.keys()):
        yield (
            f"warehouse: {root}/{name} is gone, but {BATCHES.name} says that rows were written: they are "
            f"lost. {PUT_BACK}"
        )
