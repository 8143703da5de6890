"""Housekeeping: what is too old goes, what is in small pieces is joined."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import SparkSession

from pipelines.config.instants import format_instant
from pipelines.storage.integrity import require_as_left
from pipelines.storage.upkeep import SAFE_HOURS, Upkeep
from schemas import TABLES
from schemas.outputs import BATCHES, RUNS


def maintain(
    root: str,
    *,
    keep_days: int | None = None,
    keep_hours: int = SAFE_HOURS,
    dry_run: bool = False,
    spark: SparkSession | None = None,
) -> list[str]:
    """Look after every table of a warehouse. No run and no other job may be active meanwhile.

    Nothing that a later run reads goes away: the ledger is joined, never removed, so any as_of can be made
    again. `runs` keeps the rows of as_ofs that were removed.

    Args:
        root: the warehouse's folder.
        keep_days: as_ofs more than `keep_days` days before the newest published one are removed; null
            keeps all. It counts from that one and not from today, so a pause removes nothing.
        keep_hours: files that newer versions do without are kept for `keep_hours` hours, for readers.
        dry_run: say what there is to do, and do nothing.
        spark: a session of Apache Spark that does the work; without one delta-rs does it.

    Returns:
        A line for each table that has anything to do.

    Raises:
        WarehouseError: a table has lost commits; what is left to put it back stays.
    """
    upkeep = Upkeep(root, keep_hours=keep_hours, spark=spark)
    published = [row for row in upkeep.rows(RUNS) if row["status"] == "succeeded"]
    require_as_left(root, published, spark)
    before = _first_to_keep([row["as_of"] for row in published], keep_days)
    last_fold = max((row["batch"] for row in upkeep.rows(BATCHES)), default=0)
    lines = []
    for table in TABLES.values():
        needs = upkeep.needs(table, before=before, last_fold=last_fold)
        if needs is None:
            continue
        planned = []
        if needs.outdated and before is not None:
            first, last = map(format_instant, (needs.outdated[0], needs.outdated[-1]))
            planned.append(f"remove {len(needs.outdated)} as_ofs, {first} to {last}")
            if not dry_run:
                upkeep.remove(table, before=before)
        if needs.spread:
            planned.append(f"put together what folds left of {len(needs.spread)} days")
            if not dry_run:
                upkeep.join_folds(table, needs.spread, last_fold=last_fold)
        if needs.files:
            planned.append(f"join {needs.files} files in {needs.partitions} partitions")
            if not dry_run:
                upkeep.join_files(table)
        if not dry_run:
            # What this very call replaced may be old enough as well.
            upkeep.delete_unused(table)
        if needs.unused:
            planned.append(f"delete {needs.unused} unused files")
        if planned:
            lines.append(f"{table.name}: {'; '.join(planned)}")
    return lines


def _first_to_keep(published: Sequence[datetime], keep_days: int | None) -> datetime | None:
    """The first as_of to keep; null if all are kept."""
    if keep_days is None or not published:
        return None
    newest = max(published)
    since_the_first = newest - datetime.min.replace(tzinfo=newest.tzinfo)
    return None if keep_days > since_the_first.days else newest - timedelta(days=keep_days)
