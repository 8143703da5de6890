"""The tables of a conformance check: of the folder that --out names, not of the warehouse."""

from schemas.table import Table, optional, required

CONFORMANCE_LEVELS = Table(
    name="conformance_levels",
    comment="One row per combination of names, our level and server's level.",
    columns=(
        required("instance", "string", "instance"),
        required("database", "string", "database"),
        optional("contract", "string", "contract"),
        optional("local_service", "string", "local service"),
        optional("remote_service", "string", "remote service"),
        required("priority", "int", "our level"),
        optional("logged_priority", "int", "server's level; null if not logged"),
        required("endpoints", "bigint", "endpoints"),
        optional(
            "explanation",
            "string",
            "other_version, default_on_server, near_miss, rule_unknown, unexplained; null unless both differ",
        ),
        optional("explaining_rule", "string", "rule of other_version and near_miss; else null"),
        optional("explaining_valid_from", "timestamp", "its version, UTC; null without rule"),
        optional(
            "off_by_seconds",
            "double",
            "seconds from its validity to the nearest creation, 0 if valid; null without rule",
        ),
    ),
    key=(
        "instance",
        "database",
        "contract",
        "local_service",
        "remote_service",
        "priority",
        "logged_priority",
    ),
)

AS_OF = required("as_of", "timestamp", "end of the period, UTC")
QUEUE = tuple(required(name, "string", name) for name in ("instance", "database", "queue"))

FIGURES = (
    required("decisions", "bigint", "decisions without WHERE, not_ready included"),
    required("with_choice", "bigint", "decisions between levels"),
    required("conforming", "bigint", "with_choice that passed no higher level"),
    required("passed", "bigint", "higher groups passed"),
    required("passable", "bigint", "higher groups the worst choices would pass"),
    optional("fitness", "double", "1 - passed / passable; null if passable is 0"),
)

CONFORMANCE = Table(
    name="conformance",
    comment="Receives: one row per as_of and queue with decisions.",
    columns=(
        AS_OF,
        *QUEUE,
        *FIGURES,
        optional("skill", "double", "1 - passed / random choices' passed; null if that is 0"),
        required("ties", "bigint", "decisions with several groups at the chosen level"),
        required("ties_oldest_first", "bigint", "ties that took the oldest message"),
        optional("lock_skipped", "bigint", "decisions with a higher group locked; null without queue events"),
        required("partial", "bigint", "decisions that left ready messages of the group"),
        required("within_group", "bigint", "partial that took a later message"),
        required("not_ready", "bigint", "decisions on groups without ready messages"),
        optional("where_clause", "bigint", "deviations with WHERE; null without queue events"),
        optional("own_group", "bigint", "deviations on its own group; null without queue events"),
        required("logged_level", "bigint", "deviations right by logged levels"),
        required("timing", "bigint", "deviations within the tolerance"),
        required("other_lock", "bigint", "deviations with another statement's lock"),
        required("unexplained", "bigint", "other deviations"),
    ),
    key=("as_of", "instance", "database", "queue"),
)

CONFORMANCE_HOURS = Table(
    name="conformance_hours",
    comment="By hour: one row per as_of, queue and hour with decisions.",
    columns=(
        AS_OF,
        *QUEUE,
        required("hour", "timestamp", "start of the hour, UTC"),
        *FIGURES,
    ),
    key=("as_of", "instance", "database", "queue", "hour"),
)

CONFORMANCE_DEVIATIONS = Table(
    name="conformance_deviations",
    comment="Deviations: one row per as_of, queue and decision.",
    columns=(
        AS_OF,
        *QUEUE,
        required("at", "timestamp", "receive time, UTC"),
        optional("transaction_id", "string", "receiving transaction; null if not logged"),
        required("conversation_group_id", "string", "group chosen"),
        required("level", "int", "its level"),
        required("best_level", "int", "highest level available"),
        required("passed_groups", "bigint", "higher groups"),
        required("class", "string", "class of docs/conformance.md"),
        required("witness_message_id", "string", "first message at best_level"),
    ),
    key=("as_of", "instance", "database", "queue", "at", "transaction_id", "conversation_group_id"),
)

CONFORMANCE_LINKS = Table(
    name="conformance_links",
    comment="Inversions: one row per as_of and link.",
    columns=(
        AS_OF,
        required("sending_instance", "string", "sending instance"),
        required("receiving_instance", "string", "receiving instance"),
        required("messages", "bigint", "messages arrived"),
        required("with_inversion", "bigint", "messages that overtook a higher level"),
        required("inversions", "bigint", "pairs: higher level sendable as early, arrived later"),
        optional(
            "inversions_fragmented",
            "bigint",
            "pairs with an overtaken message of several fragments; null with blocks off",
        ),
    ),
    key=("as_of", "sending_instance", "receiving_instance"),
)

CONFORMANCE_TABLES = (
    CONFORMANCE_LEVELS,
    CONFORMANCE,
    CONFORMANCE_HOURS,
    CONFORMANCE_DEVIATIONS,
    CONFORMANCE_LINKS,
)
