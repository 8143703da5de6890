"""Write a batch into the ledger: its events and the open rows, each with the day on which it closes."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, Row, functions as F

from config.catalog import BINDINGS
from engine.differences import together
from engine.session import is_embedded
from engine.united import united
from pipelines.ledger.endpoints import endpoints, first_places
from pipelines.ledger.given_back import given_back
from pipelines.ledger.late import Reach, brought_back
from pipelines.ledger.open_rows import (
    Until,
    last_of_kind,
    messages_that_stay_open,
    open_conversations,
    open_queue_events,
    open_transactions,
)
from pipelines.ledger.queues import with_queue
from pipelines.ledger.sides import conversation_sides, without_target
from pipelines.snapshots.concluded import concluded
from pipelines.state.endpoints import latest_moves
from pipelines.state.of_messages import state_of_messages
from pipelines.state.transactions import TRANSACTION
from schemas import ACCEPTED, CONTRACTS
from schemas.events import CREATIONS, ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS, SHOWN, accepted_names
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from schemas.table import Table
from storage.small_frame import empty_frame, small_frame
from storage.warehouse import Warehouse, sql_text


@dataclass(frozen=True)
class Batch:
    """What a fold works on.

    Attributes:
        number: of the batch, and of the fold that writes it.
        events: the accepted events by input, with the contract's columns; inputs without any may be missing.
        shown: what new snapshots show, likewise, with the columns of accepted events.
        views: the complete views of all snapshots, `steps.take_snapshots.complete_views`; None if nothing
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
    until: Until
    reach: Reach
    bindings: Sequence[tuple[str, str, str, str]]
    has_queue_events: bool
    starts_anew: bool


@dataclass(frozen=True)
class _Rows:
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
        return _united(warehouse, self.table, self.new, self.open, self.late)

    def each_once(self, warehouse: Warehouse) -> DataFrame:
        """As `all`, also once the table is written: what came back late then is among what was open, too."""
        if self.open is None or self.late is None:
            return self.all(warehouse)
        event = list(self.table.key)
        still_there = self.open.join(self.late.select(*event), event, "left_anti")
        return _united(warehouse, self.table, self.new, still_there, self.late)


def _united(warehouse: Warehouse, table: Table, *frames: DataFrame | None) -> DataFrame:
    """The rows of all that there is.

    What can't have rows is left out: the embedded engine loses the names of columns where it finds out by
    itself that one side of a union is empty.
    """
    names = [*accepted_names(table.name), "batch"] if table.name in CONTRACTS else table.names
    there = [frame.select(*names) for frame in frames if frame is not None]
    if not there:
        return empty_frame(warehouse.spark, table.struct).select(*names)
    return united(there)


