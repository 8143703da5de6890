"""Take in new snapshots: their views as rows of the accepted event tables, each snapshot once."""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import empty_frame, row_hash, small_frame, union_all
from pipelines.engine.materialize import Materialize, materialize_selections
from pipelines.ingest.snapshots.identity import (
    Rows,
    name_messages,
    name_messages_by_views,
    place_in_conversation,
)
from pipelines.ingest.snapshots.message_endpoints import endpoints_of_messages, without_known
from pipelines.ingest.snapshots.queues import monitors_of, statuses_of
from pipelines.ingest.snapshots.taken import PLACE, NewSnapshots, ViewCounts, ViewName
from pipelines.ingest.snapshots.validation import (
    REPEATED_KEY,
    find_equal_rows,
    validate_endpoints,
    validate_queue_events,
)
from pipelines.ingest.snapshots.view_events import (
    endpoint_events,
    queue_events,
    queued_message_events,
    session_events,
    task_events,
    waiting_message_events,
    waiting_type,
)
from pipelines.server.snapshots.server import CapturedSnapshot, ServerSnapshot, snapshot_error
from pipelines.server.snapshots.view_file import ViewFile
from pipelines.server.snapshots.views import (
    CONTRACTS,
    ENDPOINTS,
    MONITORS,
    QUEUE,
    QUEUES,
    READY,
    SERVICES,
    TASKS,
    TRANSMISSION,
    VIEWS,
    declared,
)
from pipelines.storage.batches import SNAPSHOTS as SNAPSHOTS_SOURCE
from pipelines.storage.collect import collect_rows
from pipelines.storage.inputs.faulty_files import find_faulty_files, name_files_on_error
from pipelines.storage.placed import only_left_out, without_left_out
from pipelines.storage.snapshots.view_check import check_view_file
from pipelines.storage.snapshots.views import payload, read_views
from pipelines.storage.warehouse import Warehouse
from schemas.events import CONTRACTS as EVENT_CONTRACTS, ENDPOINT_FACTS, MESSAGES, accepted_names
from schemas.outputs import SNAPSHOTS
from schemas.table import Table

log = logging.getLogger(__name__)

OF_VIEW = (*PLACE, "view")
"""The columns that say of which view of which snapshot a row is."""


@dataclass(frozen=True)
class SnapshotBatch:
    """What new snapshots brought.

    Attributes:
        rows: rows read of the views that have facts.
        rejected: rejected rows among them.
        duplicates: rows among them that are equal to others of their view.
        events: by table, rows of accepted events without batch.
        reports: (source, event_id, reason, payload) of rejected rows; None if there are none.
        by_day: rows by the UTC day of their snapshot.
        newest: the newest moment of each of these days.
        monitors: rows of `queue_monitors` without batch.
        statuses: rows of `queue_statuses` without batch.
    """

    rows: int
    rejected: int
    duplicates: int
    events: dict[str, DataFrame]
    reports: DataFrame | None
    by_day: Counter[date]
    newest: dict[date, datetime]
    monitors: Sequence[tuple[Any, ...]] = ()
    statuses: Sequence[tuple[Any, ...]] = ()


@dataclass(frozen=True)
class ViewsRead:
    """The views of new snapshots, read and judged; nothing was written yet.

    Attributes:
        snapshots: the snapshots.
        of_kinds: the views of each kind that has rows.
        read: what was read of each of these kinds.
        made: by table, rows of accepted events without batch. Messages have no ids yet.
        repeated: by view, rows of messages that repeat another one.
    """

    snapshots: Sequence[ServerSnapshot]
    of_kinds: Mapping[str, Sequence[tuple[ServerSnapshot, Sequence[ViewFile]]]]
    read: Mapping[str, "_Read"]
    made: Mapping[str, DataFrame]
    repeated: Mapping[ViewName, int] = field(default_factory=dict)

    def counts(self) -> dict[ViewName, ViewCounts]:
        """The counts of each view that has rows."""
        return {
            name: (
                row["ready_rows"],
                row.get("duplicates", 0) + self.repeated.get(name, 0),
                row["ready_rejected"],
            )
            for each in self.read.values()
            for row in each.counts
            for name in [_view_of(row)]
        }


