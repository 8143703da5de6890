"""The three input contracts, and the tables of accepted events that derive from them."""

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.table import Column, Table, optional, required

CREATIONS = ("BEGIN_DIALOG", "DIALOG_CREATED")
MOVE = "MOVE_CONVERSATION"
END, END_WITH_ERROR, END_WITH_CLEANUP = (
    "END_CONVERSATION",
    "END_CONVERSATION_WITH_ERROR",
    "END_CONVERSATION_WITH_CLEANUP",
)
ENDS = (END, END_WITH_ERROR, END_WITH_CLEANUP)


@dataclass(frozen=True)
class EventContract:
    """What an input must look like.

    Attributes:
        source: the input's name in the settings, in `rejected_events` and in `batches`.
        columns: the declared columns; others are ignored. A column that is not nullable may never be null.
        event_types: the known values of event_type.
        required_for: columns that may not be null for some event types, by event type.
    """

    source: str
    columns: tuple[Column, ...]
    event_types: tuple[str, ...]
    required_for: Mapping[str, tuple[str, ...]]

    @property
    def names(self) -> list[str]:
        """The declared columns' names, in order."""
        return [column.name for column in self.columns]


WHERE_IT_HAPPENED = (
    required("event_id", "string", "unique in this table within a UTC day of event_time"),
    required("event_time", "timestamp", "when it happened, UTC"),
    required("instance", "string", "instance of the Database Engine"),
    required("database", "string", "database of that instance"),
)

ENDPOINT_EVENTS = EventContract(
    source="endpoint_events",
    columns=(
        *WHERE_IT_HAPPENED,
        required("event_type", "string", f"one of {', '.join((*CREATIONS, MOVE, *ENDS))}"),
        required("conversation_id", "string", "the conversation, shared by its two endpoints"),
        required("is_initiator", "boolean", "which endpoint of the conversation"),
        optional("conversation_handle", "string", "the endpoint's own handle; null if not logged"),
        optional(
            "conversation_group_id",
            "string",
            "the endpoint's group from then on; never null on creations and moves",
        ),
        optional("contract", "string", "contract of the conversation; never null on creations"),
        optional("local_service", "string", "the endpoint's own service; never null on creations"),
        optional("remote_service", "string", "the other endpoint's service; never null on creations"),
        optional(
            "logged_priority",
            "int",
            "level 1..10 that the live engine reported, for comparison; null if not logged",
        ),
    ),
    event_types=(*CREATIONS, MOVE, *ENDS),
    required_for={
        **dict.fromkeys(CREATIONS, ("conversation_group_id", "contract", "local_service", "remote_service")),
        MOVE: ("conversation_group_id",),
    },
)

MESSAGE_EVENTS = EventContract(
    source="message_events",
    columns=(
        *WHERE_IT_HAPPENED,
        required("event_type", "string", "one of SENT, DELIVERED, RECEIVED, FORWARD_ACCEPTED, FORWARDED"),
        required("message_id", "string", "the message, the same in all its events"),
        required("conversation_id", "string", "the message's conversation"),
        required("sent_by_initiator", "boolean", "direction: true from the initiator to the target"),
        optional(
            "message_sequence_number",
            "bigint",
            "per conversation and direction, from 0; null for unsequenced system messages",
        ),
        required("message_type", "string", "name of the message type"),
        optional("size_bytes", "bigint", "size of the body in bytes; null if not logged"),
        optional("queuing_order", "bigint", "the queue's own arrival counter, on DELIVERED; else null"),
        optional(
            "transaction_id", "string", "on RECEIVED the receiving transaction; null means committed at once"
        ),
    ),
    event_types=("SENT", "DELIVERED", "RECEIVED", "FORWARD_ACCEPTED", "FORWARDED"),
    required_for={},
)