def write_ledger(warehouse: Warehouse, batch: Batch) -> None:
    """Write the three event tables and `endpoints`, each in one commit.

    What is new and what was open is written with its day of closing. Closed rows stay where they are, but
    for those of a message, conversation or transaction that new events concern.

    What is read after a table was written gives the same rows as before: rows of this batch are passed over,
    and those that this fold has moved are told by its number. Only what came back late is there twice then,
    as it was kept and as it was moved: what reads another table than its own must not count rows, or asks for
    `_Rows.each_once`.
    """
    with ExitStack() as stack:

        def keep(rows: DataFrame) -> DataFrame:
            return stack.enter_context(warehouse.kept(rows))

        looked = _looked_at(warehouse, batch, keep)
        messages, conversations, transactions = (
            rows.all(warehouse) for rows in (looked.messages, looked.conversations, looked.transactions)
        )
        if batch.views is not None:
            with_shown = concluded(
                messages,
                conversations,
                transactions,
                looked.known,
                arrivals=looked.arrivals,
                views=batch.views,
                bindings=small_frame(warehouse.spark, batch.bindings, BINDINGS),
                number=batch.number,
                every_receive_counts=not batch.has_queue_events,
                keep=keep,
            )
            messages, conversations, known = with_shown.messages, with_shown.conversations, with_shown.known
            creations = conversations
        else:
            known = looked.known
            creations = looked.conversations.each_once(warehouse)
        until = batch.until
        state = state_of_messages(
            messages,
            conversations,
            transactions,
            as_of=until.state_at,
            every_receive_counts=not batch.has_queue_events,
            keep=keep,
        )
        arrived = _united(warehouse, MESSAGES, messages, looked.arrivals)
        sides = keep(conversation_sides(conversations, arrived, known))
        returned = None
        if batch.has_queue_events:
            returned = given_back(
                messages,
                transactions,
                state.uncommitted,
                state.messages,
                sides,
                state_at=until.state_at,
                keep=keep,
            )
        open_messages = keep(messages_that_stay_open(messages, state.messages, returned, until))
        transactions_open = keep(
            open_transactions(messages, transactions, state.uncommitted, open_messages, until)
        )
        last = last_of_kind(transactions, until)
        queue_events_open = keep(open_queue_events(transactions, transactions_open, last, until))
        conversations_open = keep(open_conversations(conversations, sides, open_messages, until))
        alone = without_target(sides)
        places = first_places(
            arrived.join(alone, "conversation_id", "left_semi"),
            known.join(alone, "conversation_id", "left_semi"),
        )
        rules = keep(warehouse.read(PRIORITY_RULES))
        bindings = keep(small_frame(warehouse.spark, batch.bindings, BINDINGS))
        moves = keep(latest_moves(conversations))
        found = with_queue(endpoints(creations, sides, moves, places, known, rules), bindings)
        write = partial(_write, warehouse, batch)
        together(
            warehouse.spark,
            partial(
                write,
                MESSAGES,
                _with_day(messages, open_messages.select("message_id"), until),
                looked.messages.late,
            ),
            partial(
                write,
                ENDPOINT_FACTS,
                _with_day(conversations, conversations_open, until),
                looked.conversations.late,
            ),
            partial(
                write,
                QUEUE_FACTS,
                _with_day(transactions, queue_events_open, until),
                looked.transactions.late,
            ),
            partial(write, ENDPOINTS, _flagged(found, conversations_open, until), looked.known_late),
        )


KEYS = {
    MESSAGES.name: ["message_id"],
    ENDPOINT_FACTS.name: ["conversation_id"],
    QUEUE_FACTS.name: TRANSACTION,
    ENDPOINTS.name: ["conversation_id"],
}
"""What closes together, by table."""
MOST_NAMED = 500
"""So many keys are named one by one where closed rows move; more of them move with their partitions."""


@dataclass(frozen=True)
class _Looked:
    """All that a fold looks at."""

    messages: _Rows
    conversations: _Rows
    transactions: _Rows
    known: DataFrame
    known_late: DataFrame | None
    arrivals: DataFrame | None


def _looked_at(warehouse: Warehouse, batch: Batch, keep: Callable[[DataFrame], DataFrame]) -> _Looked:
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
        return keep(brought_back(closed, united(there), key, batch.reach))

    def before(table: Table) -> DataFrame | None:
        """The rows of earlier batches that were open, or that a broken-off attempt of this fold wrote."""
        if batch.number == 1 or not warehouse.exists(table):
            return None
        rows = warehouse.read(table)
        if not batch.starts_anew:
            rows = rows.where(f"closed_on is null or fold = {batch.number}")
        # An endpoint is of no batch.
        return rows if table is ENDPOINTS else rows.where(f"batch < {batch.number}")

    def rows(table: Table, ids: Sequence[DataFrame | None]) -> _Rows:
        return _Rows(table, new[table.name], before(table), late(table, ids, KEYS[table.name]))

    conversation_ids = [
        events.select("conversation_id", "event_time")
        for events in (of_messages, of_endpoints)
        if events is not None
    ]
    shown_ids = _shown_of(warehouse, batch, of_messages, of_endpoints) if has_closed_rows else _Ids([], [])
    conversation_ids += shown_ids.conversations
    message_ids = [] if of_messages is None else [of_messages.select("message_id", "event_time")]
    messages = rows(MESSAGES, [*message_ids, *shown_ids.messages])
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
    known_late = late(ENDPOINTS, conversation_ids, KEYS[ENDPOINTS.name])
    created = None if of_endpoints is None else of_endpoints.where(F.col("event_type").isin(*CREATIONS))
    return _Looked(
        messages=messages,
        conversations=rows(ENDPOINT_FACTS, conversation_ids),
        transactions=rows(QUEUE_FACTS, transaction_ids),
        known=_united(warehouse, ENDPOINTS, before(ENDPOINTS), known_late),
        known_late=known_late,
        # A creation that comes late finds the arrivals of messages that are closed by now.
        arrivals=late(MESSAGES, [created], ["conversation_id"]),
    )


