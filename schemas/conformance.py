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
