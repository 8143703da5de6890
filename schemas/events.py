"""The three input contracts, and the tables of accepted events that derive from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

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
        called: what the columns of a mapped source are called in its files, by their names here.
        lengths: the columns of which only the length in bytes is taken.
        may_lack: whether a file may lack columns, which are null then.
    """

    source: str
    columns: tuple[Column, ...]
    event_types: tuple[str, ...]
    required_for: Mapping[str, tuple[str, ...]]
    called: Mapping[str, str] = field(default_factory=dict)
    lengths: frozenset[str] = frozenset()
    may_lack: bool = False

    @property
    def names(self) -> list[str]:
        """The declared columns' names, in order."""
        return [column.name for column in self.columns]

    @property
    def is_mapped(self) -> bool:
        """Whether this is what a mapping takes of a source, by other names than the files have."""
        return bool(self.called)

    @property
    def in_files(self) -> dict[str, str]:
        """What files call the columns, by their names here."""
        return {name: self.called.get(name, name) for name in self.names}


def table_of(source: str) -> str:
    """The table of a source: the source's own name stands behind a slash."""
    return source.partition("/")[0]


WHERE_IT_HAPPENED = (
    required("event_id", "string", "unique per input and UTC day"),
    required("event_time", "timestamp", "time, UTC"),
    required("instance", "string", "instance"),
    required("database", "string", "database"),
)

ENDPOINT_EVENTS = EventContract(
    source="endpoint_events",
    columns=(
        *WHERE_IT_HAPPENED,
        required("event_type", "string", "an event type of the input"),
        required("conversation_id", "string", "conversation"),
        required("is_initiator", "boolean", "true: initiator's endpoint"),
        optional("conversation_handle", "string", "own handle; null if not logged"),
        optional("conversation_group_id", "string", "group from then on; never null on creations and moves"),
        optional("contract", "string", "contract; never null on creations"),
        optional("local_service", "string", "own service; never null on creations"),
        optional("remote_service", "string", "other endpoint's service; never null on creations"),
        optional("logged_priority", "int", "server's level 1..10; null if not logged"),
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
        required("event_type", "string", "an event type of the input"),
        required("message_id", "string", "message"),
        required("conversation_id", "string", "conversation"),
        required("sent_by_initiator", "boolean", "true: initiator to target"),
        optional(
            "message_sequence_number", "bigint", "per conversation and direction, from 0; null if unsequenced"
        ),
        required("message_type", "string", "message type"),
        optional("size_bytes", "bigint", "body in bytes; null if not logged"),
        optional("queuing_order", "bigint", "queue's arrival counter, on DELIVERED; else null"),
        optional("transaction_id", "string", "receiving transaction; null: committed at once"),
    ),
    event_types=("SENT", "DELIVERED", "RECEIVED", "FORWARD_ACCEPTED", "FORWARDED"),
    required_for={},
)

