"""The working set of a batch: new events, open rows, and closed rows that late events refer to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import empty_frame, union_all
from pipelines.engine.materialize import Materialize
from pipelines.ingest.late_events import Lookback, select_closed_rows
from pipelines.ingest.retention import CloseAt
from pipelines.ingest.sides import arrivals
from pipelines.ingest.snapshots.partners import Key, find_first_batch, without_replaced
from pipelines.server.snapshots.places import PLACE, Places
from pipelines.state.transactions import TRANSACTION
from pipelines.storage.collect import collect_rows
from pipelines.storage.placed import without_left_out
from pipelines.storage.pruned_days import start_of
from pipelines.storage.warehouse import NO_PLACES, Warehouse
from schemas import ACCEPTED, CONTRACTS
from schemas.events import CREATIONS, ENDPOINT_FACTS, ENDS, MESSAGES, QUEUE_FACTS, SHOWN, accepted_names
from schemas.ledger import ENDPOINTS
from schemas.table import Table

KEYS = {
    MESSAGES.name: ["message_id"],
    ENDPOINT_FACTS.name: ["conversation_id"],
    QUEUE_FACTS.name: [*QUEUE_FACTS.key],
    ENDPOINTS.name: ["conversation_id"],
}
"""The key by which late rows move, by table; queue events without a transaction move, too."""


@dataclass(frozen=True)
class Batch:
    """A batch to write.

    Attributes:
        number: the number of the batch.
        events: the accepted events by input, with the contract's columns; inputs without any may be missing.
        view_events: events from new snapshots by table, with the columns of accepted events.
        views: the complete views of all snapshots (`complete_views`); None if nothing is inferred from them.
        new_views: the views that the batch brings, `sights.with_neighbors`; None as above.
        close_at: the moment up to which the batch closes rows.
        closed_until: no earlier batch closed rows by a state after this moment; None if there is none.
        lookback: how far back closed rows are searched.
        bindings: the catalog's (instance, database, service, queue), the newest.
        binding_periods: the same of all times.
        has_queue_events: `Ledger.has_queue_events`, with this batch.
        starts_over: all rows are read and written, as the first queue events change the meaning of all.
        places: databases that are left out: their events are written, and nothing is made of them.
        has_views_by_hand: whether snapshots may have rows that RETENTION keeps.
        replaced: snapshots that earlier batches took and that do not count any more.
    """

    number: int
    events: Mapping[str, DataFrame]
    view_events: Mapping[str, DataFrame]
    views: DataFrame | None
    new_views: DataFrame | None
    close_at: CloseAt
    closed_until: datetime | None
    lookback: Lookback
    bindings: Sequence[tuple[str, str, str, str]]
    binding_periods: Sequence[tuple[Any, ...]]
    has_queue_events: bool
    starts_over: bool
    places: Places = NO_PLACES
    has_views_by_hand: bool = False
    replaced: Sequence[Key] = ()

    def new_rows(self, table: Table) -> DataFrame | None:
        """The accepted events of the batch of a table, with `batch`; None if there are none."""
        events, view_events = self.events.get(table.name), self.view_events.get(table.name)
        if events is not None:
            nothing = {
                column.name: F.lit(None).cast(column.type)
                for column in SHOWN[table.name]
                if column.name not in events.columns
            }
            events = events.withColumns(nothing)
        frames = [
            frame.select(*accepted_names(table.name)) for frame in (events, view_events) if frame is not None
        ]
        if not frames:
            return None
        return union_all(frames).withColumn("batch", F.lit(self.number).cast("bigint"))


@dataclass(frozen=True)
class Rows:
    """The rows of one table in the working set.

    Attributes:
        new: accepted events of the batch, with `batch`.
        open: open rows of earlier batches.
        late: closed rows of earlier batches that new events refer to, and those that were written since a
            snapshot was taken that does not count any more: no others can follow from it.
        counting: late rows without what such snapshots show; None if all of them count.
    """

    table: Table
    new: DataFrame | None
    open: DataFrame | None
    late: DataFrame | None
    counting: DataFrame | None = None

    def all(self, warehouse: Warehouse) -> DataFrame:
        """All that count, with the columns of an accepted event and `batch`."""
        return union_batches(warehouse, self.table, self.new, self.open, self._late)

    def each_once(self, warehouse: Warehouse) -> DataFrame:
        """As `all`, also after the table is written: late rows are then among the open rows, too."""
        late = self._late
        if self.open is None or late is None:
            return self.all(warehouse)
        event = list(self.table.key)
        still_there = self.open.join(late.select(*event), event, "left_anti")
        return union_batches(warehouse, self.table, self.new, still_there, late)

    @property
    def _late(self) -> DataFrame | None:
        return self.late if self.counting is None else self.counting


def union_batches(warehouse: Warehouse, table: Table, *frames: DataFrame | None) -> DataFrame:
    """The rows of all frames that are not None, or an empty frame.

    No empty frame is part of the union: an engine may lose the names of columns if it finds one.
    """
    names = [*accepted_names(table.name), "batch"] if table.name in CONTRACTS else table.names
    present = [frame.select(*names) for frame in frames if frame is not None]
    if not present:
        return empty_frame(warehouse.spark, table.struct).select(*names)
    return union_all(present)


@dataclass(frozen=True)
class WorkingSet:
    """The rows that a batch reads.

    Attributes:
        messages, conversations, transactions: rows of the three event tables.
        known: `endpoints` rows of earlier batches.
        known_late: the closed ones among them.
        arrivals: `sides.arrivals` of closed messages of conversations whose creation comes late.
    """

    messages: Rows
    conversations: Rows
    transactions: Rows
    known: DataFrame
    known_late: DataFrame | None
    arrivals: DataFrame | None


def read_working_set(warehouse: Warehouse, batch: Batch, materialize: Materialize) -> WorkingSet:
    """Read the working set of a batch.

    Args:
        warehouse: the tables.
        batch: the batch.
        materialize: computes a frame once.
    """
    new = {
        table.name: None if accepted is None else without_left_out(accepted, batch.places)
        for table in ACCEPTED.values()
        for accepted in [batch.new_rows(table)]
    }
    of_messages, of_endpoints, of_queues = (
        new[table.name] for table in (MESSAGES, ENDPOINT_FACTS, QUEUE_FACTS)
    )
    has_closed_rows = batch.number > 1 and not batch.starts_over
    since = find_first_batch(warehouse, batch.replaced) or batch.number

    def referred(table: Table, ids: Sequence[DataFrame | None], key: Sequence[str]) -> list[DataFrame]:
        """The closed rows that new events refer to, without those that are read anyway."""
        frames = [frame for frame in ids if frame is not None]
        if not has_closed_rows or not frames:
            return []
        closed = warehouse.read(table).where(f"closed_on is not null and fold < {since}")
        return [select_closed_rows(closed, union_all(frames), key, batch.lookback)]

    def late(table: Table, ids: Sequence[DataFrame | None], key: Sequence[str]) -> DataFrame | None:
        found = referred(table, ids, key)
        if has_closed_rows and batch.replaced:
            is_since = f"closed_on is not null and fold >= {since} and fold < {batch.number}"
            found.append(warehouse.read(table).where(is_since))
        return materialize(union_all(found)) if found else None

    def first_arrivals() -> DataFrame | None:
        """The arrivals of messages that are closed already, which a late creation needs."""
        found = referred(MESSAGES, [created], ["conversation_id"])
        return materialize(arrivals(union_all(found))) if found else None

    def counting(table: Table, found: DataFrame) -> DataFrame:
        return without_replaced(warehouse, table, found, batch.replaced) if batch.replaced else found

    def before(table: Table) -> DataFrame | None:
        """The open rows of earlier batches, and the rows of an interrupted attempt at this batch."""
        if batch.number == 1 or not warehouse.exists(table):
            return None
        rows = warehouse.read(table)
        if not batch.starts_over:
            rows = rows.where(f"closed_on is null or fold = {batch.number}")
        if table is ENDPOINTS:
            return rows  # they have no column `batch`
        return counting(table, rows.where(f"batch < {batch.number}"))

    def rows(table: Table, closed: DataFrame | None) -> Rows:
        left = materialize(counting(table, closed)) if closed is not None and batch.replaced else None
        return Rows(table, new[table.name], before(table), closed, left)

    conversation_ids = [
        events.select("conversation_id", "event_time", "seen_at")
        for events in (of_messages, of_endpoints)
        if events is not None
    ]
    message_ids = [] if of_messages is None else [of_messages.select("message_id", "event_time")]
    if batch.views is not None and has_closed_rows:
        first = _first_moment(batch.new_views)
        if batch.new_views is not None and first is not None:
            passed = find_passed_conversations(warehouse, batch.new_views, first)
            conversation_ids.append(materialize(passed))
        if conversation_ids:
            closed = find_closed_messages(warehouse, union_all(conversation_ids), first, batch.lookback)
            message_ids.append(materialize(closed))
    created = None if of_endpoints is None else of_endpoints.where(F.col("event_type").isin(*CREATIONS))
    late_messages, late_conversations, known_late, of_created = run_concurrently(
        warehouse.spark,
        partial(late, MESSAGES, message_ids, KEYS[MESSAGES.name]),
        partial(late, ENDPOINT_FACTS, conversation_ids, KEYS[ENDPOINT_FACTS.name]),
        partial(late, ENDPOINTS, conversation_ids, KEYS[ENDPOINTS.name]),
        first_arrivals,
    )
    messages = rows(MESSAGES, late_messages)
    transaction_ids = []
    if of_messages is not None:
        transaction_ids.append(_received(of_messages, "event_time"))
    if of_queues is not None:
        named = of_queues.where("transaction_id is not null")
        transaction_ids.append(named.select(*TRANSACTION, "event_time"))
    if message_ids and messages.open is not None and messages.late is not None:
        # A late message needs the outcome of the transactions that received it.
        back = messages.open.where(f"fold = {batch.number}").select(*messages.late.columns)
        received = _received(messages.late.unionByName(back), "message_id")
        received = received.join(union_all(message_ids), "message_id")
        transaction_ids.append(received.drop("message_id"))
    return WorkingSet(
        messages=messages,
        conversations=rows(ENDPOINT_FACTS, late_conversations),
        transactions=rows(QUEUE_FACTS, late(QUEUE_FACTS, transaction_ids, TRANSACTION)),
        known=union_batches(warehouse, ENDPOINTS, before(ENDPOINTS), known_late),
        known_late=known_late,
        arrivals=of_created,
    )


def _first_moment(new_views: DataFrame | None) -> datetime | None:
    if new_views is None:
        return None
    [found] = collect_rows(new_views.agg(F.min("seen_at").alias("first")))
    first: datetime | None = found["first"]
    return first


def find_passed_conversations(warehouse: Warehouse, new_views: DataFrame, first: datetime) -> DataFrame:
    """(conversation_id, event_time, seen_at) of conversations with closed rows that may have ended earlier.

    A view that lacks a row does not name its conversation. The row was gone by then, if it was there before
    and what tells its end is later: another view, or the end of one of both endpoints.

    Args:
        warehouse: the tables.
        new_views: as in `Batch`.
        first: the moment of the first of them.

    Returns:
        Both times are the first new view of the database.
    """
    messages = _closed_messages_in_snapshots(warehouse, first).select(
        "conversation_id",
        *PLACE,
        F.coalesce("not_before", "seen_at").alias("since"),
        F.coalesce("shown_until", "event_time").alias("until"),
    )
    endpoints = warehouse.read_left(ENDPOINTS, first).select(
        "conversation_id", *PLACE, F.col("created_at").alias("since")
    )
    ends = _ends(warehouse, first).withColumnRenamed("event_time", "until")
    ending = endpoints.join(ends, "conversation_id", "inner")
    there = messages.unionByName(ending).where(F.col("until") >= F.lit(first))
    moments = F.min("seen_at").alias("first_at"), F.max("seen_at").alias("last_at")
    passed = there.join(F.broadcast(new_views.groupBy(*PLACE).agg(*moments)), [*PLACE], "inner")
    times = [F.col("first_at").alias(name) for name in ("event_time", "seen_at")]
    return passed.where("since < last_at and first_at <= until").select("conversation_id", *times).distinct()


def find_closed_messages(
    warehouse: Warehouse, conversations: DataFrame, first: datetime | None, lookback: Lookback
) -> DataFrame:
    """(message_id, event_time) of closed messages in snapshots that new events can change.

    An event of a log may know a message by another id. A snapshot can change what later ones say. It can show
    that an endpoint is open again, by whose end messages went.

    Args:
        warehouse: the tables.
        conversations: (conversation_id, event_time, seen_at) of new events.
        first: the moment of the first new view; None without one.
        lookback: how far back closed rows are searched.

    Returns:
        Each with the days of its conversation's events.
    """
    since = None if lookback.everywhere else start_of(lookback.first_day)
    day, is_logged = F.to_date("event_time").cast("timestamp"), F.col("seen_at").isNull()
    asked = conversations.select("conversation_id", day.alias("day"), is_logged.alias("is_logged")).distinct()
    closed = _closed_messages_in_snapshots(warehouse, since)
    parts = [(closed, asked)]
    if first is not None:
        # Where snapshots come in order, both parts are few, and little is read for them.
        ended = asked.join(_ends(warehouse, since), "conversation_id", "left_semi")
        later = closed.where(F.col("seen_at") > F.lit(first))
        parts = [(closed, asked.where("is_logged").unionByName(ended)), (later, asked)]
    found = union_all([rows.join(ids, "conversation_id", "inner") for rows, ids in parts])
    return found.select("message_id", F.col("day").alias("event_time")).distinct()


def _closed_messages_in_snapshots(warehouse: Warehouse, since: datetime | None) -> DataFrame:
    return _left(warehouse, MESSAGES, since).where("seen_at is not null and closed_on is not null")


def _ends(warehouse: Warehouse, since: datetime | None) -> DataFrame:
    """The ends of conversations, (conversation_id, event_time), also of endpoints that are not known."""
    ends = _left(warehouse, ENDPOINT_FACTS, since).where(F.col("event_type").isin(*ENDS))
    return ends.select("conversation_id", "event_time")


def _left(warehouse: Warehouse, table: Table, since: datetime | None) -> DataFrame:
    """The rows that may matter at a moment or later; all without one."""
    return warehouse.read(table) if since is None else warehouse.read_left(table, since)


def _received(message_events: DataFrame, *names: str) -> DataFrame:
    """The transactions that received a message, each with the named columns of its event."""
    received = message_events.where("event_type = 'RECEIVED' and transaction_id is not null")
    return received.select(*TRANSACTION, *names)
