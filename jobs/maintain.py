"""Remove old as_ofs, join small files and delete unused ones; say first what there is to do.

./spark-submit.sh jobs/maintain.py --config conf/local.yaml --keep-days 90 --dry-run
"""

import argparse
from collections.abc import Sequence
from datetime import datetime, timedelta

from pyspark.sql import SparkSession, functions as F

from jobs.launch import Parser, launch, session
from pipelines.collected import instant_of
from pipelines.settings.load import Settings, load_settings
from schemas import TABLES
from schemas.ledger import LEDGER_BATCHES
from schemas.outputs import RUNS
from storage.upkeep import SAFE_HOURS, Upkeep
from storage.warehouse import Warehouse


def run(
    spark: SparkSession,
    settings: Settings,
    *,
    keep_days: int | None = None,
    keep_hours: int = SAFE_HOURS,
    dry_run: bool = False,
) -> list[str]:
    """Look after every table of the warehouse. No run and no other job may be active meanwhile.

    Nothing that a later run reads goes away: the ledger and the accepted events are joined, never
    removed, so any as_of can be made again. `runs` keeps the rows of as_ofs that were removed.

    Args:
        spark: the session.
        settings: where the warehouse is.
        keep_days: as_ofs more than so many days before the newest published one are removed; null
            keeps all. It counts from that one and not from today, so a pause removes nothing.
        keep_hours: files that newer versions do without are kept for so many hours, for readers.
        dry_run: say what there is to do, and do nothing.

    Returns:
        A line for each table that has anything to do.
    """
    warehouse = Warehouse(spark, settings.warehouse)
    upkeep = Upkeep(spark, warehouse, keep_hours=keep_hours)
    before, last_fold = _first_to_keep(warehouse, keep_days), _last_fold(warehouse)
    lines = []
    for table in TABLES.values():
        if not warehouse.exists(table):
            continue
        needs = upkeep.needs(table, before=before, last_fold=last_fold)
        planned = []
        if needs.outdated and before is not None:
            planned.append(
                f"remove {len(needs.outdated)} as_ofs, {needs.outdated[0]} to {needs.outdated[-1]}"
            )
            if not dry_run:
                upkeep.remove(table, before=before)
        if needs.spread:
            planned.append(f"put together what folds left of {len(needs.spread)} days")
            if not dry_run:
                upkeep.join_folds(table, needs.spread, last_fold=last_fold)
        if needs.files > needs.folders:
            planned.append(f"join {needs.files} files in {needs.folders} partitions")
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


def _first_to_keep(warehouse: Warehouse, keep_days: int | None) -> datetime | None:
    """The first as_of to keep; null if all are kept."""
    if keep_days is None:
        return None
    newest = (
        warehouse.read(RUNS)
        .where("status = 'succeeded'")
        .agg(F.unix_micros(F.max("as_of")).alias("at"))
        .first()
    )
    published = instant_of(newest["at"]) if newest else None
    return published - timedelta(days=keep_days) if published else None


def _last_fold(warehouse: Warehouse) -> int:
    """The last fold that was completed; 0 if none was."""
    last = warehouse.read(LEDGER_BATCHES).agg(F.max("ledger_batch")).first()
    return (last[0] or 0) if last else 0


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def main(argv: Sequence[str]) -> int:
    """Parse the command line, run, and say what was done or would be."""
    parser = Parser("Remove old as_ofs, join small files and delete unused ones.")
    parser.add_argument("--config", required=True, help="settings file, e.g. conf/local.yaml")
    parser.add_argument(
        "--keep-days",
        type=_count,
        help="remove as_ofs older than the newest by more than this; default: none",
    )
    parser.add_argument(
        "--keep-hours",
        type=_count,
        default=SAFE_HOURS,
        help=f"keep unused files for so long (default {SAFE_HOURS}); less only if nobody is reading",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what there is to do")
    options = parser.parse_args(argv)
    settings = load_settings(options.config)
    lines = run(
        session("maintain", settings.warehouse),
        settings,
        keep_days=options.keep_days,
        keep_hours=options.keep_hours,
        dry_run=options.dry_run,
    )
    for line in lines or ["nothing to do"]:
        print(line)
    return 0


if __name__ == "__main__":
    launch(main)
