"""How far the data of a warehouse goes, and how old it is at an as_of.

An event counts before as_of, a snapshot up to as_of. What a snapshot's rows say about earlier times is as new
as the snapshot.
"""

from collections.abc import Callable, Set
from datetime import datetime, timedelta

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.config.instants import format_instant
from pipelines.console.wording import format_age
from pipelines.engine.frames import union_all
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.collect import EPOCH, collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas import ACCEPTED
from schemas.outputs import SNAPSHOTS

OLD = timedelta(hours=1)
"""Data that is older than this at as_of is worth a word."""
RECENT = timedelta(days=1)
RESOLUTION = timedelta(microseconds=1)
"""The distance of two moments that the tables tell apart."""


def describe_age(newest_data: datetime | None, as_of: datetime) -> str | None:
    """Say how old the newest data is at as_of; null if it is not old, or if nothing is known of it."""
    if newest_data is None or as_of - newest_data <= OLD:
        return None
    return (
        f"the newest data is {format_age(as_of - newest_data)} older than as_of: it is of "
        f"{format_instant(newest_data)}, as_of is {format_instant(as_of)}"
    )


def latest_as_of(warehouse: Warehouse, completed: CompletedBatches) -> datetime | None:
    """The first as_of for which all data counts; null if there is no data.

    Tables are read only if the settings leave databases out.
    """
    latest = _first_after(completed.newest_event, completed.newest_snapshot)
    if latest is None or not warehouse.places.left_out:
        return latest
    return _first_after(
        _newest_event(warehouse, completed, latest), _newest_snapshot(warehouse, completed, latest)
    )


def _first_after(event: datetime | None, snapshot: datetime | None) -> datetime | None:
    return max(filter(None, [event and event + RESOLUTION, snapshot]), default=None)


def find_newest_data(warehouse: Warehouse, completed: CompletedBatches, as_of: datetime) -> datetime | None:
    """Find the newest event before as_of or snapshot up to it; null if there is neither.

    Tables are read only if there is data after as_of, too, or the settings leave databases out.
    """
    found = (_newest_event(warehouse, completed, as_of), _newest_snapshot(warehouse, completed, as_of))
    return max(filter(None, found), default=None)


def find_first_data(warehouse: Warehouse, completed: CompletedBatches) -> datetime | None:
    """Find the first event or snapshot; null if there is neither."""
    found = (
        _edge(_event_times(warehouse, completed), F.min),
        _edge(_snapshot_times(warehouse, completed), F.min),
    )
    return min(filter(None, found), default=None)


def newest_events(warehouse: Warehouse, instances: Set[str], as_of: datetime) -> dict[str, datetime]:
    """The newest event before as_of of each instance with events of the last day, and of these instances."""
    recent = max(as_of, EPOCH + RECENT) - RECENT
    found: dict[str, datetime] = {}
    # An event of the last day is in a row that closed then or later. The whole history is read for the rest.
    for read in (lambda table: warehouse.read_left(table, recent), warehouse.read):
        events = union_all(
            [
                read(table).where("seen_at is null").select("instance", F.col("event_time").alias("newest"))
                for table in ACCEPTED.values()
            ]
        )
        newest = (
            events.where(F.col("newest") < F.lit(as_of))
            .groupBy("instance")
            .agg(F.max("newest").alias("newest"))
        )
        found = {row["instance"]: row["newest"] for row in collect_rows(newest)}
        if all(instance in found and found[instance] >= recent for instance in instances):
            break
    return found


def _newest_event(warehouse: Warehouse, completed: CompletedBatches, as_of: datetime) -> datetime | None:
    newest = completed.newest_event
    if newest is None or (newest < as_of and not warehouse.places.left_out):
        return newest
    before = _event_times(warehouse, completed).where(F.col("moment") < F.lit(as_of))
    # Engines skip files without events of the last hour. Older events are looked for only if it has none.
    # The first moments of all time have no hour before them, and events are all later.
    recent = before.where(F.col("moment") >= F.lit(max(as_of, EPOCH) - OLD))
    return _edge(recent, F.max) or _edge(before, F.max)


def _newest_snapshot(warehouse: Warehouse, completed: CompletedBatches, as_of: datetime) -> datetime | None:
    newest, is_all = completed.newest_snapshot, not warehouse.places.left_out
    if not completed.has_snapshots or (is_all and newest is not None and newest <= as_of):
        return newest
    return _edge(_snapshot_times(warehouse, completed).where(F.col("moment") <= F.lit(as_of)), F.max)


def _event_times(warehouse: Warehouse, completed: CompletedBatches) -> DataFrame:
    """(moment) of all accepted events, without those of snapshots."""
    return union_all(
        [
            warehouse.read(table)
            .where(f"seen_at is null and batch <= {completed.batch}")
            .select(F.col("event_time").alias("moment"))
            for table in ACCEPTED.values()
        ]
    )


def _snapshot_times(warehouse: Warehouse, completed: CompletedBatches) -> DataFrame:
    """(moment) of all snapshots, once for each view."""
    taken = warehouse.read(SNAPSHOTS).where(f"batch <= {completed.batch}")
    return taken.select(F.col("taken_at").alias("moment"))


def _edge(moments: DataFrame, edge: Callable[[str], Column]) -> datetime | None:
    [row] = collect_rows(moments.agg(edge("moment").alias("edge")))
    found: datetime | None = row["edge"]
    return found
