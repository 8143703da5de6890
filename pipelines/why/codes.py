"""The causes, in the order of docs/why.md, and the columns of their details."""

from pipelines.config.rules.limits import CRITERIA
from schemas.keys import ENDPOINT_NAMES

PLACE = ("kind", "instance", "database", "queue")
"""A place: a queue (kind receive), an instance's transmission queue, or all messages that can't be placed."""
KINDS = ("receive", "transmission", "unresolved")
NAMES = CRITERIA
HOLDER = ENDPOINT_NAMES
CHANGED = ("instance", "database", "rule", "level", "was_rule", "was_level", "since")
UNPLACED = ("schedule", *HOLDER)

DETAILS: dict[str, tuple[str, ...]] = {
    "rule_newer_than_endpoint": CHANGED,
    "rule_changed_since": CHANGED,
    "near_miss": ("instance", "database", "rule", "level", "criterion", "rule_has", "endpoint_has"),
    "other_side_only": (*HOLDER, "other_instance", "other_database", "other_rule", "other_level"),
    "more_specific_rule": (
        "instance",
        "database",
        "winning_rule",
        "winning_step",
        "winning_level",
        "rule",
        "step",
        "level",
    ),
    "no_rule": HOLDER,
    "outranked": NAMES,
    "own_group_first": ("kind", "instance", "database", "queue", "conversation_group_id", "conversation_id"),
    "older_first": NAMES,
    "first_in_line": PLACE,
    "group_locked": (
        "instance",
        "database",
        "queue",
        "conversation_group_id",
        "transaction_id",
        "session_id",
        "since",
    ),
    "queue_off": ("instance", "database", "queue", "since", "poison_message_id"),
    "not_received": ("instance", "database", "queue", "reason", "last_receive"),
    "rolled_back": ("message_id", "times", "last_transaction_id"),
    "honor_off": ("instance", "database"),
    "transmission_status": ("text",),
    "endpoint_unknown": UNPLACED,
    "service_not_in_catalog": UNPLACED,
    "handle_unknown": UNPLACED,
}
"""By cause, the columns of its details; each row counts its messages beside them."""
CODES = tuple(DETAILS)
OF_ORDER = ("outranked", "own_group_first", "older_first", "first_in_line")
"""Causes that only say where in the order a message stands."""
AHEAD = ("outranked", "older_first")
"""Causes whose details are of the messages ahead."""
MOST_AHEAD = 3
"""Rows of details of each of them."""
