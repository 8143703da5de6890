"""The ledger's endpoints: who they are, with the priority that they were given for good."""

from schemas.events import CLOSED_ON, FOLD, LEDGER_PARTITIONS
from schemas.table import Table, optional, required

ENDPOINTS = Table(
    name="endpoints",
    comment="Conversation endpoints, independent of as_of: one row per endpoint.",
    columns=(
        required("conversation_id", "string", "conversation"),
        required("is_initiator", "boolean", "true: initiator, false: target"),
        optional(
            "side_known",
            "boolean",
            "false: is_initiator is a guess, as only messages show the endpoint; null in rows of an older "
            "version",
        ),
        required("instance", "string", "endpoint's instance"),
        required("database", "string", "endpoint's database"),
        optional("queue", "string", "local service's queue; null if not in the catalog"),
        required("contract", "string", "contract"),
        required("local_service", "string", "own service"),
        required("remote_service", "string", "other endpoint's service"),
        optional("conversation_handle", "string", "own handle; null if inferred or not logged"),
        required("conversation_group_id", "string", "group after all known moves"),
        required("created_at", "timestamp", "creation, UTC"),
        optional("ended_at", "timestamp", "earliest END_* event, UTC; null if none"),
        optional(
            "expires_at",
            "timestamp",
            "end of its lifetime by a snapshot, zone not documented; null if unknown",
        ),
        required("priority", "int", "level 1..10, given at creation; 5 without a rule"),
        optional("rule_name", "string", "rule that gave it; null if none"),
        optional("ladder_step", "int", "ladder step 1..8; null without rule_name"),
        required("inferred", "boolean", "target without DIALOG_CREATED, from its first arrival"),
        optional(
            "logged_priority", "int", "server's level, from an event or else a snapshot; null if unknown"
        ),
        optional(
            "created_by", "string", "source of created_at: log, lifetime (from the server's) or snapshot"
        ),
        optional(
            "level_source", "string", "source of priority: ladder, or server (snapshot; creation not logged)"
        ),
        required("first_group_id", "string", "group at creation"),
        optional(
            "first_arrived_at", "timestamp", "target's first arrival from the initiator, UTC; null if none"
        ),
        optional("first_arrival_kind", "int", "its event: 1 DELIVERED, 2 RECEIVED; null if none"),
        optional("first_arrival_id", "string", "its event_id; null if none"),
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
