"""The log of the statements and transactions that receive the messages."""

import numpy as np
import pyarrow as pa

from dev.generator.columns import flags, id_texts, moments, numbers
from dev.generator.events import TypedEvents, events
from dev.generator.frame import NEVER, Array, Frame, comes
from dev.generator.message_events import failed_at, transactions
from dev.generator.messages import POISON_ATTEMPTS
from dev.generator.plan import Plan
from dev.generator.world import MINUTE

STATEMENTS = ("RECEIVE", "GET_CONVERSATION_GROUP")
ENDS = ("COMMIT", "ROLLBACK")


def queue_events(messages: Frame, *, plan: Plan) -> Frame:
    """Log how messages are received; see `events.events`."""
    # One message of a batch speaks for all.
    frame = messages.children(
        np.flatnonzero((messages["turn"] == messages["batch"]) & comes(messages["arrived_at"]))
    )
    draws, skew = plan.volume.draws, frame["receiver_skew"]
    by_type = [
        TypedEvents(event_type, at + skew, *attempt)
        for event_type, at, *attempt in (*_received(frame, plan), *_not_received(frame, plan))
    ]

    def event_id(rows: Frame, typed: TypedEvents) -> Array:
        attempt = np.array([typed.attempt], dtype=np.int32)
        return draws.id("queue event", rows["c"], rows["turn"], typed.event_type, attempt)

    return events(frame, by_type, plan=plan, event_id=event_id)


def _received(frame: Frame, plan: Plan) -> list[TypedEvents]:
    """The events of the statement that receives the message and commits."""
    received, committed = frame["received_at"], frame["committed_at"]
    asks = plan.volume.draws.chance(0.05, "asks", frame["c"], frame["batch"]) & ~frame["autocommit"]
    waits = frame["waits"] & frame["by_initiator"]
    ended = np.where(comes(committed), committed, received)
    return [
        TypedEvents("WAIT_ENDED", np.where(waits, received - 300, NEVER)),
        TypedEvents("GET_CONVERSATION_GROUP", np.where(asks, received - 1_000, NEVER)),
        TypedEvents("RECEIVE", received),
        TypedEvents("COMMIT", np.where(comes(received), committed, NEVER)),
        TypedEvents("WAIT_STARTED", np.where(waits, ended + 1_000, NEVER)),
    ]


def _not_received(frame: Frame, plan: Plan) -> list[TypedEvents]:
    """The events of transactions that are open at the end, or rolled back."""
    arrived_at = frame["arrived_at"]
    locked = frame["locked"] & (frame["turn"] == frame["pending_from"])
    late = plan.volume.end_us - plan.volume.draws.below(4 * MINUTE, "locks", frame["c"])
    by_type = [
        TypedEvents("RECEIVE", frame["open_at"], 0),
        TypedEvents("GET_CONVERSATION_GROUP", np.where(locked, np.maximum(arrived_at + 1, late), NEVER), 0),
    ]
    for attempt in range(1, POISON_ATTEMPTS + 1):
        taken = failed_at(frame, attempt)
        rolled_back = taken + np.minimum(frame["attempt_every"] // 2, 3_000)
        by_type += [TypedEvents("RECEIVE", taken, attempt), TypedEvents("ROLLBACK", rolled_back, attempt)]
    return by_type


def queue_columns(frame: Frame, *, plan: Plan) -> dict[str, pa.Array]:
    """The columns of the contract for events of `queue_events`."""
    names, draws, kind = plan.world.names, plan.volume.draws, frame["event_type"]
    c, batch = frame["c"], frame["batch"]
    statement = np.isin(kind, names.codes(STATEMENTS))
    in_transaction = statement | np.isin(kind, names.codes(ENDS))
    reader = draws.below(np.maximum(frame["receiver_readers"], 1), "reader", c, batch)
    rows = np.where(kind == names.code("RECEIVE"), frame["last_of_batch"] - frame["turn"] + 1, NEVER)
    return {
        "event_id": id_texts(frame["event_id"]),
        "event_time": moments(frame["at"]),
        "instance": names.column(frame["receiver_instance"]),
        "database": names.column(frame["receiver_database"]),
        "queue": names.column(frame["receiver_queue"]),
        "event_type": names.column(kind),
        "session_id": numbers(frame["receiver_session"] + reader),
        "transaction_id": transactions(frame, plan, where=in_transaction),
        "conversation_group_id": id_texts(frame["receiver_group"], where=statement),
        "has_where": flags(draws.chance(0.04, "where", c, batch), where=statement),
        "row_count": numbers(rows),
        "queue_status": pa.nulls(len(frame), pa.string()),
    }
