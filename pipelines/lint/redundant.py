"""R201 and R202: rules that change nothing, or only where other rules would interfere.

The answer is exact and tries few endpoints. Let rule X decide an endpoint, and without X rule Y (or the
default). Replace each name that neither X nor Y asks for by a name that no rule mentions. Every rule that
fits the new endpoint fits the old one, so X still decides, and then Y. Hence it is enough to try the
endpoints with the names of X and one other rule, or of X alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from pipelines.config.catalog import Catalog
from pipelines.console.wording import (
    LIST_LENGTH,
    format_criteria,
    format_database,
    format_endpoint,
    format_level,
    format_list,
)
from pipelines.lint.findings import Finding, FindingCode
from pipelines.rules.history import RuleVersion, VersionKey
from pipelines.rules.ladder import DatabaseKey, Ladder, Names, join_names, level_of, mask_of
from pipelines.rules.statements import DEFAULT_LEVEL, STEPS, HonorSetting, SourceLocation
from pipelines.rules.tsql_script import quote_name

MOST_LEVELS = 3


@dataclass(frozen=True)
class Removal:
    """An endpoint that a rule decides, and the rule that would decide it otherwise; None is the default."""

    names: Names
    successor: RuleVersion | None


def lint_redundant(
    database_key: DatabaseKey, rules: Ladder, locations: Mapping[VersionKey, SourceLocation]
) -> Iterator[Finding]:
    """Yield a finding for each rule of a database that could go, or that gives what applies anyway."""
    for rule in rules.rules:
        own = remove_rule(rules, rule)
        if level_of(own.successor) != rule.level:
            continue
        changed = find_changed_endpoint(rules, rule)
        code = FindingCode.SAME_LEVEL if changed else FindingCode.REDUNDANT
        if changed:
            sentence = (
                f"{rule.name!r} gives level {rule.level}, which its endpoints would have anyway "
                f"({format_level(own.successor)}), except where another rule would interfere: "
                f"{format_endpoint(changed.names)} would have {format_level(changed.successor)}"
            )
            fix = "keep it if it is there for the exception, and say so in a comment; else drop it"
        else:
            successors = [
                format_level(successor) for successor in islice(find_successors(rules, rule), LIST_LENGTH + 1)
            ]
            others = " and other rules" if len(successors) > LIST_LENGTH else ""
            sentence = (
                f"{rule.name!r} ({format_criteria(rule.triple)}) is redundant: without it every endpoint "
                "has the "
                f"same level, {format_list(successors[:LIST_LENGTH])}{others}"
            )
            fix = "drop it, or give it the level that was meant"
        yield Finding(code, code.severity, database_key, rule.name, locations.get(rule.key), sentence, fix)


def remove_rule(rules: Ladder, rule: RuleVersion) -> Removal:
    """Remove the rule for the endpoint that has its names, and else names that no rule mentions.

    The rule decides that endpoint: rules of earlier steps would need a name that it does not have.
    """
    decided = _remove_at(rules, rule, rule.triple)
    assert decided is not None
    return decided


def find_changed_endpoint(rules: Ladder, rule: RuleVersion) -> Removal | None:
    """Return an endpoint whose level would change if the rule was removed; None if there is none.

    A look-up for each step, and some for each group of rules of another level that overlap with this one,
    until one is found that is not behind a more specific rule.
    """
    own = remove_rule(rules, rule)
    if level_of(own.successor) != rule.level:
        return own
    for candidate in _overlapping_later(rules, rule, same_level=False):
        decided = _remove_at(rules, rule, join_names(rule.triple, candidate.triple))
        if decided and level_of(decided.successor) != rule.level:
            return decided
    return None


def find_successors(rules: Ladder, rule: RuleVersion) -> Iterator[RuleVersion | None]:
    """Yield the rules of the same level that would decide the rule's endpoints without it, each once."""
    successor = remove_rule(rules, rule).successor
    yield successor
    for candidate in _overlapping_later(rules, rule, same_level=True):
        decided = _remove_at(rules, rule, join_names(rule.triple, candidate.triple))
        if decided and decided.successor is candidate and candidate is not successor:
            yield candidate


def _remove_at(rules: Ladder, rule: RuleVersion, names: Names) -> Removal | None:
    """Remove the rule for an endpoint; None if the rule does not decide it."""
    fitting = rules.find_fitting(names)
    if next(fitting) is not rule:
        return None
    return Removal(names, next(fitting, None))


