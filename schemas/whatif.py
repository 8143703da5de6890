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
        make(f"{name}_before", type, f"{comment}, by the recorded levels and the current settings"),
        make(f"{name}_after", type, f"{comment}, by the proposal"),
    )


WHATIF_ENDPOINTS = Table(
    name="whatif_endpoints",
    comment="One row per endpoint created before as_of whose level the proposal changes.",
    columns=(
        required("conversation_id", "string", "conversation"),
        required("is_initiator", "boolean", "whether it is the initiator's endpoint"),
        *PLACE,
        optional("queue", "string", "queue of the local service; null if the catalog has no such service"),
        optional("contract", "string", "contract"),
        optional("local_service", "string", "local service"),
        optional("remote_service", "string", "remote service"),
        required("recorded", "int", "the level that endpoints has"),
        required("today", "int", "the level by the rules that stand after the last current statement"),
        required("proposed", "int", "the level by the proposal"),
        *_before_after("rule", "string", "the rule that gives the level, null for the default"),
        *_before_after("step", "int", "its ladder step, null for the default"),
        required("cause", "string", "drift: today's rules give the proposed level too; else proposal"),
    ),
    key=("conversation_id", "is_initiator"),
)

WHATIF_GROUPS = Table(
    name="whatif_groups",
    comment="One row per conversation group with ready messages.",
    columns=(
        *QUEUE_COLUMNS,
        required("conversation_group_id", "string", "conversation group"),
        *_before_after("priority", "int", "priority of the group", nullable=False),
        *_before_after("position", "bigint", "position as in group_priorities, null if it is not free"),
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
        *_before_after("position", "bigint", "position in the schedule, null if queue or group is not free"),
        optional("moved", "bigint", "position_before - position_after: positive is earlier"),
        *_before_after("receive_number", "bigint", "the RECEIVE that takes it; null for transmission"),
        *_before_after("level", "int", "priority, for transmission transmit_priority"),
        optional("state", "string", "ready, group_locked or queue_off; null for transmission"),
    ),
    key=("kind", "instance", "database", "queue", "message_id"),
)

WHATIF_SUMMARY = Table(
    name="whatif_summary",
    comment="One row per kind, dimension and name: who gains and who loses, of the messages with a position.",
    columns=(
        required("kind", "string", "receive or transmission"),
        required(
            "dimension", "string", "queue (for transmission instance), contract, local_service or level"
        ),
        optional("name", "string", "its name; for level the level before; null if unknown"),
        required("messages", "bigint", "messages with a position"),
        required("gained", "bigint", "messages that come earlier"),
        required("lost", "bigint", "messages that come later"),
        required("positions_gained", "bigint", "positions gained by them together"),
        required("positions_lost", "bigint", "positions lost by them together, a positive number"),
        required("largest_gain", "bigint", "most positions that one gains, 0 if none does"),
        required(
            "largest_loss", "bigint", "most positions that one loses, a positive number, 0 if none does"
        ),
        required("median_moved", "double", "median of moved over all of them"),
    ),
    key=("kind", "dimension", "name"),
)

WHATIF_PAIRS = Table(
    name="whatif_pairs",
    comment="One row per queue and pair of levels: ready messages that now stand in the other order.",
    columns=(
        *QUEUE_COLUMNS,
        required("passing_level", "int", "level before of the message that passes"),
        required("passed_level", "int", "level before of the message that is passed"),
        required("pairs", "bigint", "pairs of messages"),
    ),
    key=("instance", "database", "queue", "passing_level", "passed_level"),
)

WHATIF_TABLES = (WHATIF_ENDPOINTS, WHATIF_GROUPS, WHATIF_MESSAGES, WHATIF_SUMMARY, WHATIF_PAIRS)

WHATIF_AS_OF = Table(
    name="whatif_as_of",
    comment="One row: the as_of whose backlog the other tables compare.",
    columns=(required("as_of", "timestamp", "as_of of the schedules, UTC"),),
    key=("as_of",),
)

WHATIF_ANSWERS = Table(
    name="whatif_answers",
    comment="One row per answer that a what-if begins with.",
    columns=(
        required(
            "answer",
            "string",
            "deployment: existing endpoints keep their levels; always: as if the proposal had always stood; "
            "instant: as if from then on, if --as-if names one",
        ),
        optional("as_if", "timestamp", "the instant, UTC; null for the other answers"),
        required("proposal", "bigint", "endpoints whose level the proposal changes, without drift"),
        required("drift", "bigint", "endpoints that get the level that today's rules give too"),
        required("messages", "bigint", "messages with a position"),
        required("gained", "bigint", "messages that come earlier"),
        required("lost", "bigint", "messages that come later"),
    ),
    key=("answer",),
)
