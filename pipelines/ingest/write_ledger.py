"""Write a batch into the ledger: its events and the open rows, each with the day on which it closes."""

from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, functions as F

from pipelines.config.catalog import BINDINGS
from pipelines.engine.concurrency import run_concurrently
from pipelines.engine.frames import small_frame
from pipelines.engine.materialize import Materialize
from pipelines.engine.ordered import with_value_by_key
from pipelines.engine.small_jobs import is_set_for_small_jobs, materialize_if_small
from pipelines.ingest.endpoints import find_first_arrivals, find_kinds, resolve_endpoints
from pipelines.ingest.retention import (
    CloseAt,
    select_closing_conversations,
    select_last_of_kind,
    select_open_conversations,
    select_open_messages,
    select_open_queue_events,
    select_open_transactions,
    select_redelivered,
)
from pipelines.ingest.sides import conversation_sides, without_target
from pipelines.ingest.snapshots.contradictions import overrule_ends
from pipelines.ingest.snapshots.inference import infer
from pipelines.ingest.snapshots.inferred_ends import BINDING_PERIODS, views_of_queues
from pipelines.ingest.working_set import KEYS, Batch, WorkingSet, read_working_set, union_batches
from pipelines.ladder.ladder import levels_of_kinds
from pipelines.state.endpoints import latest_moves, with_queue
from pipelines.state.ledger import Ledger
from pipelines.state.open_messages import StateOfMessages, state_of_messages
from pipelines.storage.placed import only_left_out
from pipelines.storage.ranges import of_partitions
from pipelines.storage.warehouse import Warehouse
from schemas.events import ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES
from schemas.table import Table


def write_ledger(warehouse: Warehouse, batch: Batch, materialize_state: Materialize) -> StateOfMessages:
    """Write the three event tables and `endpoints`, each in one commit.

    Args:
        warehouse: the tables.
        batch: the batch.
        materialize_state: materializes the returned state.

    Returns:
        The state of messages at `batch.close_at.state_at`, as the written tables give it.

    New and open rows are written with their `closed_on`. Closed rows stay where they are, except those of a
    message, conversation or transaction that new events refer to.

    A frame that reads a table after it was written gives the same rows as before: rows of this batch are
    ignored, and moved rows have its number in `fold`. Only late rows are there twice, as closed and as moved
    rows. A frame that reads another table than its own must not count rows, or uses `Rows.each_once`.
    """
    with warehouse.materializing() as materialize:
        working_set = read_working_set(warehouse, batch, materialize)
        facts = _facts(warehouse, batch, working_set, materialize)
        state, made = run_concurrently(
            warehouse.spark,
            partial(
                state_of_messages, facts.ledger, as_of=batch.close_at.state_at, materialize=materialize_state
            ),
            partial(_endpoints, warehouse, batch, facts, materialize),
        )
        still_open = _still_open(warehouse, batch, facts, state, made.sides, materialize)
        close_at = batch.close_at
        write = partial(_write, warehouse, batch)
        run_concurrently(
            warehouse.spark,
            partial(
                write,
                MESSAGES,
                _with_closed_on(facts.ledger.message_events, still_open.messages, close_at),
                working_set.messages.late,
            ),
            partial(
                write,
                ENDPOINT_FACTS,
                _with_closed_on(facts.ledger.endpoint_events, still_open.conversations, close_at),
                working_set.conversations.late,
            ),
            partial(
                write,
                QUEUE_FACTS,
                _with_closed_on(facts.ledger.queue_events, still_open.queue_events, close_at),
                working_set.transactions.late,
            ),
            partial(
                write,
                ENDPOINTS,
                _with_closed_on(made.rows, still_open.conversations, close_at, is_cheap=False),
                working_set.known_late,
            ),
        )
    return state if batch.starts_over else replace(state, complete_from=batch.closed_until)


@dataclass(frozen=True)
class _Facts:
    """The rows of the working set, with what snapshots imply.

    Attributes:
        ledger: accepted events with `batch`, and the `endpoints` rows of earlier batches.
        creations: the endpoint events, each once.
        arrived: the message events, and `WorkingSet.arrivals`.
    """

    ledger: Ledger
    creations: DataFrame
    arrived: DataFrame


def _facts(warehouse: Warehouse, batch: Batch, working_set: WorkingSet, materialize: Materialize) -> _Facts:
    of_events = (working_set.messages, working_set.conversations, working_set.transactions)
    messages, conversations, transactions, known = run_concurrently(
        warehouse.spark,
        *[partial(materialize_if_small, rows.all(warehouse), materialize) for rows in of_events],
        partial(materialize_if_small, working_set.known, materialize),
    )
    has_views = bool(batch.view_events) or batch.views is not None
    if has_views:
        conversations = overrule_ends(conversations, messages, materialize)
    ledger = Ledger(messages, conversations, transactions, known, batch.has_queue_events)
    if batch.views is not None:
        ledger = infer(
            ledger,
            arrivals=working_set.arrivals,
            views=batch.views,
            new_views=batch.new_views,
            bindings=small_frame(warehouse.spark, batch.bindings, BINDINGS),
            queues=views_of_queues(
                batch.views, small_frame(warehouse.spark, batch.binding_periods, BINDING_PERIODS)
            ),
            number=batch.number,
            has_views_by_hand=batch.has_views_by_hand,
            materialize=materialize,
        )
        creations = ledger.endpoint_events
    elif has_views or is_set_for_small_jobs(warehouse.spark):
        # The first snapshots are the first batch. Materialized rows stay the same when the table is written.
        creations = ledger.endpoint_events
    else:
        creations = working_set.conversations.each_once(warehouse)
    arrived = union_batches(warehouse, MESSAGES, ledger.message_events, working_set.arrivals)
    return _Facts(ledger, creations, arrived)


