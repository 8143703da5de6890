"""Housekeeping: what is too old goes, what is in small pieces is joined."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta

from pyspark.sql import SparkSession

from pipelines.config.instants import format_instant
from pipelines.console.wording import format_count
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.integrity import require_as_left
from pipelines.storage.pruned_days import PROPERTY, choose_first_day, parse_first_day
from pipelines.storage.upkeep import SAFE_HOURS, Needs, Upkeep
from schemas import TABLES
from schemas.outputs import BATCHES, RUNS, SENDS
from schemas.table import Table

Tell = Callable[[str], None]


def maintain(
    root: str,
    *,
    keep_days: int | None = None,
    keep_event_days: int | None = None,
    keep_hours: int = SAFE_HOURS,
    dry_run: bool = False,
    spark: SparkSession | None = None,
    tell: Tell = lambda line: None,
) -> list[str]:
    """Look after every table of a warehouse. No run and no other job may be active meanwhile.

    Without `keep_event_days`, nothing that a later run reads goes away: the ledger is joined, and any as_of
    can be made again. `runs` keeps the rows of as_ofs that were removed.

    Args:
        root: the warehouse's folder.
        keep_days: as_ofs more than `keep_days` days before the newest published one are removed; null
            keeps all. It counts from that one and not from today, so a pause removes nothing.
        keep_event_days: rows of the ledger that were closed more than `keep_event_days` days before the
            newest moment of the log are deleted, and rows of `sends` that were sent before; later commands
            refuse what needs their days; null keeps them. Rows that an earlier call has pruned but not
            deleted are deleted in any case.
        keep_hours: files that newer versions do without are kept for `keep_hours` hours, for readers.
        dry_run: say what there is to do, and do nothing.
        spark: a session of Apache Spark that does the work; without one delta-rs does it.
        tell: gets each line before its work begins.

    Returns:
        What there was to do, in lines.

    Raises:
        WarehouseError: a table has lost commits; what is left to put it back stays.
    """
    upkeep = Upkeep(root, keep_hours=keep_hours, spark=spark)
    published = [row for row in upkeep.rows(RUNS) if row["status"] == "succeeded"]
    require_as_left(root, published, spark)
    before = _first_to_keep([row["as_of"] for row in published], keep_days)
    completed = CompletedBatches(upkeep.rows(BATCHES))
    stored_day = parse_first_day(upkeep.get_property(BATCHES, PROPERTY))
    first_day = _first_day(completed, stored_day, keep_event_days)
    lines: list[str] = []

    def say(line: str) -> None:
        lines.append(line)
        tell(line)

    needs: dict[str, Needs] = {}
    for table in TABLES.values():
        found = upkeep.needs(table, before=before, last_fold=completed.batch, first_day=first_day)
        if found is not None:
            needs[table.name] = found
    if first_day is not None:
        pruning = {name: each for name, each in needs.items() if each.pruned}
        for line in _losses(upkeep, pruning, first_day):
            say(line)
        if pruning and not dry_run:
            # The day first: from then on readers pass over what is still to be deleted.
            if first_day != stored_day:
                upkeep.set_property(BATCHES, PROPERTY, first_day.isoformat())
            for name in pruning:
                upkeep.prune(TABLES[name], first_day)
    for name, each in needs.items():
        if planned := "; ".join(_plan(each)):
            say(f"{name}: {planned}")
        if not dry_run:
            _tidy(upkeep, TABLES[name], each, before=before, last_fold=completed.batch)
    return lines


def _first_day(completed: CompletedBatches, stored: date | None, keep_event_days: int | None) -> date | None:
    """The first day of the ledger that stays; it never goes back. Null if all days stay."""
    wanted = None if keep_event_days is None else choose_first_day(completed.newest, keep_event_days)
    return max((day for day in (stored, wanted) if day is not None), default=None)


def _losses(upkeep: Upkeep, pruning: Mapping[str, Needs], first_day: date) -> Iterator[str]:
    """Say what is lost with the rows of days before the first one left."""
    for name, needs in pruning.items():
        days = format_count(len(needs.pruned), "day" if name == SENDS.name else "closed day")
        rows = format_count(upkeep.count_pruned(TABLES[name], first_day), "row")
        files = format_count(needs.pruned_files, "file")
        first, last = needs.pruned[0], needs.pruned[-1]
        yield f"{name}: delete {days}, {first} to {last}, with {rows} in {files}"
    if pruning:
        yield (
            f"an as_of before {first_day} can no longer be made; replay, conformance and reassign start at "
            f"{first_day}; an event before it that comes later is rejected"
        )


def _plan(needs: Needs) -> Iterator[str]:
    """What there is to do for a table beside pruning."""
    if needs.outdated:
        first, last = map(format_instant, (needs.outdated[0], needs.outdated[-1]))
        yield f"remove {len(needs.outdated)} as_ofs, {first} to {last}"
    if needs.spread:
        yield f"compact {format_count(len(needs.spread), 'closed day')}"
    if needs.files:
        yield f"join {needs.files} files in {needs.partitions} partitions"
    if needs.unused:
        yield f"delete {needs.unused} unused files"


def _tidy(upkeep: Upkeep, table: Table, needs: Needs, *, before: datetime | None, last_fold: int) -> None:
    """Do what `_plan` says."""
    if needs.outdated and before is not None:
        upkeep.remove(table, before=before)
    if needs.spread:
        upkeep.join_folds(table, needs.spread, last_fold=last_fold)
    if needs.files:
        upkeep.join_files(table)
    upkeep.delete_unused(table, needs)


def _first_to_keep(published: Sequence[datetime], keep_days: int | None) -> datetime | None:
    """The first as_of to keep; null if all are kept."""
    if keep_days is None or not published:
        return None
    newest = max(published)
    since_the_first = newest - datetime.min.replace(tzinfo=newest.tzinfo)
    return None if keep_days > since_the_first.days else newest - timedelta(days=keep_days)
