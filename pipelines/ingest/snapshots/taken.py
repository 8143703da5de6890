"""Which snapshots and captures a warehouse has taken, and whether their files are still what they were."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from pyarrow import fs
from pyspark.sql import DataFrame, functions as F

from pipelines.config.errors import InputError
from pipelines.config.instants import format_instant
from pipelines.config.queue_filter import queue_text
from pipelines.engine.frames import among
from pipelines.engine.materialize import Materialize
from pipelines.ingest.snapshots.partners import Key, find_replaced, read_views_that_count
from pipelines.ingest.snapshots.sights import queue_of_view, with_neighbors
from pipelines.server.captures.faults import CaptureFault, describe_fault, raise_faults, short_path
from pipelines.server.captures.folder import CapturesRead, require_same_content
from pipelines.server.captures.known import KnownCapture
from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot
from pipelines.server.snapshots.view_file import EPOCH, ViewFile, changed_at, file_system
from pipelines.server.snapshots.views import TRANSMISSION, declared
from pipelines.storage.batches import replace_batch
from pipelines.storage.collect import collect_rows
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import CAPTURES, SNAPSHOTS

PLACE = ("instance", "database", "taken_at")
ViewName = tuple[str, str, datetime, str]
"""Instance, database, taken_at and view."""
ViewCounts = tuple[int, int, int]
"""Rows, repeated ones and rejected ones, as the table `snapshots` has them."""


@dataclass(frozen=True)
class NewSnapshots:
    """What no batch has taken.

    Attributes:
        snapshots: views and databases of captures.
        captures: the captures, also those that show no database.
        moved: captures that were taken, in files that are not known.
        rows: the files with the rows of captures, by view.
        replaced: snapshots that were taken and do not count beside one of the writable database.
    """

    snapshots: Sequence[ServerSnapshot] = ()
    captures: Sequence[KnownCapture] = ()
    moved: Sequence[KnownCapture] = ()
    rows: Mapping[str, Sequence[ViewFile]] = field(default_factory=dict)
    replaced: Sequence[Key] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to take, or to take back."""
        return bool(self.snapshots or self.captures or self.replaced)


def find_new_snapshots(
    warehouse: Warehouse,
    snapshots: Sequence[ServerSnapshot],
    captures: CapturesRead,
    batch: int,
    replaced: Sequence[ServerSnapshot] = (),
) -> NewSnapshots:
    """The snapshots that no batch up to this one has taken.

    Args:
        warehouse: the tables.
        snapshots: those that count, and those of databases that are left out.
        captures: the captures.
        batch: the newest completed batch.
        replaced: snapshots that do not count beside one of the writable database.

    Raises:
        CaptureError: a capture that was taken has other content now.
        InputError: views that were taken have changed, or a new snapshot is of a pruned day.
    """
    if not snapshots and not captures.new:
        return NewSnapshots()
    known = _known_captures(warehouse, captures, batch)
    new = [each for each in captures.new if each.id not in known]
    ids = {each.id for each in new}
    has_views = any(not isinstance(each.declared, CapturedSnapshot) for each in snapshots)
    taken = _taken_views(warehouse, batch) if has_views else {}
    problems: list[str] = []
    found = []
    for each in snapshots:
        if isinstance(each.declared, CapturedSnapshot):
            if each.declared.capture_id in ids:
                found.append(each)
        elif views := taken.get((*each.database_key, each.taken_at)):
            problems += _changed_views(each, views)
        else:
            found.append(each)
    problems += [_describe_pruned(warehouse, each) for each in found if _is_pruned(warehouse, each)]
    if problems:
        raise InputError(*problems)
    taken_before = find_replaced(warehouse, replaced, batch)
    return NewSnapshots(found, new, captures.moved, captures.rows, taken_before)


def _is_pruned(warehouse: Warehouse, snapshot: ServerSnapshot) -> bool:
    # Its rows count as of the microsecond before.
    return warehouse.is_pruned(snapshot.taken_at - timedelta(microseconds=1))


def _describe_pruned(warehouse: Warehouse, snapshot: ServerSnapshot) -> str:
    return (
        f"snapshots: {short_path(snapshot.declared.path)} shows {queue_text(snapshot.database_key)} at "
        f"{format_instant(snapshot.taken_at)}, a pruned day (the first day left is {warehouse.first_day}); "
        "remove it from the folder or the settings"
    )


def _known_captures(warehouse: Warehouse, captures: CapturesRead, batch: int) -> dict[str, KnownCapture]:
    """The captures that were taken, by id, as far as new ones ask for them.

    Raises:
        CaptureError: one of them has other content now.
    """
    if not captures.new or not warehouse.exists(CAPTURES):
        return {}
    taken = warehouse.read(CAPTURES).where(F.col("batch") <= batch)
    rows = among(taken, ((each.id,) for each in captures.new), "capture_id string")
    known = {row["capture_id"]: KnownCapture.of_row(row) for row in collect_rows(rows)}
    problems = []
    for each in captures.new:
        try:
            if each.id in known:
                require_same_content(each, known[each.id])
        except CaptureFault as fault:
            problems.append(describe_fault(each.path, fault))
    raise_faults(problems)
    return known


def _taken_views(warehouse: Warehouse, batch: int) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """The views of each snapshot that was taken, without those of captures, which come every night."""
    views: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    of_files = F.col("length").isNotNull() | F.col("path").isNull()
    for row in collect_rows(warehouse.read(SNAPSHOTS).where((F.col("batch") <= batch) & of_files)):
        views.setdefault(tuple(row[name] for name in PLACE), []).append(row)
    return views