QUEUE_EVENTS = EventContract(
    source="queue_events",
    columns=(
        *WHERE_IT_HAPPENED,
        required("queue", "string", "queue of that database"),
        required(
            "event_type",
            "string",
            "one of RECEIVE, GET_CONVERSATION_GROUP, COMMIT, ROLLBACK, WAIT_STARTED, WAIT_ENDED, "
            "TASK_STARTED, TASK_EXITED, QUEUE_ALTERED",
        ),
        optional("session_id", "bigint", "session of the statement or task; null if not logged"),
        optional("transaction_id", "string", "transaction of the statement; null if not logged"),
        optional(
            "conversation_group_id",
            "string",
            "group that a RECEIVE or GET_CONVERSATION_GROUP locked; null if none",
        ),
        optional(
            "has_where", "boolean", "whether the statement named a conversation or a group; null is false"
        ),
        optional(
            "row_count",
            "bigint",
            "rows that the statement returned; 0 is an empty result; null if not logged",
        ),
        optional("queue_status", "string", "ON or OFF, on QUEUE_ALTERED; null says nothing about on or off"),
    ),
    event_types=(
        "RECEIVE",
        "GET_CONVERSATION_GROUP",
        "COMMIT",
        "ROLLBACK",
        "WAIT_STARTED",
        "WAIT_ENDED",
        "TASK_STARTED",
        "TASK_EXITED",
        "QUEUE_ALTERED",
    ),
    required_for={},
)

CONTRACTS: dict[str, EventContract] = {
    contract.source: contract for contract in (ENDPOINT_EVENTS, MESSAGE_EVENTS, QUEUE_EVENTS)
}
"""The inputs by name, in the order in which they are read."""

SEEN_AT = optional(
    "seen_at",
    "timestamp",
    "taken_at of the snapshot that the row is concluded from, UTC; null for an event of the inputs",
)
INFERRED = optional(
    "inferred",
    "boolean",
    "true where the row follows from what that snapshot shows otherwise than the other rows, or does not "
    "show; else null",
)
LEFT = "LEFT"
"""A message is no more in a complete transmission_queue. It is concluded, and no input has it."""

SHOWN: dict[str, tuple[Column, ...]] = {
    "endpoint_events": (SEEN_AT, INFERRED),
    "message_events": (
        SEEN_AT,
        INFERRED,
        optional(
            "conversation_handle",
            "string",
            "of a snapshot's message, the handle that its view shows it under; null for an event",
        ),
        optional(
            "transmission_status",
            "string",
            "of a snapshot's message, why it is still in the transmission queue; null if nothing is said",
        ),
    ),
    "queue_events": (SEEN_AT,),
}
"""What the rows of snapshots have beyond an input's columns, by input name."""


def accepted_names(source: str) -> list[str]:
    """The columns of an accepted event: those of its input, and those of snapshots."""
    return [*CONTRACTS[source].names, *(column.name for column in SHOWN[source])]


BATCH = required("batch", "bigint", "the batch that brought the event; counts from 1 over all inputs")
CLOSED_ON = optional(
    "closed_on",
    "date",
    "the UTC day after which no as_of needs the row any more; null while one still may",
)
FOLD = required("fold", "bigint", "the fold that wrote the row: the batch's own, or a later one")
LEDGER_PARTITIONS = ("closed_on", "fold")


def _accepted(contract: EventContract, *, close_together: str, ids: tuple[str, ...]) -> Table:
    kind = contract.source.removesuffix("_events")
    return Table(
        name=contract.source,
        comment=f"Accepted {kind} events, each once, as they came, and what snapshots show. "
        f"All events of a {close_together} close together.",
        columns=(*contract.columns, *SHOWN[contract.source], BATCH, CLOSED_ON, FOLD),
        key=("event_id", "event_time"),
        partition_by=LEDGER_PARTITIONS,
        statistics=("event_time", *ids),
        public=False,
    )


MESSAGES = _accepted(MESSAGE_EVENTS, close_together="message", ids=("message_id", "conversation_id"))
ENDPOINT_FACTS = _accepted(ENDPOINT_EVENTS, close_together="conversation", ids=("conversation_id",))
QUEUE_FACTS = _accepted(QUEUE_EVENTS, close_together="transaction", ids=("transaction_id",))

ACCEPTED: dict[str, Table] = {table.name: table for table in (ENDPOINT_FACTS, MESSAGES, QUEUE_FACTS)}
"""The tables of accepted events, by input name."""
