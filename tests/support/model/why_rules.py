"""Why a level is what it is: the causes that come from rules, message by message."""

from dataclasses import dataclass, replace
from datetime import datetime

from .endpoints import Endpoint
from .moment import Moment, OpenMessage, names_of
from .rules import DEFAULT_LEVEL, LADDER, Rule
from .vocabulary import Row, Side

CRITERIA = ("contract", "local_service", "remote_service")
FEWEST_EDITS = 2
"""The most edits between two names that are near."""


@dataclass(frozen=True)
class Won:
    """What the ladder gives: the level, and the rule and step where one fits."""

    level: int
    rule: Rule | None = None
    step: int | None = None


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
        names = dict(zip(CRITERIA, names_of(endpoint), strict=True))
        found["no_rule"] = [{**_where(endpoint), **names}]
    return found


def _where(endpoint: Endpoint) -> Row:
    return {"instance": endpoint.instance, "database": endpoint.database}


# The ladder


def stands(rule: Rule, time: datetime) -> bool:
    """Whether it is valid at the time."""
    return rule.valid_from <= time and (rule.valid_to is None or time < rule.valid_to)


def own_rules(moment: Moment, endpoint: Endpoint, time: datetime) -> list[Rule]:
    """The rules of the endpoint's own database that stand at the time."""
    return [
        rule
        for rule in moment.rules
        if (rule.instance, rule.database) == (endpoint.instance, endpoint.database) and stands(rule, time)
    ]


def step_of(rule: Rule) -> int:
    """The step of the ladder on which it stands."""
    pattern = tuple("ANY" if criterion is None else "rule" for criterion in rule.triple)
    return LADDER.index(pattern) + 1  # type: ignore[arg-type]


def fits(rule: Rule, names: tuple[str, str, str]) -> bool:
    """Whether every criterion that it names is the endpoint's name."""
    return all(wanted in (None, name) for wanted, name in zip(rule.triple, names, strict=True))


def climb(rules: list[Rule], endpoint: Endpoint) -> Won:
    """The first step with a rule that fits decides, else the default."""
    fitting = [rule for rule in rules if fits(rule, names_of(endpoint))]
    if not fitting:
        return Won(DEFAULT_LEVEL)
    first = min(fitting, key=step_of)
    return Won(first.level, first, step_of(first))


# rule_newer_than_endpoint, rule_changed_since


def _changed_since(moment: Moment, endpoint: Endpoint) -> tuple[str | None, Row]:
    won = climb(own_rules(moment, endpoint, moment.as_of), endpoint)
    if won.level <= endpoint.priority:
        return None, {}
    at_creation = own_rules(moment, endpoint, endpoint.created_at)
    side: Side = (endpoint.conversation_id, endpoint.is_initiator)
    decided = None if side in moment.server_levels else climb(at_creation, endpoint).rule
    was_there = won.rule is None or won.rule.name in {rule.name for rule in at_creation}
    if won.rule and won.rule.valid_from > endpoint.created_at:
        since: datetime | None = won.rule.valid_from
    else:
        since = decided.valid_to if decided else None
    return "rule_changed_since" if was_there else "rule_newer_than_endpoint", {
        **_where(endpoint),
        "rule": won.rule.name if won.rule else None,
        "level": won.level,
        "was_rule": endpoint.rule_name,
        "was_level": endpoint.priority,
        "since": since,
    }


# near_miss


def _near_misses(moment: Moment, endpoint: Endpoint) -> list[Row]:
    rules = own_rules(moment, endpoint, moment.as_of)
    won = climb(rules, endpoint)
    found = []
    for rule in rules:
        wrong = [
            (criterion, wanted, name)
            for criterion, wanted, name in zip(CRITERIA, rule.triple, names_of(endpoint), strict=True)
            if wanted not in (None, name)
        ]
        if len(wrong) != 1 or rule.level <= max(endpoint.priority, won.level):
            continue
        criterion, wanted, name = wrong[0]
        assert wanted is not None
        corrected = replace(rule, **{criterion: name})
        # A rule that has the corrected criteria already goes on winning: two can't have the same.
        wins = won.step is None or step_of(corrected) < won.step
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
        and (other.instance, other.database) == (endpoint.instance, endpoint.database)
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
        **dict(zip(CRITERIA, names_of(endpoint), strict=True)),
        "other_instance": other.instance,
        "other_database": other.database,
        "other_rule": other.rule_name,
        "other_level": other.priority,
    }


def _more_specific(moment: Moment, endpoint: Endpoint) -> Row | None:
    rules = own_rules(moment, endpoint, moment.as_of)
    won = climb(rules, endpoint)
    if won.rule is None or won.step is None:
        return None
    later = [
        rule
        for rule in rules
        if fits(rule, names_of(endpoint))
        and step_of(rule) > won.step
        and rule.level > max(endpoint.priority, won.level)
    ]
    if not later:
        return None
    highest = min(later, key=lambda rule: (-rule.level, step_of(rule)))
    return {
        **_where(endpoint),
        "winning_rule": won.rule.name,
        "winning_step": won.step,
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