def _changed_views(snapshot: ServerSnapshot, taken: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What to say of views that are no longer what they were when they were taken."""
    rows = {row["view"]: row for row in taken}
    if any(row["modified_at"] is None for row in rows.values()):
        return  # an older version did not look
    advice = "export the views into a folder of their own, and name that with its own taken_at"
    for view, file in snapshot.files.items():
        if view not in rows:
            yield (
                f"snapshots: {file.path} was not there when the snapshot of "
                f"{format_instant(snapshot.taken_at)} was taken; {advice}"
            )
            continue
        before, state = (rows[view]["length"], rows[view]["modified_at"]), _state(file)
        if state != before:
            then, now = (f"{length} bytes of {at:%Y-%m-%dT%H:%M:%S.%fZ}" for length, at in (before, state))
            yield f"snapshots: {file.path} has changed since it was taken ({then} then, {now} now); {advice}"


def _state(file: ViewFile) -> tuple[int, datetime]:
    """Bytes of a file, or of all files of a folder, and the last change of any of them."""
    system, inner, _ = file_system(file.path)
    infos = [system.get_file_info(inner)]
    if file.is_folder:
        infos = system.get_file_info(fs.FileSelector(inner, recursive=True))
    files = [info for info in infos if info.is_file]
    return sum(info.size for info in files), max(map(changed_at, files), default=EPOCH)


def write_taken(
    warehouse: Warehouse,
    number: int,
    new: NewSnapshots,
    started_at: datetime,
    counts: Mapping[ViewName, ViewCounts],
) -> None:
    """Say which snapshots and captures the batch takes.

    Args:
        warehouse: the tables.
        number: of the batch.
        new: what it takes.
        started_at: when the run began, UTC.
        counts: `ViewsRead.counts`.
    """
    rows = [
        (
            *each.own_key,
            each.taken_at,
            view,
            view in each.complete,
            *_state_of(each, view),
            *counts.get((*each.database_key, each.taken_at, view), _count_small(each, view)),
        )
        for each in new.snapshots
        for view in dict.fromkeys([*each.files, *each.small])
    ]
    captures = [replace(each, first_seen=started_at) for each in new.captures]
    for table, values in ((SNAPSHOTS, rows), (CAPTURES, _capture_rows(warehouse, number, captures, new))):
        replace_batch(warehouse, table, number, values)


def write_moved(warehouse: Warehouse, batch: int, moved: Sequence[KnownCapture]) -> None:
    """Note the files in which captures stand that were taken from others, so that they are not read again."""
    if moved:
        warehouse.append(CAPTURES, [(batch, *replace(each, catalogs={}).row()) for each in moved])


def _capture_rows(
    warehouse: Warehouse, number: int, captures: Sequence[KnownCapture], new: NewSnapshots
) -> list[tuple[Any, ...]]:
    """Rows of `captures` without batch; a catalog stands in the first row that has it."""
    there = set[str]()
    if captures and warehouse.exists(CAPTURES):
        # Of many captures few have a catalog that none before them had.
        kept = warehouse.read(CAPTURES).where((F.col("batch") < number) & (F.col("catalogs") != "{}"))
        there = {
            hash for row in collect_rows(kept.select("catalogs")) for hash in json.loads(row["catalogs"])
        }
    rows = []
    for each in captures:
        catalogs = {hash: rows for hash, rows in each.catalogs.items() if hash not in there}
        there |= catalogs.keys()
        rows.append(replace(each, catalogs=catalogs).row())
    seen = {each.id: each.first_seen for each in captures}
    moved = [replace(each, catalogs={}, first_seen=seen.get(each.id, each.first_seen)) for each in new.moved]
    return rows + [each.row() for each in moved]


def _state_of(snapshot: ServerSnapshot, view: str) -> tuple[str | None, int | None, datetime | None]:
    """Path and state of a view's file; null of a capture, whose lines count and no file."""
    if isinstance(snapshot.declared, CapturedSnapshot):
        return snapshot.declared.path, None, None
    file = snapshot.files[view]
    return (file.path, *_state(file))


def _count_small(snapshot: ServerSnapshot, view: str) -> ViewCounts | tuple[None, None, None]:
    """The counts of a view none of whose rows was read as a fact: null where they are not known."""
    if view in snapshot.small:
        return len(snapshot.small[view]), 0, 0
    return (0, 0, 0) if declared(view).is_large else (None, None, None)


def complete_views(
    warehouse: Warehouse, number: int, replaced: Sequence[Key], materialize: Materialize
) -> DataFrame | None:
    """(instance, database, view, taken_at, queue) of all complete views; None if no snapshot was taken.

    `queue` is null where the view is none. Views of `replaced` snapshots are left out.
    """
    if not warehouse.exists(SNAPSHOTS):
        return None
    taken = read_views_that_count(warehouse, replaced).where(F.col("batch") <= number)
    if taken.isEmpty():
        return None
    queue = queue_of_view().alias("queue")
    return materialize(taken.where("complete").select(*PLACE[:2], "view", "taken_at", queue))


def new_views(
    warehouse: Warehouse, number: int, replaced: Sequence[Key], materialize: Materialize
) -> DataFrame:
    """The views of messages that a batch brings, `with_neighbors` among all that count."""
    of_messages = queue_of_view().isNotNull() | (F.col("view") == TRANSMISSION)
    views = read_views_that_count(warehouse, replaced).where((F.col("batch") <= number) & of_messages)
    place = F.coalesce(queue_of_view(), F.lit("")).alias("place")
    moments = views.select(*PLACE[:2], place, F.col("taken_at").alias("seen_at"), "batch")
    return materialize(with_neighbors(moments).where(F.col("batch") == number).drop("batch"))