@dataclass(frozen=True)
class _Ids:
    """Ids of rows, with the time of the event that asks for them."""

    messages: list[DataFrame]
    conversations: list[DataFrame]


def _shown_of(
    warehouse: Warehouse, batch: Batch, of_messages: DataFrame | None, of_endpoints: DataFrame | None
) -> _Ids:
    """What snapshots have shown, and is closed, of new events' conversations, whatever their spelling."""
    new = [events for events in (of_messages, of_endpoints) if events is not None]
    if batch.views is None or not new:
        return _Ids([], [])
    asking = united(
        [events.select(F.upper("conversation_id").alias("upper"), "event_time") for events in new]
    )

    def shown(table: Table, name: str) -> list[DataFrame]:
        closed = warehouse.read(table).where("seen_at is not null and closed_on is not null")
        found = closed.select(name, F.upper("conversation_id").alias("upper"))
        return [found.join(asking, "upper", "inner").select(name, "event_time").distinct()]

    return _Ids(shown(MESSAGES, "message_id"), shown(ENDPOINT_FACTS, "conversation_id"))


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
    return united(there).withColumn("batch", F.lit(batch.number).cast("bigint"))


def _with_day(rows: DataFrame, still_open: DataFrame, until: Until) -> DataFrame:
    """Add `closed_on` to rows that cost little to read: null for the few whose key stays open, else the day.

    The embedded engine sorts rows by partition before it writes them, unless it knows that all rows of a
    stretch are of the same one. To read them twice costs less there.
    """
    if not is_embedded(rows.sparkSession):
        return _flagged(rows, still_open, until)
    closed = rows.join(still_open, still_open.columns, "left_anti")
    stays = rows.join(still_open, still_open.columns, "left_semi")
    return closed.withColumn("closed_on", F.lit(until.closed_on)).unionByName(
        stays.withColumn("closed_on", F.lit(None).cast("date"))
    )


def _flagged(rows: DataFrame, still_open: DataFrame, until: Until) -> DataFrame:
    """As `_with_day`, for rows that cost more to compute than to sort."""
    few = still_open.withColumn("is_open", F.lit(True))
    closed_on = F.when(F.col("is_open").isNull(), F.lit(until.closed_on))
    return rows.join(few, still_open.columns, "left").withColumn("closed_on", closed_on)


def _write(warehouse: Warehouse, batch: Batch, table: Table, rows: DataFrame, late: DataFrame | None) -> None:
    """Replace what was open, what this fold wrote before, and the late rows, by these."""
    stamped = rows.withColumn("fold", F.lit(batch.number).cast("bigint")).select(*table.names)
    if batch.starts_anew:
        warehouse.replace(table, stamped)
        return
    where = f"closed_on IS NULL OR fold = {batch.number}"
    key = KEYS[table.name]
    if late is None:
        warehouse.replace(table, stamped, where=where)
        return
    # Rows of a key that are in other partitions are out of reach, and stay.
    moving = late.select(*key, *table.partition_by).distinct()
    moved = moving.limit(MOST_NAMED + 1).collect()
    if len(moved) > MOST_NAMED:
        # The other rows of these partitions are written again as they were: this fold has no say in them.
        partitions = moving.select(*table.partition_by).distinct().collect()
        touched = " OR ".join(f"({_partition(row)})" for row in partitions)
        others = warehouse.read(table).where(touched).join(moving, moving.columns, "left_anti")
        stamped = stamped.unionByName(others.select(*table.names))
        where += f" OR {touched}"
    elif moved:
        where += " OR " + " OR ".join(f"({_partition(row)} AND {_key(row, key)})" for row in moved)
    warehouse.replace(table, stamped, where=where)


def _partition(row: Row) -> str:
    return f"closed_on = DATE'{row.closed_on}' AND fold = {row.fold}"


def _key(row: Row, key: Sequence[str]) -> str:
    # The embedded engine replaces rows for which a predicate is null, such as those without a transaction.
    return " AND ".join(f"{name} IS NOT NULL AND {name} = {sql_text(row[name])}" for name in key)
