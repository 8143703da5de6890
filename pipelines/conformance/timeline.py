"""Everything that a queue is told, as rows in the order in which it is played."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import reduce

from pyspark.sql import Column, DataFrame, functions as F

from pipelines.conformance import happenings as h
from pipelines.ledger.queues import with_queue
from pipelines.schedules.ready import system_first
from pipelines.state.carried import rows_of_kind
from pipelines.state.endpoints import SIDE
from pipelines.state.happened import happened
from pipelines.state.messages import facts
from pipelines.state.transactions import LOCKING, TRANSACTION, first_outcomes
from schemas.events import MOVE
from schemas.keys import QUEUE

PAYLOAD = {
    "message_id": "string",
    "conversation_id": "string",
    "is_initiator": "boolean",
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
    "is_early": "boolean",
}
"""What a row carries, each kind some of it. Times are microseconds; `logged` is null where the server's level
is not known; `committed` and `rolled_back` are the first outcomes of the row's transaction; `is_early`: a
message was received before its endpoint was there."""

ORDER = ("place", "tie")
COLUMNS = ("queue_number", *ORDER, *PAYLOAD)


@dataclass(frozen=True)
class Ledger:
    """The rows that may matter; all of them happened before as_of, or are filtered here."""

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
        `COLUMNS`; the order of a queue's rows is `ORDER`.
    """
    message_events, endpoint_events, queue_events = (
        happened(events, as_of)
        for events in (ledger.message_events, ledger.endpoint_events, ledger.queue_events)
    )
    sides = _sides(ledger.endpoints, numbered, bindings, as_of)
    ended = first_outcomes(queue_events).select(
        *TRANSACTION,
        F.unix_micros("committed_at").alias("committed"),
        F.unix_micros("rolled_back_at").alias("rolled_back"),
    )
    taken = _taken(message_events, sides).join(ended, TRANSACTION, "left")
    locking = (
        F.broadcast(numbered)
        .join(queue_events.where(F.col("event_type").isin(*LOCKING)), QUEUE)
        .join(ended, TRANSACTION, "left")
    )
    # What a message is follows from all its events, whatever as_of.
    known = facts(ledger.message_events)
    moment = F.col("event_time")
    moves = endpoint_events.where(F.col("event_type") == MOVE).drop("instance", "database").join(sides, SIDE)
    begun = endpoint_events.where(F.col("event_type") == "BEGIN_DIALOG").select(*SIDE, "event_time")
    sent = known.where(F.col("sent_at") < F.lit(as_of)).select(
        "conversation_id",
        F.col("sent_by_initiator").alias("is_initiator"),
        F.col("sent_at").alias("event_time"),
    )
    arrived = (
        known.where("arrived_at is not null")
        .withColumn("is_initiator", ~F.col("sent_by_initiator"))
        .join(sides, SIDE)
        .withColumn("ready_at", F.greatest("arrived_at", "created_at"))
        .where("ended_at is null or ready_at <= ended_at")
    )
    transaction = {"transaction_id": "transaction_id", "committed": "committed", "rolled_back": "rolled_back"}
    side = {
        "conversation_id": "conversation_id",
        "is_initiator": "is_initiator",
        "group_id": "first_group_id",
    }
    parts = [
        _rows(
            moves.where("event_time >= created_at"),
            moment,
            h.MOVE,
            side | {"group_id": "conversation_group_id"},
            tie="event_id",
        ),
        _rows(
            arrived.where(F.col("ready_at") < F.lit(as_of)),
            F.col("ready_at"),
            h.ARRIVAL,
            side
            | {
                "message_id": "message_id",
                "arrived": F.unix_micros("arrived_at"),
                "queuing_order": "queuing_order",
                "level": "priority",
                "logged": "logged_priority",
                "rank": system_first(),
                "sequence": "message_sequence_number",
            },
        ),
        _rows(sides.where("ended_at is not null"), F.col("ended_at"), h.END, side),
        _rows(
            locking.where("event_type <> 'RECEIVE' and conversation_group_id is not null"),
            moment,
            h.GET_GROUP,
            transaction | {"group_id": "conversation_group_id"},
        ),
        _rows(
            sent.unionByName(begun).join(sides, SIDE).where("event_time >= created_at"),
            moment,
            h.STATEMENT,
            side,
        ),
        _rows(
            locking.where("event_type = 'RECEIVE'"),
            moment,
            h.RECEIVE,
            transaction | {"group_id": "conversation_group_id", "has_where": "has_where"},
        ),
        _rows(
            taken,
            moment,
            h.TAKEN,
            side
            | transaction
            | {"message_id": "message_id", "is_early": F.col("event_time") < F.col("created_at")},
        ),
    ]
    holding = (
        taken.select("queue_number", *transaction)
        .unionByName(locking.select("queue_number", *transaction))
        .where("transaction_id is not null")
        .distinct()
    )
    parts += [
        _rows(holding.where(F.col(name).isNotNull()), F.timestamp_micros(name), kind, transaction)
        for name, kind in (("committed", h.COMMIT), ("rolled_back", h.ROLLBACK))
    ]
    return reduce(DataFrame.unionByName, parts)


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


def _taken(message_events: DataFrame, sides: DataFrame) -> DataFrame:
    """RECEIVED events with the endpoint that receives; each message once per transaction and time."""
    return (
        message_events.where("event_type = 'RECEIVED'")
        .select(
            "message_id",
            "conversation_id",
            (~F.col("sent_by_initiator")).alias("is_initiator"),
            *TRANSACTION,
            "event_time",
        )
        .distinct()
        .join(sides, SIDE)
    )


def _rows(
    rows: DataFrame, time: Column, kind: int, payload: Mapping[str, Column | str], *, tie: str | None = None
) -> DataFrame:
    return rows_of_kind(rows, time, kind, payload, PAYLOAD, tie=tie)
