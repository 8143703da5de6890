"""The events of queues, as rows in the order in which they are played.

At one instant the event code decides. Decisions come last: the state before a decision has all other events
of its instant. The order of moves, arrivals, ends and outcomes at one instant does not matter, except that
locks follow moves.
"""

from datetime import datetime

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.engine.frames import union_all
from pipelines.queue_machine.workers import arrival_payload, endpoint_text, event_rows, row_position
from pipelines.state.endpoints import SIDE, with_queue
from pipelines.state.ledger import Ledger
from pipelines.state.transactions import LOCKING, TRANSACTION, first_outcomes
from schemas.events import MOVE as MOVE_TYPE
from schemas.keys import QUEUE

MOVE = 0
ARRIVAL = 1
END = 2
GONE = 3
"""A snapshot shows that a message has left the queue. Its receiver is unknown, so it is no decision."""
GET_GROUP = 4
"""A GET CONVERSATION GROUP that locks a group."""
STATEMENT = 5
"""A SEND or BEGIN DIALOG of an endpoint of the queue: it locks the group for the moment."""
RECEIVE = 6
RECEIVED = 7
"""A message is received."""

PAYLOAD = {
    "message_id": "string",
    "endpoint": "string",
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
"""The columns of events; each kind has some of them. Times are microseconds; `endpoint` is an
`endpoint_text`; `logged` is the server's level, null if unknown; `committed` and `rolled_back` are the first
outcomes of the row's transaction; `is_outside`: a message was received before its endpoint existed, or
arrived after the endpoint had ended."""

ORDER = ("position",)
COLUMNS = ("queue_number", *ORDER, *PAYLOAD)
RECEIPTS = (RECEIVED, GONE)
"""A message leaves the queue, even if its endpoint does not exist yet."""


def timeline(
    ledger: Ledger, messages: DataFrame, numbered: DataFrame, bindings: DataFrame, *, as_of: datetime
) -> DataFrame:
    """The events of the queues before as_of.

    Args:
        ledger: the rows that can matter, with events of any time.
        messages: `describe_messages` of the message events.
        numbered: (instance, database, queue, queue_number) of the queues, unique.
        bindings: the catalog's (instance, database, service, queue).
        as_of: the instant.

    Returns:
        `COLUMNS`; the order of a queue's rows is `ORDER`. A message that a transaction received twice at a
        moment has two rows.
    """
    so_far = ledger.before(as_of)
    endpoints = _endpoints(ledger.endpoints, numbered, bindings, as_of)
    receives = _receives(so_far, numbered)
    is_receipt = F.col("kind").isin(*RECEIPTS)
    receipts = receives.where(is_receipt).drop("queue_number", "group_id", "has_where")
    events = (
        _message_events(messages)
        .unionByName(_endpoint_events(so_far.endpoint_events), allowMissingColumns=True)
        .unionByName(receipts, allowMissingColumns=True)
    )
    ends = endpoints.where("ended_at is not null").select(
        "queue_number",
        F.lit(END).alias("kind"),
        F.col("ended_at").alias("time"),
        *SIDE,
        F.col("first_group_id").alias("group_id"),
    )
    statements = receives.where(~is_receipt).drop(*SIDE)
    parts = (_of_endpoints(endpoints, events, as_of), ends, statements)
    return union_all([_with_all_columns(part) for part in parts])


def _endpoints(endpoints: DataFrame, numbered: DataFrame, bindings: DataFrame, as_of: datetime) -> DataFrame:
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


def _message_events(messages: DataFrame) -> DataFrame:
    """Messages are sent, which is a statement, and arrive."""
    sent, arrived = (
        F.struct(F.lit(kind).alias("kind"), is_initiator.alias("is_initiator"), F.col(time).alias("time"))
        for kind, is_initiator, time in (
            (STATEMENT, F.col("sent_by_initiator"), "sent_at"),
            (ARRIVAL, ~F.col("sent_by_initiator"), "arrived_at"),
        )
    )
    rows = messages.withColumn("moment", F.explode(F.array(sent, arrived))).select("*", "moment.*")
    keys = arrival_payload()
    columns = [F.when(F.col("kind") == ARRIVAL, value).alias(name) for name, value in keys.items()]
    return rows.where("time is not null").select("kind", "time", *SIDE, *columns)


def _endpoint_events(endpoint_events: DataFrame) -> DataFrame:
    """Statements that begin dialogs, and moves; the last of several moves at an instant counts."""
    moves = (
        endpoint_events.where(F.col("event_type") == MOVE_TYPE)
        .groupBy(*SIDE, F.col("event_time").alias("time"))
        .agg(F.max_by("conversation_group_id", "event_id").alias("moved_to"))
        .withColumn("kind", F.lit(MOVE))
    )
    begun = endpoint_events.where(F.col("event_type") == "BEGIN_DIALOG").select(
        F.lit(STATEMENT).alias("kind"), F.col("event_time").alias("time"), *SIDE
    )
    return moves.unionByName(begun, allowMissingColumns=True)


def _receives(ledger: Ledger, numbered: DataFrame) -> DataFrame:
    """Receipts of messages, and statements that lock groups, with the outcomes of their transactions."""
    receipts = ledger.message_events.where("event_type = 'RECEIVED'").select(
        F.when(F.col("inferred"), GONE).otherwise(RECEIVED).alias("kind"),
        F.col("event_time").alias("time"),
        "conversation_id",
        (~F.col("sent_by_initiator")).alias("is_initiator"),
        "message_id",
        *TRANSACTION,
    )
    is_receive = F.col("event_type") == "RECEIVE"
    locking = (
        F.broadcast(numbered)
        .join(ledger.queue_events.where(F.col("event_type").isin(*LOCKING)), QUEUE)
        # A RECEIVE that names no group matters for its WHERE alone.
        .where(F.col("conversation_group_id").isNotNull() | (is_receive & F.col("has_where")))
        .select(
            F.when(is_receive, RECEIVE).otherwise(GET_GROUP).alias("kind"),
            F.col("event_time").alias("time"),
            "queue_number",
            F.col("conversation_group_id").alias("group_id"),
            "has_where",
            *TRANSACTION,
        )
    )
    outcomes = first_outcomes(ledger.queue_events).select(
        *TRANSACTION,
        F.unix_micros("committed_at").alias("committed"),
        F.unix_micros("rolled_back_at").alias("rolled_back"),
    )
    return outcomes.join(receipts.unionByName(locking, allowMissingColumns=True), TRANSACTION, "right")


def _of_endpoints(endpoints: DataFrame, rows: DataFrame, as_of: datetime) -> DataFrame:
    """Rows of endpoints of the queues; a message arrives at the creation of its endpoint at the earliest."""
    time, created_at, ended_at = F.col("time"), F.col("created_at"), F.col("ended_at")
    is_arrival, is_receipt = F.col("kind") == ARRIVAL, F.col("kind").isin(*RECEIPTS)
    joined = endpoints.join(rows, SIDE).withColumn(
        "time", F.when(is_arrival, F.greatest(time, created_at)).otherwise(time)
    )
    in_time = is_arrival | is_receipt | (time >= created_at)
    is_late = F.coalesce(time > ended_at, F.lit(False))
    return joined.where((time < F.lit(as_of)) & in_time).withColumns(
        {
            "group_id": F.coalesce("moved_to", "first_group_id"),
            "level": F.when(is_arrival, F.col("priority")),
            "logged": F.when(is_arrival, F.col("logged_priority")),
            "is_outside": F.when(is_arrival, is_late).otherwise(is_receipt & (time < created_at)),
        }
    )


def _with_all_columns(rows: DataFrame) -> DataFrame:
    """`COLUMNS` of rows with `kind`, `time`, and some columns of `PAYLOAD`; missing columns are null."""
    payload: dict[str, Column | str] = {name: name for name in rows.columns}
    if SIDE[0] in rows.columns:
        payload["endpoint"] = endpoint_text()
    position = row_position(F.unix_micros("time"), F.col("kind"))
    return event_rows(rows, position, payload, PAYLOAD).select(*COLUMNS)
