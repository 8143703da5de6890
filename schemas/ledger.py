"""The ledger: facts with their times, one row per endpoint, message and transaction.

A fact is a minimum ("first arrived at", "the earliest event that knew the size"), so a row is the
aggregate of its events in any order, any split and any repetition, and the state at any `as_of` is a
filter on times.
"""

from schemas.table import Table, optional, required

CLOSED_ON = optional(
    "closed_on",
    "date",
    "UTC day of the last fact of a row that nothing can happen to any more; null while open",
)
LEDGER_BATCH = required(
    "ledger_batch", "bigint", "the fold that wrote the row, or a later one that housekeeping put it to"
)
LEDGER_PARTITIONS = ("closed_on", "ledger_batch")

MOVES = "array<struct<moved_at:timestamp,event_id:string,conversation_group_id:string>>"
ARRIVAL = "struct<arrived_at:timestamp,kind:int,event_id:string,instance:string,database:string>"

ENDPOINTS = Table(
    name="endpoints",
    comment="Conversation endpoints as the ledger knows them, whatever as_of: one row per endpoint.",
    columns=(
        required("conversation_id", "string", "the conversation, shared by its two endpoints"),
        required("is_initiator", "boolean", "true for the initiator endpoint, false for the target endpoint"),
        required("instance", "string", "instance where the endpoint lives"),
        required("database", "string", "database where the endpoint lives"),
        optional(
            "queue", "string", "queue of the local service in the catalog; null if the catalog has none"
        ),
        required("contract", "string", "contract of the conversation"),
        required("local_service", "string", "the endpoint's own service"),
        required("remote_service", "string", "the other endpoint's service"),
        optional(
            "conversation_handle", "string", "the endpoint's own handle; null if inferred or not logged"
        ),
        required("conversation_group_id", "string", "the group after all moves that are known"),
        required("created_at", "timestamp", "when the endpoint was created, UTC"),
        optional("ended_at", "timestamp", "the earliest END_* event, UTC; null if none"),
        required("priority", "int", "level 1..10, given at creation for good; 5 where no rule matched"),
        optional("rule_name", "string", "the rule that gave the priority; null where none matched"),
        optional("ladder_step", "int", "step 1..8 of the precedence ladder; null where no rule matched"),
        required(
            "inferred",
            "boolean",
            "true for a target endpoint without DIALOG_CREATED, known by its first arrival",
        ),
        optional(
            "logged_priority",
            "int",
            "level that the live engine reported, for comparison; null if not logged",
        ),
        optional(
            "creation",
            "struct<event_time:timestamp,event_id:string,conversation_group_id:string>",
            "the deciding creation event and its group; null if inferred",
        ),
        optional(
            "first_arrival",
            ARRIVAL,
            "target: first arrival of a message of the initiator; null if none is known",
        ),
        required("moves", MOVES, "MOVE_CONVERSATION events in order"),
        optional(
            "ended_with_error_at", "timestamp", "the earliest END_CONVERSATION_WITH_ERROR, UTC; null if none"
        ),
        optional(
            "ended_with_cleanup_at",
            "timestamp",
            "the earliest END_CONVERSATION_WITH_CLEANUP, UTC; null if none",
        ),
        optional("last_fact_on", "date", "UTC day of the latest event of the conversation that is known"),
        CLOSED_ON,
        LEDGER_BATCH,
    ),
    key=("conversation_id", "is_initiator"),
    partition_by=LEDGER_PARTITIONS,
    file_order=("conversation_id",),
    statistics=("conversation_id", "created_at"),
    checks={
        "level": "priority between 1 and 10",
        "step": "ladder_step is null or ladder_step between 1 and 8",
    },
)

EARLY_FACTS = Table(
    name="early_facts",
    comment="Facts that came before their endpoint's creation: one row per endpoint that is not known yet.",
    columns=(
        required("conversation_id", "string", "the conversation"),
        required("is_initiator", "boolean", "which endpoint"),
        optional(
            "first_arrival",
            ARRIVAL,
            "target: first arrival of a message of the initiator; null if none is known",
        ),
        required("moves", MOVES, "MOVE_CONVERSATION events in order"),
        optional("ended_at", "timestamp", "the earliest END_* event, UTC; null if none"),
        optional(
            "ended_with_error_at", "timestamp", "the earliest END_CONVERSATION_WITH_ERROR, UTC; null if none"
        ),
        optional(
            "ended_with_cleanup_at",
            "timestamp",
            "the earliest END_CONVERSATION_WITH_CLEANUP, UTC; null if none",
        ),
        optional("last_fact_on", "date", "UTC day of the latest event of the conversation that is known"),
    ),
    key=("conversation_id", "is_initiator"),
    public=False,
)

FORWARDS = (
    "array<struct<instance:string,accepted_at:timestamp,accepted_event_id:string,database:string,"
    "forwarded_at:timestamp>>"
)
KNOWN_BY = "event_time:timestamp,kind:int,event_id:string"