def read_new_views(warehouse: Warehouse, new: NewSnapshots, materialize: Materialize) -> ViewsRead:
    """Read the views of new snapshots that state facts.

    Raises:
        InputError: a view can't be read to its end.
    """
    of_kinds: dict[str, list[tuple[ServerSnapshot, list[ViewFile]]]] = {}
    for kind in FACTS:
        for snapshot in new.snapshots:
            files = [
                file
                for view, file in snapshot.files.items()
                if declared(view).name == kind and not file.is_empty and _has_names(snapshot, file)
            ]
            if files:
                of_kinds.setdefault(kind, []).append((snapshot, files))
    results = run_concurrently(
        warehouse.spark,
        *[
            partial(_read, warehouse, kind, views, new.rows.get(kind, ()), materialize)
            for kind, views in of_kinds.items()
        ],
    )
    read = dict(zip(of_kinds, results, strict=True))
    accepted = {kind: each.accepted for kind, each in read.items()}
    facts: dict[str, list[DataFrame]] = {}
    for kind, rows in accepted.items():
        facts.setdefault(VIEWS[kind].events, []).append(FACTS[kind](rows))
    facts.setdefault(ENDPOINT_FACTS.name, []).extend(_endpoints_of_messages(new.snapshots, accepted))
    made = {name: union_all(frames) for name, frames in facts.items() if frames}
    repeated = [_count_repeated(accepted[kind], kind) for kind in (QUEUE, TRANSMISSION) if kind in accepted]
    found = collect_rows(union_all(repeated)) if repeated else []
    return ViewsRead(new.snapshots, of_kinds, read, made, {_view_of(row): row["repeated"] for row in found})


def _count_repeated(rows: DataFrame, kind: str) -> DataFrame:
    """Rows of messages that repeat another one of their view, by view; few, if any.

    They are counted by a hash of 8 bytes: two different messages share one by chance in a view of ten million
    rows once in half a million times.
    """
    if kind == QUEUE:
        waiting = rows.where(F.col("status") == READY).withColumn("message_type", F.col("message_type_name"))
    else:
        no_order = F.lit(None).cast("bigint")
        waiting = rows.withColumns({"message_type": waiting_type(), "queuing_order": no_order})
    message = row_hash(F.col("conversation_handle"), place_in_conversation()).alias("message")
    of_message = waiting.groupBy(*OF_VIEW, message).agg(F.count(F.lit(1)).alias("rows"))
    several = of_message.where("rows > 1").groupBy(*OF_VIEW)
    return several.agg(F.sum(F.col("rows") - 1).alias("repeated"))


def take_snapshots(
    warehouse: Warehouse, views: ViewsRead, events: Mapping[str, DataFrame], materialize: Materialize
) -> SnapshotBatch:
    """Make events of new snapshots, and say whose their rows are as far as it is known.

    Args:
        warehouse: the tables, for what is known already.
        views: `read_new_views`.
        events: the accepted events of the same batch, by input.
        materialize: computes a frame once.
    """
    counted = [row for each in views.read.values() for row in each.counts]
    reports = [each.reports for each in views.read.values() if each.reports is not None]
    counting = {name: without_left_out(rows, warehouse.places) for name, rows in views.made.items()}
    named = _with_names(warehouse, replace(views, made=counting), events, materialize)
    by_day, newest = Counter[date](), dict[date, datetime]()
    for row in counted:
        last = row["taken_at"] - timedelta(microseconds=1)
        by_day[last.date()] += row["rows"]
        newest[last.date()] = max(last, newest.get(last.date(), last))
    return SnapshotBatch(
        rows=sum(row["rows"] for row in counted),
        rejected=sum(row["rejected"] for row in counted),
        duplicates=sum(row.get("duplicates", 0) for row in counted),
        events=_with_left_out(warehouse, views.made, named),
        reports=union_all(reports) if reports else None,
        by_day=by_day,
        newest=newest,
        monitors=_with_own_names(views, _monitors(views.read, views.of_kinds)),
        statuses=_with_own_names(
            views, statuses_of(views.snapshots, views.read[QUEUE].accepted if QUEUE in views.read else None)
        ),
    )


