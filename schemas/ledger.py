"""The ledger's endpoints: who they are, with the priority that they were given for good."""

from schemas.events import CLOSED_ON, FOLD, LEDGER_PARTITIONS
from schemas.table import Table, optional, required

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
        optional("rule_name", "string", "the rule that gave the priority; null where none did"),
        optional("ladder_step", "int", "step 1..8 of the precedence ladder; null where no rule is named"),
        required(
            "inferred",
            "boolean",
            "true for a target endpoint without DIALOG_CREATED, known by its first arrival",
        ),
        optional(
            "logged_priority",
            "int",
            "level that the live engine reported, by its event or else a snapshot; null if not known",
        ),
        optional(
            "created_by",
            "string",
            "what says when it was created: log (an event or an arrival), lifetime (the server's lifetime of "
            "it, less the default one) or snapshot (it was there then)",
        ),
        optional(
            "level_source",
            "string",
            "what the priority is from: ladder, or server (a snapshot shows it, and no event its creation)",
        ),
        required("first_group_id", "string", "the group at its creation, which moves change later"),
        optional(
            "first_arrived_at",
            "timestamp",
            "target: first arrival of a message of the initiator, UTC; null if none is known",
        ),
        optional("first_arrival_kind", "int", "of that arrival: 1 DELIVERED, 2 RECEIVED; null if none"),
        optional("first_arrival_id", "string", "event_id of that arrival; null if none"),
        CLOSED_ON,
        FOLD,
    ),
    key=("conversation_id", "is_initiator"),
    partition_by=LEDGER_PARTITIONS,
    statistics=("conversation_id", "created_at"),
    checks={
        "level": "priority between 1 and 10",
        "step": "ladder_step is null or ladder_step between 1 and 8",
    },
)