@dataclass(frozen=True)
class _Endpoints:
    """The endpoints of all conversations of the working set.

    Attributes:
        sides: `sides.conversation_sides`, materialized.
        rows: the rows of the table `endpoints`, without closed_on and fold.
    """

    sides: DataFrame
    rows: DataFrame


def _endpoints(warehouse: Warehouse, batch: Batch, facts: _Facts, materialize: Materialize) -> _Endpoints:
    sides = materialize(
        conversation_sides(facts.ledger.endpoint_events, facts.arrived, facts.ledger.endpoints)
    )
    alone = without_target(sides)
    places = materialize(
        find_first_arrivals(
            facts.arrived.join(alone, "conversation_id", "left_semi"),
            facts.ledger.endpoints.join(alone, "conversation_id", "left_semi"),
        )
    )
    moves = materialize(latest_moves(facts.ledger.endpoint_events))
    kinds = materialize(find_kinds(facts.ledger.endpoint_events, places))
    bindings = small_frame(warehouse.spark, batch.bindings, BINDINGS)
    # The ladder reads the rules once a step.
    rules = materialize(warehouse.read(PRIORITY_RULES))
    levels = materialize(with_queue(levels_of_kinds(kinds, rules), bindings))
    return _Endpoints(
        sides,
        resolve_endpoints(facts.creations, sides, moves, places, facts.ledger.endpoints, levels, batch.views),
    )


@dataclass(frozen=True)
class _Keys:
    """The keys of rows that stay open: the named ones, or all but the named ones.

    Attributes:
        named: unique, materialized; the fewer, the faster.
        stay: whether these stay open; they close otherwise.
    """

    named: DataFrame
    stay: bool = True


@dataclass(frozen=True)
class _StillOpen:
    """The rows that stay open, by the keys of rows that close together; queue events by their own key."""

    messages: _Keys
    conversations: _Keys
    queue_events: _Keys


def _still_open(
    warehouse: Warehouse,
    batch: Batch,
    facts: _Facts,
    state: StateOfMessages,
    sides: DataFrame,
    materialize: Materialize,
) -> _StillOpen:
    close_at = batch.close_at
    returned = None
    if batch.has_queue_events:
        returned = select_redelivered(facts.ledger, state, sides, materialize=materialize)
    messages = materialize(
        select_open_messages(facts.ledger.message_events, state.messages, returned, close_at)
    )

    def queue_events() -> _Keys:
        transactions = materialize(
            select_open_transactions(facts.ledger, state.uncommitted, messages, close_at)
        )
        last = select_last_of_kind(facts.ledger.queue_events, close_at)
        return _Keys(
            materialize(select_open_queue_events(facts.ledger.queue_events, transactions, last, close_at))
        )

    def conversations() -> _Keys:
        # Most conversations of a snapshot are alive, and most conversations of a log have ended.
        if batch.view_events:
            return _Keys(materialize(select_closing_conversations(sides, messages, close_at)), stay=False)
        return _Keys(materialize(select_open_conversations(sides, messages, close_at)))

    of_queues, of_endpoints = run_concurrently(warehouse.spark, queue_events, conversations)
    return _StillOpen(_Keys(messages.where("is_first").select("message_id")), of_endpoints, of_queues)


def _with_closed_on(
    rows: DataFrame, still_open: _Keys, close_at: CloseAt, *, is_cheap: bool = True
) -> DataFrame:
    """Add `closed_on`: null for rows whose key stays open, else the day on which the batch closes."""
    stays, closes = F.lit(None).cast("date"), F.lit(close_at.closed_on)
    return with_value_by_key(
        rows,
        still_open.named,
        "closed_on",
        if_in_keys=stays if still_open.stay else closes,
        otherwise=closes if still_open.stay else stays,
        is_cheap=is_cheap,
    )


def _write(warehouse: Warehouse, batch: Batch, table: Table, rows: DataFrame, late: DataFrame | None) -> None:
    """Replace the open rows, the rows of an earlier attempt at this batch, and the late rows by these."""
    if table is not ENDPOINTS and batch.places.left_out:
        rows = rows.unionByName(_left_out(warehouse, batch, table).select(*rows.columns))
    stamped = rows.withColumn("fold", F.lit(batch.number).cast("bigint")).select(*table.names)
    if batch.starts_over:
        warehouse.replace(table, stamped)
        return
    where = f"closed_on IS NULL OR fold = {batch.number}"
    # Rows of a key in partitions beyond the lookback stay.
    moving = None if late is None else late.select(*KEYS[table.name], *table.partition_by).distinct()
    partitions = [] if moving is None else moving.select(*table.partition_by).distinct().collect()
    if moving is not None and partitions:
        # Other rows of the partitions are written again unchanged. A condition that names the keys would grow
        # with them, and save little: files are replaced as a whole, and keys have no order in them.
        touched = of_partitions((row.closed_on, row.fold) for row in partitions)
        others = warehouse.read_with_left_out(table).where(touched).join(moving, moving.columns, "left_anti")
        stamped = stamped.unionByName(others.select(*table.names))
        where += f" OR {touched}"
    warehouse.replace(table, stamped, where=where)


def _left_out(warehouse: Warehouse, batch: Batch, table: Table) -> DataFrame:
    """The open rows, and the new ones, of databases that are left out: they are kept as they are."""
    rows = warehouse.read_with_left_out(table).where(f"batch < {batch.number}")
    if not batch.starts_over:
        rows = rows.where(f"closed_on is null or fold = {batch.number}")
    new = batch.new_rows(table)
    if new is not None:
        rows = rows.unionByName(
            new.withColumns({"closed_on": F.lit(None).cast("date"), "fold": F.lit(0).cast("bigint")})
        )
    return only_left_out(rows, batch.places)
