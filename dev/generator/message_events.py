"""The log of the messages: sent, passed on, delivered, received."""

import numpy as np
import pyarrow as pa

from dev.generator.columns import flags, id_texts, moments, numbers
from dev.generator.events import NO_ATTEMPT, TypedEvents, events
from dev.generator.frame import NEVER, Array, Frame, comes
from dev.generator.messages import POISON_ATTEMPTS
from dev.generator.plan import Plan

RELAY_DATABASE = "msdb"
"""The instance forwards messages; these are its events."""

RELAYS = ("FORWARD_ACCEPTED", "FORWARDED")


def message_events(messages: Frame, *, plan: Plan) -> Frame:
    """Log the life of messages; see `events.events`."""
    frame, draws = messages, plan.volume.draws
    c, turn, sent_at, arrived_at = frame["c"], frame["turn"], frame["sent_at"], frame["arrived_at"]
    logged = ~comes(frame["received_at"]) | draws.chance(plan.volume.delivered_logged, "logged", c, turn)
    passed_on = frame["relayed"] & comes(arrived_at)
    accepted = passed_on | (frame["relayed"] & draws.chance(0.5, "accepted", c, turn))
    receiver_skew, relay_skew = frame["receiver_skew"], frame["relay_skew"]
    accepted_at = np.where(accepted, sent_at + frame["way"] // 3, NEVER)
    passed_on_at = np.where(passed_on, sent_at + frame["way"] * 2 // 3, NEVER)
    attempts = [
        TypedEvents("RECEIVED", failed_at(frame, attempt) + receiver_skew, attempt)
        for attempt in range(1, POISON_ATTEMPTS + 1)
    ]
    by_type = [
        TypedEvents("SENT", sent_at + frame["sender_skew"]),
        TypedEvents("FORWARD_ACCEPTED", accepted_at + relay_skew),
        TypedEvents("FORWARDED", passed_on_at + relay_skew),
        TypedEvents("DELIVERED", np.where(logged, arrived_at, NEVER) + receiver_skew),
        *attempts,
        TypedEvents("RECEIVED", frame["open_at"] + receiver_skew, 0),
        TypedEvents("RECEIVED", frame["received_at"] + receiver_skew),
    ]

    def event_id(rows: Frame, typed: TypedEvents) -> Array:
        attempt = np.array([typed.attempt], dtype=np.int32)
        return draws.id("message event", rows["c"], rows["turn"], typed.event_type, attempt)

    return events(frame, by_type, plan=plan, event_id=event_id)


def message_columns(frame: Frame, *, plan: Plan) -> dict[str, pa.Array]:
    """The columns of the contract for events of `message_events`."""
    names, kind = plan.world.names, frame["event_type"]
    at_sender, received = kind == names.code("SENT"), kind == names.code("RECEIVED")
    relays = np.isin(kind, names.codes(RELAYS))
    counted = plan.volume.draws.chance(0.98, "counted", frame["c"], frame["turn"])
    counted &= kind == names.code("DELIVERED")
    counter = np.where(counted, frame["arrived_at"] - plan.volume.start_us, NEVER)

    def where(name: str, relay: Array | int) -> pa.Array:
        here = np.where(at_sender, frame[f"sender_{name}"], frame[f"receiver_{name}"])
        return names.column(np.where(relays, relay, here))

    return {
        "event_id": id_texts(frame["event_id"]),
        "event_time": moments(frame["at"]),
        "instance": where("instance", frame["relay"]),
        "database": where("database", names.code(RELAY_DATABASE)),
        "event_type": names.column(kind),
        "message_id": id_texts(frame["message_id"]),
        "conversation_id": id_texts(frame["conversation_id"]),
        "sent_by_initiator": flags(frame["by_initiator"]),
        "message_sequence_number": numbers(frame["sequence"]),
        "message_type": names.column(frame["message_type"]),
        "size_bytes": numbers(frame["size_bytes"]),
        "queuing_order": numbers(counter),
        "transaction_id": transactions(frame, plan, where=received),
    }


def failed_at(frame: Frame, attempt: int) -> Array:
    """The moments of an attempt to receive messages that is rolled back; NEVER without such an attempt."""
    return np.where(
        frame["failed"] >= attempt, frame["batch_ready"] + frame["attempt_every"] * attempt, NEVER
    )


def transactions(frame: Frame, plan: Plan, *, where: Array) -> pa.Array:
    """The ids of the receiving transactions: one for every attempt, null where the RECEIVE stands alone."""
    attempt = frame["attempt"]
    named = plan.volume.draws.id("transaction", frame["c"], frame["batch"], attempt)
    return id_texts(named, where=where & ((attempt != NO_ATTEMPT) | ~frame["autocommit"]))