def _overlapping_later(rules: Ladder, rule: RuleVersion, *, same_level: bool) -> Iterator[RuleVersion]:
    """Yield the rules of later steps that may decide some of the rule's endpoints, by level.

    Rules with a subset of this rule's criteria are left out: they fit all of its endpoints, and `remove_rule`
    covers them.
    """
    own = mask_of(rule.triple)
    for mask in STEPS[STEPS.index(own) + 1 :]:
        if any(more and not less for more, less in zip(mask, own, strict=True)):
            for level, groups in rules.find_overlapping(rule.triple, mask).items():
                if (level == rule.level) == same_level:
                    for name, candidates in groups.items():
                        if _remove_at(rules, rule, join_names(rule.triple, name)):
                            yield from candidates


def lint_levels(
    databases: Mapping[DatabaseKey, Ladder],
    catalog: Catalog | None,
    locations: Mapping[VersionKey, SourceLocation],
    honor_settings: Sequence[HonorSetting] = (),
) -> Iterator[Finding]:
    """Yield at most two findings for each database.

    A database without HONOR_BROKER_PRIORITY sends everything at 5; of what the catalog does not mention only
    the scripts say so. Rules of level 5 lose nothing by it. The levels of a database are those of its rules:
    with many of them, most of the sending goes to the highest two or three (Conversation Priorities in the
    vendor's documentation).
    """
    honors = catalog.honors() if catalog else {}
    in_scripts = {(each.instance, each.database): each for each in honor_settings}
    for database_key, rules in databases.items():
        not_default = [rule for rule in rules.rules if rule.level != DEFAULT_LEVEL]
        if not_default:
            yield from _honor(honors.get(database_key), in_scripts.get(database_key), not_default, locations)
        levels = sorted({rule.level for rule in rules.rules}, reverse=True)
        if len(levels) > MOST_LEVELS:
            first = _first(rules.rules, locations)
            code = FindingCode.MANY_LEVELS
            sentence = (
                f"the rules of {format_database(database_key)} use {len(levels)} levels "
                f"({', '.join(map(str, levels))}); "
                "with so many, most of the sending goes to the highest two or three"
            )
            fix = "use three levels with room between them, such as 3, 5 and 8"
            yield Finding(
                code, code.severity, database_key, first.name, locations.get(first.key), sentence, fix
            )


def _honor(
    in_catalog: bool | None,
    in_script: HonorSetting | None,
    rules: Sequence[RuleVersion],
    locations: Mapping[VersionKey, SourceLocation],
) -> Iterator[Finding]:
    """Say that rules do not count for sending, or that catalog and script differ in whether they do."""
    first = _first(rules, locations)
    database_key = first.instance, first.database
    is_on = in_script.is_on if in_script else None
    if in_catalog is not False and is_on is not False:
        return
    rules_count = f"1 rule, {first.name!r}, counts"
    if len(rules) > 1:
        rules_count = f"{len(rules):,} rules, the first of them {first.name!r}, count"
    code, location, option = FindingCode.NOT_HONORED, locations.get(first.key), "HONOR_BROKER_PRIORITY"
    alter = (
        f"ALTER DATABASE {quote_name(database_key[1])} SET {option}" if database_key[1] else f"SET {option}"
    )
    if in_script is None or (not is_on and not in_catalog):
        head = f"{option} is off in {format_database(database_key)}"
        fix = (
            f"turn it on, {alter} ON; where a catalog file has the database, write honor_broker_priority: "
            "true there"
        )
    else:
        location = in_script.location
        turns = f"line {location.line} turns it {'on' if is_on else 'off'}"
        says = f"the catalog says {'on' if in_catalog else 'off'}"
        by = "catalog" if is_on else "script"
        head = f"{option} of {format_database(database_key)}: {turns}, {says}, so by the {by}"
        fix = "write honor_broker_priority: true in the catalog, if the script was run"
        if not is_on:
            fix = f"write {alter} ON in the script, or honor_broker_priority: false in the catalog"
    sentence = f"{head}, so {rules_count}" if ", so " not in head else f"{head} {rules_count}"
    yield Finding(
        code,
        code.severity,
        database_key,
        first.name,
        location,
        f"{sentence} for receiving and not for sending",
        fix,
    )


def _first(rules: Iterable[RuleVersion], locations: Mapping[VersionKey, SourceLocation]) -> RuleVersion:
    return min(rules, key=lambda rule: _position(rule, locations))


def _position(rule: RuleVersion, locations: Mapping[VersionKey, SourceLocation]) -> tuple[str, int, int, str]:
    location = locations.get(rule.key)
    return (location.file, location.line, location.column, rule.name) if location else ("", 0, 0, rule.name)
