"""The causes of backlogs by the state of their messages, and the ways to a cause that its details show."""

from collections.abc import Callable

from tests.support.factories import Row
from tests.support.model.why import Cause, Causes
from tests.support.model.why_rules import without_blanks

BACKLOGS = (3, 5, 8, 18, 29, 31, 53, 56, 58)
"""Numbers of logs that have WAYS together."""
WAYS = {
    *(
        f"{code} of {state}"
        for code, states in {
            "rule_newer_than_endpoint": ("ready", "group_locked", "queue_off", "transmission"),
            "rule_changed_since": ("ready", "group_locked", "queue_off", "transmission"),
            "near_miss": ("ready", "group_locked", "queue_off", "transmission"),
            "other_side_only": ("ready", "group_locked", "queue_off", "transmission"),
            "more_specific_rule": ("ready", "queue_off", "transmission"),
            "no_rule": ("ready", "group_locked", "transmission"),
            "outranked": ("ready", "transmission"),
            "own_group_first": ("ready", "transmission", "forwarded"),
            "older_first": ("ready", "transmission", "forwarded"),
            "first_in_line": ("ready", "transmission", "forwarded"),
            "group_locked": ("group_locked",),
            "queue_off": ("queue_off", "transmission"),
            "not_received": ("ready",),
            "rolled_back": ("ready", "group_locked", "queue_off"),
            "honor_off": ("transmission",),
            "transmission_status": ("transmission", "forwarded", "unresolved"),
            "endpoint_unknown": ("unresolved",),
            "service_not_in_catalog": ("unresolved",),
            "handle_unknown": ("unresolved",),
        }.items()
        for state in states
    ),
    "near_miss: of two rules",
    "near_miss: in case and blanks",
    "near_miss: in characters",
    "rule_changed_since: another rule decided",
    "rule_changed_since: no rule is left",
    "older_first: at a lower level",
    "group_locked: the session is known",
    "queue_off: by the catalog",
    "queue_off: since",
    "queue_off: poison",
    "rolled_back: five times",
    "not_received: no_monitor",
    "not_received: activation_off",
    "not_received: no_reader_started",
    "not_received: max_queue_readers",
    "not_received: not_due",
    "not_received: notified",
    "not_received: since a receive",
}


def _of_near_miss(row: Row) -> str:
    is_same = without_blanks(row["rule_has"]) == without_blanks(row["endpoint_has"])
    return "in case and blanks" if is_same else "in characters"


def _of_change(row: Row) -> str | None:
    if row["rule"] is None:
        return "no rule is left"
    return "another rule decided" if row["was_rule"] not in (None, row["rule"]) else None


OF_DETAILS: dict[str, tuple[Callable[[Row], str | None], ...]] = {
    "near_miss": (_of_near_miss,),
    "rule_changed_since": (_of_change,),
    "group_locked": (lambda row: row["session_id"] and "the session is known",),
    "queue_off": (
        lambda row: "since" if row["since"] else "by the catalog",
        lambda row: row["poison_message_id"] and "poison",
    ),
    "rolled_back": (lambda row: "five times" if row["times"] >= 5 else None,),
    "not_received": (
        lambda row: row["reason"],
        lambda row: row["last_receive"] and "since a receive",
    ),
}


def ways_of(causes: Causes) -> set[str]:
    """Those of WAYS that the causes of messages have."""
    found = set()
    for message, own in causes.items():
        for cause in own:
            found.add(f"{cause.code} of {message.state}")
            found |= {f"{cause.code}: {way}" for way in _of_cause(cause) if way}
            if cause.code == "older_first" and any(
                (other.level or 0) < (message.level or 0) for other in cause.ahead
            ):
                found.add("older_first: at a lower level")
    return found


def _of_cause(cause: Cause) -> list[str | None]:
    ways = [way(row) for row in cause.details for way in OF_DETAILS.get(cause.code, ())]
    return [*ways, "of two rules"] if cause.code == "near_miss" and len(cause.details) > 1 else ways
