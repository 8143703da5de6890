"""The history of priority rules, and the ladder that chooses among them."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from .vocabulary import Row

LADDER = (
    ("rule", "rule", "rule"),
    ("rule", "rule", "ANY"),
    ("rule", "ANY", "rule"),
    ("rule", "ANY", "ANY"),
    ("ANY", "rule", "rule"),
    ("ANY", "rule", "ANY"),
    ("ANY", "ANY", "rule"),
    ("ANY", "ANY", "ANY"),
)
"""Per step: whose contract, local service and remote service; first match wins."""

DEFAULT_LEVEL = 5


@dataclass(frozen=True)
class Rule:
    """One version of a rule, valid in [valid_from, valid_to). A criterion of None is ANY."""

    instance: str
    database: str
    name: str
    contract: str | None
    local_service: str | None
    remote_service: str | None
    level: int
    valid_from: datetime
    valid_to: datetime | None

    @property
    def triple(self) -> tuple[str | None, str | None, str | None]:
        return (self.contract, self.local_service, self.remote_service)


def rule_history(statements: list[Row]) -> list[Rule]:
    """Execute the statements by their moment, then as listed; every ALTER starts a new version."""
    versions: list[Rule] = []
    for statement in sorted(statements, key=lambda statement: statement["effective_from"]):
        place, now = (statement["instance"], statement["database"]), statement["effective_from"]
        in_force = {
            rule.name: rule
            for rule in versions
            if (rule.instance, rule.database) == place and rule.valid_to is None
        }
        if "create" in statement:
            form = statement["create"]
            if form["name"] in in_force:
                raise ValueError(f"rule {form['name']!r} exists already")
            new = Rule(*place, form["name"], None, None, None, DEFAULT_LEVEL, now, None)
        elif "alter" in statement:
            form = statement["alter"]
            new = replace(in_force[form["name"]], valid_from=now)
        else:
            form = statement["drop"]
            new = None
        if form["name"] in in_force:
            old = in_force.pop(form["name"])
            versions[versions.index(old)] = replace(old, valid_to=now)
        if new is not None:
            new = replace(new, **_given(form))
            for other in in_force.values():
                if other.triple == new.triple:
                    raise ValueError(f"rules {other.name!r} and {new.name!r} have the same criteria")
            versions.append(new)
    return [rule for rule in versions if rule.valid_from != rule.valid_to]


def _given(form: Row) -> dict[str, Any]:
    """What a CREATE or ALTER says, without what it omits."""
    given: dict[str, Any] = {}
    for criterion in ("contract", "local_service", "remote_service"):
        value = form.get(criterion)
        if isinstance(value, dict):
            given[criterion] = value["name"]
        elif value is not None:
            given[criterion] = None if value == "ANY" else value
    if form.get("level") is not None:
        given["level"] = form["level"]
    return given


def rules_at(rules: list[Rule], place: tuple[str, str], moment: datetime) -> list[Rule]:
    """The rules of a database that are valid at a moment."""
    return [
        rule
        for rule in rules
        if (rule.instance, rule.database) == place
        and rule.valid_from <= moment
        and (rule.valid_to is None or moment < rule.valid_to)
    ]


def fits(rule: Rule, names: tuple[str, str, str]) -> bool:
    """Whether every criterion that it names is the endpoint's name."""
    return all(wanted in (None, name) for wanted, name in zip(rule.triple, names, strict=True))


def step_of(rule: Rule) -> int:
    """The step of the ladder on which it stands."""
    pattern = tuple("ANY" if criterion is None else "rule" for criterion in rule.triple)
    return LADDER.index(pattern) + 1  # type: ignore[arg-type]


def deciding_rule(rules: list[Rule], names: tuple[str, str, str]) -> Rule | None:
    """The rule of the first step that has one that fits an endpoint's contract and services."""
    return min((rule for rule in rules if fits(rule, names)), key=step_of, default=None)


def resolve(
    rules: list[Rule],
    place: tuple[str, str],
    moment: datetime,
    names: tuple[str, str, str],
) -> tuple[int, str | None, int | None]:
    """The (priority, rule_name, ladder_step) of an endpoint with these names that is created then."""
    rule = deciding_rule(rules_at(rules, place, moment), names)
    return (rule.level, rule.name, step_of(rule)) if rule else (DEFAULT_LEVEL, None, None)


def priority_rules(rules: list[Rule]) -> list[Row]:
    """The table priority_rules."""
    columns = (
        "instance", "database", "name", "valid_from", "contract", "local_service", "remote_service", "level",
        "valid_to",
    )  # fmt: skip
    return [{column: getattr(rule, column) for column in columns} for rule in rules]
