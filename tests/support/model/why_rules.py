"""Why a level is what it is: the causes that come from rules, message by message."""

from dataclasses import replace
from datetime import datetime

from .endpoints import Endpoint
from .moment import Moment, OpenMessage
from .rules import DEFAULT_LEVEL, Rule, deciding_rule, fits, rules_at, step_of
from .vocabulary import Row

CODES = dict.fromkeys(
    (
        "rule_newer_than_endpoint", "rule_changed_since", "near_miss", "other_side_only",
        "more_specific_rule", "no_rule",
    ),
    "misconfigured",
)  # fmt: skip
"""The causes from rules in their order, with how bad they are."""
CRITERIA = ("contract", "local_service", "remote_service")
FEWEST_EDITS = 2
"""The most edits between two names that are near."""


def rule_causes(moment: Moment, message: OpenMessage) -> dict[str, list[Row]]:
    """The details by code of the causes from rules; none for forwarded and unresolved rows."""
    endpoint = message.endpoint
    if message.state in ("forwarded", "unresolved"):
        return {}
    assert endpoint is not None
    found: dict[str, list[Row]] = {}
    code, details = _changed_since(moment, endpoint)
    if code is not None:
        found[code] = [details]
    near = _near_misses(moment, endpoint)
    if near:
        found["near_miss"] = near
    other_side = _other_side(moment, endpoint)
    if other_side:
        found["other_side_only"] = [other_side]
    more_specific = _more_specific(moment, endpoint)
    if more_specific:
        found["more_specific_rule"] = [more_specific]
    if not found and has_no_rule(endpoint) and _another_has_one(moment, message):
        found["no_rule"] = [{**_where(endpoint), **_names(endpoint)}]
    return found


def _where(endpoint: Endpoint) -> Row:
    return {"instance": endpoint.instance, "database": endpoint.database}


def _names(endpoint: Endpoint) -> Row:
    return dict(zip(CRITERIA, endpoint.names, strict=True))


def _own_rules(moment: Moment, endpoint: Endpoint, time: datetime) -> list[Rule]:
    """The rules of the endpoint's own database that stand at the time."""
    return rules_at(moment.rules, endpoint.place, time)


def _level(rule: Rule | None) -> int:
    return rule.level if rule else DEFAULT_LEVEL


# rule_newer_than_endpoint, rule_changed_since


def _changed_since(moment: Moment, endpoint: Endpoint) -> tuple[str | None, Row]:
    won = deciding_rule(_own_rules(moment, endpoint, moment.as_of), endpoint.names)
    if _level(won) <= endpoint.priority:
        return None, {}
    at_creation = _own_rules(moment, endpoint, endpoint.created_at)
    of_server = endpoint.side in moment.server_levels
    decided = None if of_server else deciding_rule(at_creation, endpoint.names)
    was_there = won is None or won.name in {rule.name for rule in at_creation}
    if won and won.valid_from > endpoint.created_at:
        since: datetime | None = won.valid_from
    else:
        since = decided.valid_to if decided else None
    return "rule_changed_since" if was_there else "rule_newer_than_endpoint", {
        **_where(endpoint),
        "rule": won.name if won else None,
        "level": _level(won),
        "was_rule": endpoint.rule_name,
        "was_level": endpoint.priority,
        "since": since,
    }


# near_miss


def _near_misses(moment: Moment, endpoint: Endpoint) -> list[Row]:
    rules = _own_rules(moment, endpoint, moment.as_of)
    won = deciding_rule(rules, endpoint.names)
    found = []
    for rule in rules:
        wrong = [
            (criterion, wanted, name)
            for criterion, wanted, name in zip(CRITERIA, rule.triple, endpoint.names, strict=True)
            if wanted not in (None, name)
        ]
        if len(wrong) != 1 or rule.level <= max(endpoint.priority, _level(won)):
            continue
        criterion, wanted, name = wrong[0]
        assert wanted is not None
        corrected = replace(rule, **{criterion: name})
        # A rule that has the corrected criteria already goes on winning: two can't have the same.
        wins = won is None or step_of(corrected) < step_of(won)
        if wins and _is_near(moment, endpoint, criterion, wanted, name):
            found.append(
                {
                    **_where(endpoint),
                    "rule": rule.name,
                    "level": rule.level,
                    "criterion": criterion,
                    "rule_has": wanted,
                    "endpoint_has": name,
                }
            )
    return found


def _is_near(moment: Moment, endpoint: Endpoint, criterion: str, wanted: str, name: str) -> bool:
    if without_blanks(wanted) == without_blanks(name):
        return True
    if _is_in_use(moment, endpoint, criterion, wanted):
        return False
    distance = edits(wanted, name)
    return distance <= FEWEST_EDITS and distance * 2 < max(len(wanted), len(name))


def without_blanks(name: str) -> str:
    """The name without U+0020 and in lower case."""
    return name.replace(" ", "").lower()


def _is_in_use(moment: Moment, endpoint: Endpoint, criterion: str, name: str) -> bool:
    """Whether an endpoint of that database has the name in that column, or it is a service of the catalog."""
    there = moment.state.known_endpoints.values()
    if any(
        other.created_at < moment.as_of
        and other.place == endpoint.place
        and getattr(other, criterion) == name
        for other in there
    ):
        return True
    return criterion != "contract" and bool(moment.catalog.places_of(name))


def edits(one: str, other: str) -> int:
    """The Levenshtein distance: insertions, deletions and substitutions of code points."""
    row = list(range(len(other) + 1))
    for number, character in enumerate(one, start=1):
        above, row = row, [number]
        for place, wanted in enumerate(other, start=1):
            row.append(min(above[place] + 1, row[place - 1] + 1, above[place - 1] + (character != wanted)))
    return row[-1]


# other_side_only, more_specific_rule, no_rule


def has_no_rule(endpoint: Endpoint) -> bool:
    """Neither a rule nor a level of the server."""
    return endpoint.ladder_step is None and endpoint.priority == DEFAULT_LEVEL


def _other_side(moment: Moment, endpoint: Endpoint) -> Row | None:
    other = moment.state.endpoint((endpoint.conversation_id, not endpoint.is_initiator))
    if not has_no_rule(endpoint) or other is None or other.ladder_step is None:
        return None
    if other.priority <= endpoint.priority:
        return None
    return {
        **_where(endpoint),
        **_names(endpoint),
        "other_instance": other.instance,
        "other_database": other.database,
        "other_rule": other.rule_name,
        "other_level": other.priority,
    }


def _more_specific(moment: Moment, endpoint: Endpoint) -> Row | None:
    rules = _own_rules(moment, endpoint, moment.as_of)
    won = deciding_rule(rules, endpoint.names)
    later = [
        rule
        for rule in rules
        if won
        and fits(rule, endpoint.names)
        and step_of(rule) > step_of(won)
        and rule.level > max(endpoint.priority, won.level)
    ]
    if won is None or not later:
        return None
    highest = min(later, key=lambda rule: (-rule.level, step_of(rule)))
    return {
        **_where(endpoint),
        "winning_rule": won.name,
        "winning_step": step_of(won),
        "winning_level": won.level,
        "rule": highest.name,
        "step": step_of(highest),
        "level": highest.level,
    }


def _another_has_one(moment: Moment, message: OpenMessage) -> bool:
    """Whether a row of the queue, or of the instance and not forwarded, has a rule and is above 5."""
    return any(
        other.place == message.place
        and other.state != "forwarded"
        and other.endpoint is not None
        and other.endpoint.ladder_step is not None
        and other.endpoint.priority > DEFAULT_LEVEL
        for other in moment.open_messages
        if other.kind == message.kind
    )
