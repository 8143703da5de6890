"""The tables of a conformance check: of the folder that --out names, not of the warehouse."""

from schemas.table import Table, optional, required

CONFORMANCE_LEVELS = Table(
    name="conformance_levels",
    comment="One row per kind of endpoints, level of ours and level of the server's.",
    columns=(
        required("instance", "string", "instance"),
        required("database", "string", "database"),
        optional("contract", "string", "contract"),
        optional("local_service", "string", "local service"),
        optional("remote_service", "string", "remote service"),
        required("priority", "int", "the level that endpoints has"),
        optional("logged_priority", "int", "the level that the server logged; null if it did not"),
        required("endpoints", "bigint", "endpoints"),
        optional(
            "explanation",
            "string",
            "where both are known and differ: other_version, default_on_server, near_miss, rule_unknown or "
            "unexplained",
        ),
        optional("explaining_rule", "string", "of other_version and near_miss: the rule"),
        optional("explaining_valid_from", "timestamp", "its version"),
        optional("off_by_seconds", "double", "from its validity to the nearest creation, 0 if it was valid"),
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

AS_OF = required("as_of", "timestamp", "the end of what was looked at, UTC")
QUEUE = tuple(required(name, "string", name) for name in ("instance", "database", "queue"))

FIGURES = (
    required("decisions", "bigint", "decisions, but those of a RECEIVE with WHERE; not_ready ones too"),
    required("with_choice", "bigint", "decisions with groups of different levels to choose from"),
    required("conforming", "bigint", "of these, those that passed no group of a higher level"),
    required("passed", "bigint", "groups of higher levels that were passed"),
    required("passable", "bigint", "groups that the worst choices would have passed"),
    optional(
        "fitness", "double", "1 - passed / passable: 1 keeps to the levels; null if nothing was passable"
    ),
)

CONFORMANCE = Table(
    name="conformance",
    comment="How far receives kept to the levels: one row per as_of and queue with decisions.",
    columns=(
        AS_OF,
        *QUEUE,
        *FIGURES,
        optional("skill", "double", "1 - passed / what choices at random would pass: 0 is chance"),
        required("ties", "bigint", "decisions with several groups at the level that was chosen"),
        required("ties_oldest_first", "bigint", "of these, those that took the one with the oldest message"),
        optional("lock_skipped", "bigint", "decisions while another transaction held a higher group"),
        required("partial", "bigint", "decisions that left ready messages of their group"),
        required("within_group", "bigint", "of these, those that took a later message than one they left"),
        required("not_ready", "bigint", "decisions on a group without ready messages: in no sum"),
        optional("where_clause", "bigint", "deviations of a RECEIVE with WHERE: in no sum"),
        optional("own_group", "bigint", "deviations on a group that the transaction held already"),
        required("logged_level", "bigint", "deviations that keep to the levels that the server logged"),
        required("timing", "bigint", "deviations whose passed groups were free for less than the tolerance"),
        required("other_lock", "bigint", "deviations whose passed groups a statement locked within it"),
        required("unexplained", "bigint", "all other deviations"),
    ),
    key=("as_of", "instance", "database", "queue"),
)

CONFORMANCE_HOURS = Table(
    name="conformance_hours",
    comment="The same by hour: one row per as_of, queue and hour with decisions.",
    columns=(
        AS_OF,
        *QUEUE,
        required("hour", "timestamp", "when the hour begins, UTC"),
        *FIGURES,
    ),
    key=("as_of", "instance", "database", "queue", "hour"),
)

CONFORMANCE_DEVIATIONS = Table(
    name="conformance_deviations",
    comment="Decisions that passed a group of a higher level: one row per as_of, queue and decision.",
    columns=(
        AS_OF,
        *QUEUE,
        required("at", "timestamp", "when the messages were received, UTC"),
        optional("transaction_id", "string", "who received; null if not logged"),
        required("conversation_group_id", "string", "the group that was chosen"),
        required("level", "int", "its level"),
        required("best_level", "int", "the highest level that was there"),
        required("passed_groups", "bigint", "groups of higher levels"),
        required("class", "string", "the first explanation that holds"),
        required("witness_message_id", "string", "the first message that stood at best_level"),
    ),
    key=("as_of", "instance", "database", "queue", "at", "transaction_id", "conversation_group_id"),
)

CONFORMANCE_LINKS = Table(
    name="conformance_links",
    comment="Messages that were overtaken on their way by lower levels: one row per as_of and link.",
    columns=(
        AS_OF,
        required("sending_instance", "string", "instance of the sender"),
        required("receiving_instance", "string", "instance of the receiver"),
        required("messages", "bigint", "messages that arrived"),
        required("with_inversion", "bigint", "of these, those that overtook one of a higher level"),
        required("inversions", "bigint", "pairs: the higher level could be sent as early, and arrived later"),
        optional(
            "inversions_fragmented",
            "bigint",
            "of these, pairs whose overtaken message has several fragments; null with blocks off",
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
