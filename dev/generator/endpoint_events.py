"""The log of the endpoints: they are created, move to another group, and end."""

import numpy as np
import pyarrow as pa

from dev.generator.columns import INT, flags, id_texts, moments, numbers
from dev.generator.events import TypedEvents, events
from dev.generator.frame import NEVER, Array, Frame, comes
from dev.generator.messages import either
from dev.generator.names import NO_NAME
from dev.generator.plan import Plan

CREATIONS = ("BEGIN_DIALOG", "DIALOG_CREATED")
MOVE = "MOVE_CONVERSATION"
END = "END_CONVERSATION"
OF_INITIATOR, OF_TARGET = 1, 0
"""The attempts of these events say whose they are."""


def endpoint_events(conversations: Frame, *, plan: Plan) -> Frame:
    """Log what happens to the endpoints of conversations; see `events.events`."""
    frame = conversations
    target_end = np.where(
        comes(frame["gives_up_at"]), frame["gives_up_at"], frame["done_at"] - 1_000_000 * frame["with_error"]
    )
    target_end = np.where(comes(frame["first_arrival"]), target_end, NEVER)
    cleanup, error = frame["with_cleanup"], frame["with_error"] & ~frame["with_cleanup"]
    initiator_end = np.where(cleanup, NEVER, frame["done_at"] + frame["way"] + 900_000)

    def of_target(event_type: str, at: Array, where: Array) -> TypedEvents:
        return TypedEvents(event_type, np.where(where, at, NEVER) + frame["target_skew"], OF_TARGET)

    def of_initiator(event_type: str, at: Array) -> TypedEvents:
        return TypedEvents(event_type, at + frame["initiator_skew"], OF_INITIATOR)

    by_type = [
        of_initiator("BEGIN_DIALOG", frame["begin"]),
        of_target("DIALOG_CREATED", frame["first_arrival"], frame["created_logged"]),
        of_initiator(MOVE, frame["moves_at"]),
        of_target(END, target_end, ~cleanup & ~error),
        of_target(f"{END}_WITH_CLEANUP", target_end, cleanup),
        of_target(f"{END}_WITH_ERROR", target_end, error),
        of_initiator(END, initiator_end),
    ]

    def event_id(rows: Frame, typed: TypedEvents) -> Array:
        side = np.array([typed.attempt == OF_INITIATOR])
        return plan.volume.draws.id("endpoint event", rows["c"], typed.event_type, side)

    return events(frame, by_type, plan=plan, event_id=event_id)


def endpoint_columns(frame: Frame, *, plan: Plan) -> dict[str, pa.Array]:
    """The columns of the contract for events of `endpoint_events`."""
    names = plan.world.names
    is_initiator = frame["attempt"] == OF_INITIATOR
    creation = np.isin(frame["event_type"], names.codes(CREATIONS))
    move = frame["event_type"] == names.code(MOVE)
    group = either(is_initiator[:, None], frame, "group")
    group = np.where(move[:, None], frame["moved_group"], group)
    reported = creation & plan.volume.draws.chance(0.3, "reported", frame["c"], is_initiator)

    def on_creation(codes: Array) -> pa.Array:
        return names.column(np.where(creation, codes, NO_NAME))

    return {
        "event_id": id_texts(frame["event_id"]),
        "event_time": moments(frame["at"]),
        "instance": names.column(either(is_initiator, frame, "instance")),
        "database": names.column(either(is_initiator, frame, "database")),
        "event_type": names.column(frame["event_type"]),
        "conversation_id": id_texts(frame["conversation_id"]),
        "is_initiator": flags(is_initiator),
        "conversation_handle": id_texts(either(is_initiator[:, None], frame, "handle")),
        "conversation_group_id": id_texts(group, where=creation | move),
        "contract": on_creation(frame["contract"]),
        "local_service": on_creation(either(is_initiator, frame, "service")),
        "remote_service": on_creation(either(~is_initiator, frame, "service")),
        "logged_priority": numbers(np.where(reported, either(is_initiator, frame, "level"), NEVER), INT),
    }
