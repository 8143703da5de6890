"""Everything that a queue is told, as rows in the order in which it is played."""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame, functions as F

from pipelines.conformance import event_codes as h
from pipelines.engine.union import union_all
from pipelines.schedules.ready import system_first
from pipelines.state.endpoints import SIDE, with_queue
from pipelines.state.events_before import events_before
from pipelines.state.timeline_rows import row_position, side_text
from pipelines.state.transactions import LOCKING, TRANSACTION, first_outcomes
from schemas.events import MOVE
from schemas.keys import QUEUE

PAYLOAD = {
    "message_id": "string",
    "side": "string",
    "group_id": "string",
    "transaction_id": "string",
    "arrived": "bigint",
    "queuing_order": "bigint",
    "level": "int",
    "logged": "int",
    "rank": "int",
    "sequence": "bigint",
    "has_where": "boolean",
    "committed": "bigint",
    "rolled_back": "bigint",
    "is_outside": "boolean",
}
"""What a row carries, each kind some of it. Times are microseconds; `side` is that of `carried`;
`logged` is null where the server's level is not known; `committed` and `rolled_back` are the first outcomes
of the row's transaction; `is_outside`: a message was received before its endpoint was there, or arrived
after that had ended."""

ORDER = ("place",)
COLUMNS = ("queue_number", *ORDER, *PAYLOAD)
RECEIVED = (h.TAKEN, h.GONE)
"""What becomes of a message, whether or not its endpoint is there yet."""


@dataclass(frozen=True)
class Ledger:
    """The rows that may matter; all of them happened before as_of, or are filtered here.

    Attributes:
        messages: `state.messages.facts_of_many` of the message events.
    """

    messages: DataFrame
    message_events: DataFrame
    endpoint_events: DataFrame
    queue_events: DataFrame
    endpoints: DataFrame


def timeline(ledger: Ledger, numbered: DataFrame, bindings: DataFrame, *, as_of: datetime) -> DataFrame:
    """What happened on the queues before as_of.

    Args:
        ledger: what is known.
        numbered: (instance, database, queue, queue_number) of the queues asked for, unique.
        bindings: the catalog's (instance, database, service, queue).
        as_of: the instant.

    Returns:
        `COLUMNS`; the order of a queue's rows is `ORDER`. A message that a transaction received twice at a
        moment has two rows of it.
    """
    message_events, endpoint_events, queue_events = (
        events_before(events, as_of)
        for events in (ledger.message_events, ledger.endpoint_events, ledger.queue_events)
    )
    sides = _sides(ledger.endpoints, numbered, bindings, as_of)
    received = _received(message_events, queue_events, numbered)
    is_of_message = F.col("kind").isin(*RECEIVED)
    of_sides = (
        _of_messages(ledger.messages)
        .unionByName(_of_endpoints(endpoint_events), allowMissingColumns=True)
        .unionByName(
            received.where(is_of_message).drop("queue_number", "group_id", "has_where"),
            allowMissingColumns=True,
        )
    )
    ended = sides.where("ended_at is not null").select(
        "queue_number",
        F.lit(h.END).alias("kind"),
        F.col("ended_at").alias("time"),
        *SIDE,
        F.col("first_group_id").alias("group_id"),
    )
    parts = (_there(sides, of_sides, as_of), ended, received.where(~is_of_message).drop(*SIDE))
    return union_all([_told(part) for part in parts])


def _sides(endpoints: DataFrame, numbered: DataFrame, bindings: DataFrame, as_of: datetime) -> DataFrame:
    """The endpoints of the queues: `queue_number`, levels, first group, creation, and end before as_of."""
    exists = endpoints.where(F.col("created_at") < F.lit(as_of)).drop("queue", "conversation_group_id")
    return (
        F.broadcast(numbered)
        .join(with_queue(exists, bindings), QUEUE)
        .select(
            *SIDE,
            "queue_number",
            "first_group_id",
            "priority",
            "logged_priority",
            "created_at",
            F.when(F.col("ended_at") < F.lit(as_of), F.col("ended_at")).alias("ended_at"),
        )
    )