def _with_own_names(views: ViewsRead, rows: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Rows that begin with a queue and taken_at, under the own name of their database."""
    own = {(*each.database_key, each.taken_at): each.own_key for each in views.snapshots}
    return [(*own[row[0], row[1], row[3]], *row[2:]) for row in rows]


def _with_left_out(
    warehouse: Warehouse, made: Mapping[str, DataFrame], named: Mapping[str, DataFrame]
) -> dict[str, DataFrame]:
    """The rows with ids, and those of databases that are left out: these get ids if they ever count."""
    if not warehouse.places.left_out:
        return dict(named)
    return {
        name: rows.unionByName(only_left_out(made[name], warehouse.places).select(*rows.columns))
        for name, rows in named.items()
    }


def _endpoints_of_messages(
    snapshots: Sequence[ServerSnapshot], accepted: Mapping[str, DataFrame]
) -> list[DataFrame]:
    """Endpoint events from messages, for the snapshots without a view of endpoints."""
    if all(each.has_endpoints for each in snapshots):
        return []
    alone = [
        None if rows is None else rows.where(~F.col("has_endpoints"))
        for rows in map(accepted.get, (QUEUE, TRANSMISSION))
    ]
    if not any(rows is not None for rows in alone):
        return []
    return [endpoints_of_messages(*alone)]


def _monitors(
    read: Mapping[str, "_Read"],
    of_kinds: Mapping[str, Sequence[tuple[ServerSnapshot, Sequence[ViewFile]]]],
) -> Sequence[tuple[Any, ...]]:
    if MONITORS not in read:
        return ()
    with_tasks = {(*snapshot.database_key, snapshot.taken_at) for snapshot, _ in of_kinds.get(TASKS, ())}
    tasks = read[TASKS].accepted if TASKS in read else None
    offsets = {
        (*snapshot.database_key, snapshot.taken_at): snapshot.declared.utc_offset_minutes
        for snapshot, _ in of_kinds[MONITORS]
        if isinstance(snapshot.declared, CapturedSnapshot)
    }
    return monitors_of(read[MONITORS].accepted, tasks, with_tasks, offsets)


Views: TypeAlias = Sequence[tuple[ServerSnapshot, Sequence[ViewFile]]]
NAMES = {ENDPOINTS: (CONTRACTS, SERVICES), MONITORS: (QUEUES,), TASKS: (QUEUES,)}
"""The views that have the names of ids, by the kind that has the ids."""
PLACES = (
    "snapshot bigint, instance string, database string, taken_at timestamp, own_instance string, "
    "own_database string, has_endpoints boolean, own_id bigint, names bigint"
)
"""What is known of the rows of a snapshot, by its number."""
FACTS: dict[str, Callable[[DataFrame], DataFrame]] = {
    ENDPOINTS: endpoint_events,
    TRANSMISSION: waiting_message_events,
    QUEUE: queued_message_events,
    QUEUES: queue_events,
    MONITORS: session_events,
    TASKS: task_events,
}
"""Views that state facts, all queues as one kind, and how their rows become events."""


@dataclass(frozen=True)
class _Read:
    """The rows of all views of one kind.

    Attributes:
        accepted: those that state facts.
        counts: by view, `rows`, how many of them are `rejected`, and both of those that wait (`ready_`): of a
            queue those of status 1, of others all.
        reports: see `SnapshotBatch`.
    """

    accepted: DataFrame
    counts: list[dict[str, Any]]
    reports: DataFrame | None


def _read(
    warehouse: Warehouse, kind: str, views: Views, captured: Sequence[ViewFile], materialize: Materialize
) -> _Read:
    """Read the views of one kind.

    Args:
        warehouse: for its session.
        kind: of the views.
        views: snapshots with their views of this kind.
        captured: the files that have the rows of captures.
        materialize: computes a frame once.

    Raises:
        InputError: a file can't be read to its end, or has values as no server writes them.
    """
    by_hand = [files for snapshot, files in views if snapshot.number is None]
    with name_files_on_error(partial(_blame, warehouse.spark, by_hand)):
        judged = _judged(warehouse, kind, views, captured)
        rows = materialize(judged.drop("row"))
    is_no_value = F.col("reasons").contains("broken_row") | F.col("reasons").contains("unreadable_")
    waits = F.col("status") == READY if kind == QUEUE else F.lit(True)
    counts = collect_rows(
        rows.groupBy(*OF_VIEW).agg(
            F.count(F.lit(1)).alias("rows"),
            F.count("reasons").alias("rejected"),
            F.count(F.when(waits, 1)).alias("ready_rows"),
            F.count(F.when(waits, F.col("reasons"))).alias("ready_rejected"),
            F.count(F.when(is_no_value, 1)).alias("no_values"),
        )
    )
    if any(row["no_values"] for row in counts):
        closer = [(snapshot, [check_view_file(file) for file in files]) for snapshot, files in views]
        if closer != [(snapshot, list(files)) for snapshot, files in views]:
            return _read(warehouse, kind, closer, captured, materialize)
    accepted = rows.where("reasons is null")
    if kind == ENDPOINTS and any(row["rejected"] for row in counts):
        once = materialize(find_equal_rows(rows))
        if not once.isEmpty():
            accepted = materialize(accepted.unionByName(once.select(*accepted.columns)))
            counts = _with_equal_rows(counts, once)
            judged = judged.join(once.select(*REPEATED_KEY), list(REPEATED_KEY), "left_anti")
    # Rejected rows are few and read again: to materialize the texts of all rows would cost too much.
    reports = _reports(judged) if any(row["rejected"] for row in counts) else None
    return _Read(accepted, counts, reports)


def _with_equal_rows(counts: Sequence[dict[str, Any]], once: DataFrame) -> list[dict[str, Any]]:
    """The counts where the first of several equal rows counts, and the others are its duplicates."""
    of_views = once.groupBy(*OF_VIEW).agg(F.sum("rows").alias("rows"), F.count(F.lit(1)).alias("once"))
    found = {_view_of(row): row for row in collect_rows(of_views)}
    return [
        {
            **row,
            **{name: row[name] - each["rows"] for name in ("rejected", "ready_rejected")},
            "duplicates": each["rows"] - each["once"],
        }
        if (each := found.get(_view_of(row)))
        else row
        for row in counts
    ]


def _view_of(row: Mapping[str, Any]) -> ViewName:
    return row["instance"], row["database"], row["taken_at"], row["view"]


def _blame(spark: SparkSession, views: Sequence[Sequence[ViewFile]], error: Exception) -> None:
    """Name the views of one kind, by snapshot, that can't be read to their end.

    Raises:
        InputError: there is any.
    """

    def opened(files: Sequence[ViewFile]) -> DataFrame:
        return read_views(spark, files).drop("row")

    def are_parquet(files: Sequence[ViewFile]) -> bool:
        return all(file.format == "parquet" and not file.is_folder for file in files)

    problems = [
        problem
        for files in views
        for problem in find_faulty_files(files, opened, error, are_parquet=are_parquet(files))
    ]
    if problems:
        raise snapshot_error(problems)


def _has_names(snapshot: ServerSnapshot, file: ViewFile) -> bool:
    """Whether the queues of a view of monitors or tasks have names; says so if not."""
    if file.view not in (MONITORS, TASKS) or "queue_id" not in file.names or snapshot.small.get(QUEUES):
        return True
    log.warning(
        "snapshots: %s says nothing: %s, which has the names of its queues, has no rows", file.path, QUEUES
    )
    return False


def _judged(warehouse: Warehouse, kind: str, views: Views, captured: Sequence[ViewFile]) -> DataFrame:
    """The rows of all views of one kind, with `PLACE`, `has_endpoints`, `view`, `reasons` and `row`."""
    spark = warehouse.spark
    frames = [read_views(spark, captured)] if captured else []
    sets: dict[tuple[tuple[tuple[int, str], ...], ...], int] = {}
    places = []
    for number, (snapshot, files) in enumerate(views):
        # The numbers of captures are not below zero.
        own = -1 - number if snapshot.number is None else snapshot.number
        if snapshot.number is None:
            frames.append(read_views(spark, files).withColumn("snapshot", F.lit(own).cast("bigint")))
        of_ids = tuple(tuple(snapshot.names(view).items()) for view in NAMES.get(kind, ()))
        names = sets.setdefault(of_ids, len(sets))
        key, moment = snapshot.database_key, snapshot.taken_at
        before = snapshot.own_key if snapshot.own_key != key else (None, None)
        places.append((own, *key, moment, *before, snapshot.has_endpoints, snapshot.database_id, names))
    rows = F.broadcast(small_frame(spark, places, PLACES)).join(union_all(frames), "snapshot", "inner")
    rows = _renamed(rows, [snapshot for snapshot, _ in views])
    of_endpoint = [column.name for column in VIEWS[kind].columns if column.of_endpoint]
    if captured and of_endpoint:
        # A view of endpoints says itself what rows of messages say of theirs.
        alone = ~F.col("has_endpoints")
        rows = rows.withColumns({name: F.when(alone, F.col(name)) for name in of_endpoint})

    def named(view: str, columns: str) -> DataFrame:
        of_view = NAMES[kind].index(view)
        found = [(number, *row) for each, number in sets.items() for row in each[of_view]]
        return small_frame(spark, found, f"names bigint, {columns}")

    if kind == ENDPOINTS:
        contracts = named(CONTRACTS, "service_contract_id bigint, contract string")
        rows = validate_endpoints(rows, contracts, named(SERVICES, "service_id bigint, local_service string"))
    elif kind in (MONITORS, TASKS):
        rows = validate_queue_events(rows, named(QUEUES, "queue_id bigint, queue string"))
    return rows.drop("snapshot", "names", "own_id")


def _renamed(rows: DataFrame, snapshots: Sequence[ServerSnapshot]) -> DataFrame:
    """The rows with the names of queues of captures as the tables have them."""
    names = [(each.number, *name) for each in snapshots for name in each.renamed.items()]
    if not names:
        return rows
    renamed = small_frame(rows.sparkSession, names, "snapshot bigint, view string, queue_view string")
    joined = F.broadcast(renamed).join(rows, ["snapshot", "view"], "right")
    return joined.withColumn("view", F.coalesce("queue_view", "view")).drop("queue_view")


def _with_names(
    warehouse: Warehouse,
    views: ViewsRead,
    events: Mapping[str, DataFrame],
    materialize: Materialize,
) -> dict[str, DataFrame]:
    """The rows with the ids that events know, those of this batch and all before."""
    made = views.made
    both = (MESSAGES, ENDPOINT_FACTS)
    shown = Rows(
        *[
            materialize_selections(made[table.name], materialize)
            if table.name in made
            else empty_frame(warehouse.spark, table.struct).select(*accepted_names(table.name))
            for table in both
        ]
    )
    all_made = dict(made)
    if not events and not any(map(warehouse.exists, both)):
        # Nothing else can know the ids of messages or handles.
        if MESSAGES.name in made:
            all_made[MESSAGES.name] = name_messages_by_views(
                shown, materialize, are_of_one_moment=len({each.taken_at for each in views.snapshots}) == 1
            )
        if ENDPOINT_FACTS.name in made:
            all_made[ENDPOINT_FACTS.name] = shown.conversations
        return all_made
    logged = Rows(*[_known(warehouse, table, events.get(table.name)) for table in both])
    if _lack_endpoints(warehouse):
        others = logged.conversations.unionByName(shown.conversations.select(*logged.conversations.columns))
        shown, logged = (
            Rows(each.messages, materialize(without_known(each.conversations, others)))
            for each in (shown, logged)
        )
    if MESSAGES.name in made:
        all_made[MESSAGES.name] = materialize(name_messages(shown, logged, materialize))
    if ENDPOINT_FACTS.name in made:
        all_made[ENDPOINT_FACTS.name] = shown.conversations
    return all_made


def _lack_endpoints(warehouse: Warehouse) -> bool:
    """Whether a snapshot that was ever taken, this batch included, has no view of endpoints."""
    has_endpoints = F.max((F.col("view") == ENDPOINTS).cast("int"))
    taken = warehouse.read(SNAPSHOTS).groupBy(*PLACE).agg(has_endpoints.alias("has_endpoints"))
    return not taken.where("has_endpoints = 0").isEmpty()


def _known(warehouse: Warehouse, table: Table, events: DataFrame | None) -> DataFrame:
    """The events of the batch and all that were recorded; of endpoints what snapshots showed before, too."""
    names = EVENT_CONTRACTS[table.name].names
    frames = [] if events is None else [events.select(*names)]
    if warehouse.exists(table):
        recorded = warehouse.read(table)
        frames.append((recorded.where("seen_at is null") if table is MESSAGES else recorded).select(*names))
    if not frames:
        return empty_frame(warehouse.spark, table.struct).select(*names)
    return union_all(frames)


def _reports(rows: DataFrame) -> DataFrame:
    """The rejected rows, one per row and reason; the view stands for an event_id."""
    moment = F.date_format("taken_at", "yyyy-MM-dd'T'HH:mm:ss'Z'")
    return rows.where("reasons is not null").select(
        F.lit(SNAPSHOTS_SOURCE).alias("source"),
        F.concat_ws("/", "instance", "database", moment, "view").alias("event_id"),
        F.explode(F.split("reasons", ",")).alias("reason"),
        payload().alias("payload"),
    )