QUEUE_EVENTS = EventContract(
    source="queue_events",
    columns=(
        *WHERE_IT_HAPPENED,
        required("queue", "string", "queue"),
        required("event_type", "string", "an event type of the input"),
        optional("session_id", "bigint", "session; null if not logged"),
        optional("transaction_id", "string", "transaction; null if not logged"),
        optional("conversation_group_id", "string", "group locked; null if none"),
        optional("has_where", "boolean", "statement named conversation or group; null is false"),
        optional("row_count", "bigint", "rows returned; null if not logged"),
        optional("queue_status", "string", "ON or OFF, on QUEUE_ALTERED; null: unchanged"),
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

SEEN_AT = optional("seen_at", "timestamp", "taken_at of the row's snapshot, UTC; null for input events")
OWN = (
    optional("own_instance", "string", "instance before the settings' alias; null without one"),
    optional("own_database", "string", "database before the settings' alias; null without one"),
)
INFERRED = optional("inferred", "boolean", "true if inferred from a change or absence there; else null")
RUNNING_TASKS = optional(
    "running_tasks", "bigint", "activated tasks that ran, in a trace; null for other events"
)
OVERRULED = "OVERRULED_"
"""What stands before the event_type of an end that the endpoint's own database contradicts: it is none."""
LEFT = "LEFT"
"""A message is no more in a complete transmission_queue. It is concluded, and no input has it."""

SHOWN: dict[str, tuple[Column, ...]] = {
    "endpoint_events": (
        SEEN_AT,
        *OWN,
        INFERRED,
        optional("state", "string", "state in the snapshot's view, such as CO; null for input events"),
        optional("expires_at", "timestamp", "end of the lifetime in the view; its zone is not documented"),
        optional("send_sequence", "bigint", "next number to send; null if not said"),
        optional("receive_sequence", "bigint", "next number to arrive; null if not said"),
    ),
    "message_events": (
        SEEN_AT,
        *OWN,
        INFERRED,
        optional("conversation_handle", "string", "handle in the snapshot's view; null for input events"),
        optional("transmission_status", "string", "why the snapshot still has it; null if not said"),
        optional(
            "not_before",
            "timestamp",
            "of an inferred row: it happened after that, UTC; null otherwise, or in rows of an older version",
        ),
        optional("shown_until", "timestamp", "last taken_at that shows the same in a row; null: seen_at"),
        optional("undone", "boolean", "true if a queue shows what a logged RECEIVED took; else null"),
        optional("shown_queue", "string", "queue whose view shows it; null for others, or in older rows"),
        optional("shown_contract", "string", "contract in the snapshot's view; null if not said"),
        optional("shown_from_service", "string", "sender's service in the snapshot's view; null if not said"),
        optional("shown_to_service", "string", "receiver's service in the snapshot's view; null if not said"),
        optional("shown_priority", "int", "level in the transmission queue's view; null if not said"),
    ),
    "queue_events": (SEEN_AT, *OWN, RUNNING_TASKS),
}
"""What the rows of snapshots and logs have beyond an input's columns, by input name."""
SENT_MESSAGES = EventContract(
    source="sends",
    columns=(
        required("event_id", "string", "of the row"),
        required("event_time", "timestamp", "time, UTC"),
        required("instance", "string", "sending instance"),
        optional("database", "string", "sending database; null if unknown"),
        required("event_type", "string", "SENT, or ACKNOWLEDGED by the receiver"),
        required("conversation_id", "string", "conversation"),
        required("sent_by_initiator", "boolean", "true: initiator to target"),
        required("message_sequence_number", "bigint", "per conversation and direction, from 0"),
        optional("fragment", "bigint", "fragment of the message, from 0; null is 0"),
        optional("level", "int", "level 1..10 of sending; null if not logged"),
        optional("honor", "boolean", "database honored priorities; null if not logged"),
        optional("elevated", "boolean", "starvation prevention raised the level; null if not logged"),
    ),
    event_types=("SENT", "ACKNOWLEDGED"),
    required_for={},
)
"""Rows of a trace that become rows of `sends`."""
OF_LOGS: dict[str, EventContract] = {
    **CONTRACTS,
    QUEUE_EVENTS.source: replace(QUEUE_EVENTS, columns=(*QUEUE_EVENTS.columns, RUNNING_TASKS)),
    SENT_MESSAGES.source: SENT_MESSAGES,
}
"""What the rows of a server's log have, by table."""


def accepted_columns(source: str) -> tuple[Column, ...]:
    """The columns of an accepted event: those of its input, and those of snapshots."""
    return (*CONTRACTS[source].columns, *SHOWN[source])


def accepted_names(source: str) -> list[str]:
    """The names of `accepted_columns`."""
    return [column.name for column in accepted_columns(source)]


BATCH = required("batch", "bigint", "batch of the event, from 1")
CLOSED_ON = optional("closed_on", "date", "last UTC day that needs the row; null while open")
FOLD = required("fold", "bigint", "batch that wrote the row, own or later")
LEDGER_PARTITIONS = ("closed_on", "fold")


def _accepted(contract: EventContract, *, close_together: str, ids: tuple[str, ...]) -> Table:
    kind = contract.source.removesuffix("_events")
    return Table(
        name=contract.source,
        comment=f"Accepted {kind} events, and those of snapshots, each once. "
        f"All events of a {close_together} close together.",
        columns=(*accepted_columns(contract.source), BATCH, CLOSED_ON, FOLD),
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
