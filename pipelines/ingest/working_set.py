"""What a fold looks at: its events, what was open before it, and the closed rows that its events concern."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, functions as F

from pipelines.engine.differences import Materialize, run_concurrently
from pipelines.engine.small_frame import empty_frame
from pipelines.engine.union import union_all
from pipelines.ingest.late_events import Lookback, brought_back
from pipelines.ingest.retention import CloseAt
from pipelines.state.transactions import TRANSACTION
from pipelines.storage.warehouse import Warehouse
from schemas import ACCEPTED, CONTRACTS
from schemas.events import CREATIONS, ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS, SHOWN, accepted_names
from schemas.ledger import ENDPOINTS
from schemas.table import Table

KEYS = {
    MESSAGES.name: ["message_id"],
    ENDPOINT_FACTS.name: ["conversation_id"],
    QUEUE_FACTS.name: TRANSACTION,
    ENDPOINTS.name: ["conversation_id"],
}
"""What closes together, by table."""


@dataclass(frozen=True)
class Batch:
    """What a fold works on.

    Attributes:
        number: of the batch, and of the fold that writes it.
        events: the accepted events by input, with the contract's columns; inputs without any may be missing.
        shown: what new snapshots show, likewise, with the columns of accepted events.
        views: the complete views of all snapshots, `pipelines.ingest.snapshots.read.complete_views`; None
        if nothing
            can follow from them.
        until: up to when the fold closes.
        reach: how far back it looks for closed rows that the events concern.
        bindings: the catalog's (instance, database, service, queue).
        has_queue_events: whether any queue event was ever accepted.
        starts_anew: the meaning of all rows has changed, so all are read and written.
    """

    number: int
    events: Mapping[str, DataFrame]
    shown: Mapping[str, DataFrame]
    views: DataFrame | None
    until: CloseAt
    reach: Lookback
    bindings: Sequence[tuple[str, str, str, str]]
    has_queue_events: bool
    starts_anew: bool


@dataclass(frozen=True)
class Rows:
    """The rows of one table that the fold looks at.

    Attributes:
        new: accepted events of the batch, with `batch`.
        open: rows of earlier batches that were open before this fold.
        late: closed rows of earlier batches that the new events concern.
    """

    table: Table
    new: DataFrame | None
    open: DataFrame | None
    late: DataFrame | None

    def all(self, warehouse: Warehouse) -> DataFrame:
        """All of them, with the columns of an accepted event and `batch`."""
        return union_batches(warehouse, self.table, self.new, self.open, self.late)

    def each_once(self, warehouse: Warehouse) -> DataFrame:
        """As `all`, also once the table is written: what came back late then is among what was open, too."""
        if self.open is None or self.late is None:
            return self.all(warehouse)
        event = list(self.table.key)
        still_there = self.open.join(self.late.select(*event), event, "left_anti")
        return union_batches(warehouse, self.table, self.new, still_there, self.late)


def union_batches(warehouse: Warehouse, table: Table, *frames: DataFrame | None) -> DataFrame:
    """The rows of all that there is.

    What can't have rows is left out: the embedded engine loses the names of columns where it finds out by
    itself that one side of a union is empty.
    """
    names = [*accepted_names(table.name), "batch"] if table.name in CONTRACTS else table.names
    there = [frame.select(*names) for frame in frames if frame is not None]
    if not there:
        return empty_frame(warehouse.spark, table.struct).select(*names)
    return union_all(there)


@dataclass(frozen=True)
class WorkingSet:
    """All that a fold looks at."""

    messages: Rows
    conversations: Rows
    transactions: Rows
    known: DataFrame
    known_late: DataFrame | None
    arrivals: DataFrame | None


def read_working_set(warehouse: Warehouse, batch: Batch, materialize: Materialize) -> WorkingSet:
    """Find the rows that a fold looks at.

    Args:
        warehouse: the tables.
        batch: the fold.
        materialize: computes a frame once.
    """
    new = {table.name: _new(batch, table) for table in ACCEPTED.values()}
    of_messages, of_endpoints, of_queues = (
        new[table.name] for table in (MESSAGES, ENDPOINT_FACTS, QUEUE_FACTS)
    )
    has_closed_rows = batch.number > 1 and not batch.starts_anew

    def late(table: Table, ids: Sequence[DataFrame | None], key: Sequence[str]) -> DataFrame | None:
        there = [frame for frame in ids if frame is not None]
        if not has_closed_rows or not there:
            return None
        closed = warehouse.read(table).where(f"closed_on is not null and fold < {batch.number}")
        return materialize(brought_back(closed, union_all(there), key, batch.reach))

    def before(table: Table) -> DataFrame | None:
        """The rows of earlier batches that were open, or that a broken-off attempt of this fold wrote."""
        if batch.number == 1 or not warehouse.exists(table):
            return None
        rows = warehouse.read(table)
        if not batch.starts_anew:
            rows = rows.where(f"closed_on is null or fold = {batch.number}")
        # An endpoint is of no batch.
        return rows if table is ENDPOINTS else rows.where(f"batch < {batch.number}")

    def rows(table: Table, closed: DataFrame | None) -> Rows:
        return Rows(table, new[table.name], before(table), closed)

    conversation_ids = [
        events.select("conversation_id", "event_time")
        for events in (of_messages, of_endpoints)
        if events is not None
    ]
    message_ids = [] if of_messages is None else [of_messages.select("message_id", "event_time")]
    if batch.views is not None and has_closed_rows and conversation_ids:
        message_ids.append(_shown_of(warehouse, union_all(conversation_ids)))
    created = None if of_endpoints is None else of_endpoints.where(F.col("event_type").isin(*CREATIONS))
    late_messages, late_conversations, known_late, arrivals = run_concurrently(
        warehouse.spark,
        partial(late, MESSAGES, message_ids, KEYS[MESSAGES.name]),
        partial(late, ENDPOINT_FACTS, conversation_ids, KEYS[ENDPOINT_FACTS.name]),
        partial(late, ENDPOINTS, conversation_ids, KEYS[ENDPOINTS.name]),
        # A creation that comes late finds the arrivals of messages that are closed by now.
        partial(late, MESSAGES, [created], ["conversation_id"]),
    )
    messages = rows(MESSAGES, late_messages)
    transaction_ids = []
    if of_messages is not None:
        transaction_ids.append(_received(of_messages, "event_time"))
    if of_queues is not None:
        named = of_queues.where("transaction_id is not null")
        transaction_ids.append(named.select(*TRANSACTION, "event_time"))
    if of_messages is not None and messages.open is not None and messages.late is not None:
        # A message that comes back needs the outcome of the transactions that had received it.
        back = messages.open.where(f"fold = {batch.number}").select(*messages.late.columns)
        times = of_messages.select("message_id", "event_time")
        received = _received(messages.late.unionByName(back), "message_id").join(times, "message_id")
        transaction_ids.append(received.drop("message_id"))
    return WorkingSet(
        messages=messages,
        conversations=rows(ENDPOINT_FACTS, late_conversations),
        transactions=rows(QUEUE_FACTS, late(QUEUE_FACTS, transaction_ids, KEYS[QUEUE_FACTS.name])),
        known=union_batches(warehouse, ENDPOINTS, before(ENDPOINTS), known_late),
        known_late=known_late,
        arrivals=arrivals,
    )


def _shown_of(warehouse: Warehouse, conversations: DataFrame) -> DataFrame:
    """(message_id, event_time) of closed messages that snapshots have shown, of these conversations.

    Args:
        warehouse: the tables.
        conversations: (conversation_id, event_time) of new events, which may know a message by another id.
    """
    closed = warehouse.read(MESSAGES).where("seen_at is not null and closed_on is not null")
    found = closed.select("message_id", "conversation_id")
    return found.join(conversations, "conversation_id", "inner").select("message_id", "event_time").distinct()


def _received(message_events: DataFrame, *names: str) -> DataFrame:
    """The transactions that received a message, each with the named columns of its event."""
    received = message_events.where("event_type = 'RECEIVED' and transaction_id is not null")
    return received.select(*TRANSACTION, *names)


def _new(batch: Batch, table: Table) -> DataFrame | None:
    events, shown = batch.events.get(table.name), batch.shown.get(table.name)
    if events is not None:
        nothing = {column.name: F.lit(None).cast(column.type) for column in SHOWN[table.name]}
        events = events.withColumns(nothing)
    there = [frame.select(*accepted_names(table.name)) for frame in (events, shown) if frame is not None]
    if not there:
        return None
    return union_all(there).withColumn("batch", F.lit(batch.number).cast("bigint"))
