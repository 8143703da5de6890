"""The tables of a what-if: of the folder that --out names, not of the warehouse."""

from schemas.table import Column, Table, optional, required

PLACE = (
    required("instance", "string", "instance"),
    required("database", "string", "database"),
)
QUEUE_COLUMNS = (*PLACE, required("queue", "string", "queue"))


def _before_after(name: str, type: str, comment: str, *, nullable: bool = True) -> tuple[Column, Column]:
    make = optional if nullable else required
    return (
        make(f"{name}_before", type, f"before: {comment}"),
        make(f"{name}_after", type, f"after: {comment}"),
    )


WHATIF_ENDPOINTS = Table(
    name="whatif_endpoints",
    comment="One row per endpoint created before as_of with another level.",
    columns=(
        required("conversation_id", "string", "conversation"),
        required("is_initiator", "boolean", "true: initiator's endpoint"),
        *PLACE,
        optional("queue", "string", "local service's queue; null if not in the catalog"),
        optional("contract", "string", "contract"),
        optional("local_service", "string", "local service"),
        optional("remote_service", "string", "remote service"),
        required("recorded", "int", "level in endpoints"),
        required("today", "int", "level by the current rules"),
        required("proposed", "int", "level by the proposal"),
        *_before_after("rule", "string", "rule; null for the default"),
        *_before_after("step", "int", "ladder step; null for the default"),
        required("cause", "string", "drift (current rules give the proposed level too) or proposal"),
    ),
    key=("conversation_id", "is_initiator"),
)

WHATIF_GROUPS = Table(
    name="whatif_groups",
    comment="One row per conversation group with ready messages.",
    columns=(
        *QUEUE_COLUMNS,
        required("conversation_group_id", "string", "conversation group"),
        *_before_after("priority", "int", "group's priority", nullable=False),
        *_before_after("position", "bigint", "position; null if not free"),
        required("messages", "bigint", "ready messages"),
    ),
    key=("instance", "database", "queue", "conversation_group_id"),
)

WHATIF_MESSAGES = Table(
    name="whatif_messages",
    comment="One row per message of a schedule.",
    columns=(
        required("kind", "string", "receive or transmission"),
        *PLACE,
        optional("queue", "string", "queue; null for transmission"),
        required("message_id", "string", "message"),
        *_before_after("position", "bigint", "position; null if held back"),
        optional("moved", "bigint", "position_before - position_after; null without positions"),
        *_before_after("receive_number", "bigint", "RECEIVE; null if held back or transmission"),
        *_before_after("level", "int", "priority or transmit_priority"),
        optional("state", "string", "ready, group_locked or queue_off; null for transmission"),
    ),
    key=("kind", "instance", "database", "queue", "message_id"),
)

WHATIF_SUMMARY = Table(
    name="whatif_summary",
    comment="One row per kind, dimension and name, of messages with a position.",
    columns=(
        required("kind", "string", "receive or transmission"),
        required("dimension", "string", "queue (transmission: instance), contract, local_service or level"),
        optional("name", "string", "its name, or level before; null if unknown"),
        required("messages", "bigint", "messages with a position"),
        required("gained", "bigint", "messages earlier"),
        required("lost", "bigint", "messages later"),
        required("positions_gained", "bigint", "positions gained"),
        required("positions_lost", "bigint", "positions lost, positive"),
        required("largest_gain", "bigint", "largest gain of one message, else 0"),
        required("largest_loss", "bigint", "largest loss of one message, positive, else 0"),
        required("median_moved", "double", "median of moved"),
    ),
    key=("kind", "dimension", "name"),
)

WHATIF_PAIRS = Table(
    name="whatif_pairs",
    comment="Ready messages in opposite order: one row per queue and pair of levels.",
    columns=(
        *QUEUE_COLUMNS,
        required("passing_level", "int", "passing message's level before"),
        required("passed_level", "int", "passed message's level before"),
        required("pairs", "bigint", "message pairs"),
    ),
    key=("instance", "database", "queue", "passing_level", "passed_level"),
)

WHATIF_TABLES = (WHATIF_ENDPOINTS, WHATIF_GROUPS, WHATIF_MESSAGES, WHATIF_SUMMARY, WHATIF_PAIRS)

WHATIF_AS_OF = Table(
    name="whatif_as_of",
    comment="One row: the as_of compared.",
    columns=(
        required("as_of", "timestamp", "as_of of the schedules, UTC"),
        optional(
            "baseline", "string", "what levels before are by: today's rules, or recorded (null: recorded)"
        ),
    ),
    key=("as_of",),
)

WHATIF_ANSWERS = Table(
    name="whatif_answers",
    comment="One row per answer.",
    columns=(
        required(
            "answer",
            "string",
            "deployment (existing endpoints keep levels), always (in force all along) or instant (--as-if)",
        ),
        optional("as_if", "timestamp", "instant, UTC; null for other answers"),
        required("proposal", "bigint", "endpoints with another level, without drift"),
        required("drift", "bigint", "endpoints with another level by current rules too"),
        required("messages", "bigint", "messages with a position"),
        required("gained", "bigint", "messages earlier"),
        required("lost", "bigint", "messages later"),
    ),
    key=("answer",),
)