MESSAGES = Table(
    name="messages",
    comment="Messages as the ledger knows them: one row per message.",
    columns=(
        required("message_id", "string", "the message"),
        required(
            "first_event",
            f"struct<{KNOWN_BY},conversation_id:string,sent_by_initiator:boolean,message_type:string>",
            "the earliest event and what every event says",
        ),
        optional(
            "sequence",
            f"struct<{KNOWN_BY},value:bigint>",
            "message_sequence_number by the earliest event that knew it",
        ),
        optional("size", f"struct<{KNOWN_BY},value:bigint>", "size_bytes by the earliest event that knew it"),
        optional(
            "queuing", f"struct<{KNOWN_BY},value:bigint>", "queuing_order by the earliest event that knew it"
        ),
        optional("sent_at", "timestamp", "the earliest SENT, UTC; null if none"),
        optional("arrival", ARRIVAL, "the first DELIVERED or RECEIVED (kind 1 or 2); null if none"),
        required(
            "receives",
            "array<struct<received_at:timestamp,event_id:string,instance:string,transaction_id:string,"
            "committed_at:timestamp,rolled_back_at:timestamp>>",
            "RECEIVED events in order, each with the outcome of its transaction",
        ),
        required(
            "forwards",
            FORWARDS,
            "per forwarding instance the earliest FORWARD_ACCEPTED and FORWARDED",
        ),
        required("last_fact_on", "date", "UTC day of the latest event of the message that is known"),
        CLOSED_ON,
        LEDGER_BATCH,
    ),
    key=("message_id",),
    partition_by=LEDGER_PARTITIONS,
    statistics=("message_id",),
    public=False,
)

TRANSACTIONS = Table(
    name="transactions",
    comment="Receiving transactions and what they lock: one row per (instance, transaction_id).",
    columns=(
        required("instance", "string", "instance of the transaction"),
        required("transaction_id", "string", "the transaction"),
        optional("committed_at", "timestamp", "the earliest COMMIT, UTC; null if none"),
        optional("rolled_back_at", "timestamp", "the earliest ROLLBACK, UTC; null if none"),
        required(
            "locks",
            "array<struct<database:string,queue:string,conversation_group_id:string,locked_at:timestamp>>",
            "groups named by its RECEIVE and GET_CONVERSATION_GROUP events, each with the earliest",
        ),
        required("last_fact_on", "date", "UTC day of the latest event of the transaction that is known"),
        CLOSED_ON,
        LEDGER_BATCH,
    ),
    key=("instance", "transaction_id"),
    partition_by=LEDGER_PARTITIONS,
    statistics=(),
    public=False,
)

QUEUE_CHANGES = Table(
    name="queue_changes",
    comment="QUEUE_ALTERED events that say on or off: one row per event.",
    columns=(
        required("instance", "string", "instance of the queue"),
        required("database", "string", "database of the queue"),
        required("queue", "string", "the queue"),
        required("event_time", "timestamp", "when it was altered, UTC"),
        required("event_id", "string", "the event"),
        required("is_on", "boolean", "whether the queue was on from then"),
        LEDGER_BATCH,
    ),
    key=("event_time", "event_id"),
    partition_by=("ledger_batch",),
    public=False,
)

QUEUE_SESSIONS = Table(
    name="queue_sessions",
    comment="Which sessions wait and which tasks run when a UTC day is over: one row per queue, session, "
    "kind and UTC day on which the session logged such an event.",
    columns=(
        required("instance", "string", "instance of the queue"),
        required("database", "string", "database of the queue"),
        required("queue", "string", "the queue"),
        required("kind", "string", "WAIT or TASK"),
        optional("session_id", "bigint", "the session; null if not logged"),
        required("event_date", "date", "the UTC day"),
        required(
            "last",
            "struct<event_time:timestamp,event_id:string,is_on:boolean>",
            "the day's last WAIT_* or TASK_* event; is_on if the session waits without WHERE, or runs, "
            "after it",
        ),
        optional("next_date", "date", "the next UTC day with an event of the session and kind; null if none"),
        CLOSED_ON,
        LEDGER_BATCH,
    ),
    key=("instance", "database", "queue", "kind", "session_id", "event_date"),
    partition_by=LEDGER_PARTITIONS,
    statistics=(),
    public=False,
)

ROLLBACKS = Table(
    name="rollbacks",
    comment="ROLLBACK events of transactions, with their queue: one row per event.",
    columns=(
        required("instance", "string", "instance of the queue and the transaction"),
        required("database", "string", "database of the queue"),
        required("queue", "string", "the queue"),
        required("transaction_id", "string", "the transaction"),
        required("event_time", "timestamp", "when it was rolled back, UTC"),
        required("event_id", "string", "the event"),
        required("event_date", "date", "UTC day of event_time"),
        LEDGER_BATCH,
    ),
    key=("event_date", "event_id"),
    partition_by=("event_date", "ledger_batch"),
    statistics=(),
    public=False,
)

LEDGER_BATCHES = Table(
    name="ledger_batches",
    comment="Folds of accepted events into the ledger: one row per fold; the last says where to go on.",
    columns=(
        required("ledger_batch", "bigint", "the fold, from 1"),
        required("last_ingest_batch", "bigint", "the last ingest batch that it folded"),
        required(
            "bindings",
            "string",
            "fingerprint of the catalog's services and queues that the rows were written with",
        ),
        required("has_queue_events", "boolean", "whether any queue event was ever accepted until then"),
    ),
    key=("ledger_batch",),
    public=False,
)