def _of_messages(known: DataFrame) -> DataFrame:
    """Messages as they are sent, which is a statement, and as they arrive."""
    sent, arrived = (
        F.struct(F.lit(kind).alias("kind"), side.alias("is_initiator"), F.col(time).alias("time"))
        for kind, side, time in (
            (h.STATEMENT, F.col("sent_by_initiator"), "sent_at"),
            (h.ARRIVAL, ~F.col("sent_by_initiator"), "arrived_at"),
        )
    )
    told = {
        "message_id": F.col("message_id"),
        "arrived": F.unix_micros("arrived_at"),
        "queuing_order": F.col("queuing_order"),
        "rank": system_first(),
        "sequence": F.col("message_sequence_number"),
    }
    rows = known.withColumn("moment", F.explode(F.array(sent, arrived))).select("*", "moment.*")
    columns = [F.when(F.col("kind") == h.ARRIVAL, value).alias(name) for name, value in told.items()]
    return rows.where("time is not null").select("kind", "time", *SIDE, *columns)


def _of_endpoints(endpoint_events: DataFrame) -> DataFrame:
    """Statements that begin dialogs, and moves; of several moves at an instant the last one counts."""
    moves = (
        endpoint_events.where(F.col("event_type") == MOVE)
        .groupBy(*SIDE, F.col("event_time").alias("time"))
        .agg(F.max_by("conversation_group_id", "event_id").alias("moved_to"))
        .withColumn("kind", F.lit(h.MOVE))
    )
    begun = endpoint_events.where(F.col("event_type") == "BEGIN_DIALOG").select(
        F.lit(h.STATEMENT).alias("kind"), F.col("event_time").alias("time"), *SIDE
    )
    return moves.unionByName(begun, allowMissingColumns=True)


def _received(message_events: DataFrame, queue_events: DataFrame, numbered: DataFrame) -> DataFrame:
    """Messages as they are received, and statements that lock groups, with the outcomes of transactions."""
    taken = message_events.where("event_type = 'RECEIVED'").select(
        F.when(F.col("inferred"), h.GONE).otherwise(h.TAKEN).alias("kind"),
        F.col("event_time").alias("time"),
        "conversation_id",
        (~F.col("sent_by_initiator")).alias("is_initiator"),
        "message_id",
        *TRANSACTION,
    )
    is_receive = F.col("event_type") == "RECEIVE"
    locking = (
        F.broadcast(numbered)
        .join(queue_events.where(F.col("event_type").isin(*LOCKING)), QUEUE)
        # A RECEIVE that names no group matters for its WHERE alone.
        .where(F.col("conversation_group_id").isNotNull() | (is_receive & F.col("has_where")))
        .select(
            F.when(is_receive, h.RECEIVE).otherwise(h.GET_GROUP).alias("kind"),
            F.col("event_time").alias("time"),
            "queue_number",
            F.col("conversation_group_id").alias("group_id"),
            "has_where",
            *TRANSACTION,
        )
    )
    ended = first_outcomes(queue_events).select(
        *TRANSACTION,
        F.unix_micros("committed_at").alias("committed"),
        F.unix_micros("rolled_back_at").alias("rolled_back"),
    )
    # The smaller side stands on the left: the embedded engine holds that one in memory.
    return ended.join(taken.unionByName(locking, allowMissingColumns=True), TRANSACTION, "right")


def _there(sides: DataFrame, rows: DataFrame, as_of: datetime) -> DataFrame:
    """Rows that concern endpoints of the queues, at the time when they do."""
    time, created_at, ended_at = F.col("time"), F.col("created_at"), F.col("ended_at")
    is_arrival, is_received = F.col("kind") == h.ARRIVAL, F.col("kind").isin(*RECEIVED)
    there = sides.join(rows, SIDE).withColumn(
        "time", F.when(is_arrival, F.greatest(time, created_at)).otherwise(time)
    )
    in_time = is_arrival | is_received | (time >= created_at)
    is_late = F.coalesce(time > ended_at, F.lit(False))
    return there.where((time < F.lit(as_of)) & in_time).withColumns(
        {
            "group_id": F.coalesce("moved_to", "first_group_id"),
            "level": F.when(is_arrival, F.col("priority")),
            "logged": F.when(is_arrival, F.col("logged_priority")),
            "is_outside": F.when(is_arrival, is_late).otherwise(is_received & (time < created_at)),
        }
    )


def _told(rows: DataFrame) -> DataFrame:
    """`COLUMNS` of rows with `kind`, `time`, and some of what is told; what they don't have is null."""
    had = {name: F.col(name) for name in rows.columns} | (
        {"side": side_text()} if SIDE[0] in rows.columns else {}
    )
    columns = [had.get(name, F.lit(None)).cast(type).alias(name) for name, type in PAYLOAD.items()]
    return rows.select(
        "queue_number", row_position(F.unix_micros("time"), F.col("kind")).alias("place"), *columns
    )
