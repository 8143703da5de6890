"""R203 and R204: what the rules of the two ends of a conversation make of it.

The mirror of an endpoint is the other end: the same contract, the services swapped, in the database where
the remote service is. As in `lint_redundant` no endpoint has to be tried but those made of the names
of two rules, here one of each end: taking other names away keeps both rules in charge.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from pipelines.config.rules.history import RuleVersion, VersionKey
from pipelines.config.rules.limits import NAME_LENGTH
from pipelines.config.rules.statements import DEFAULT_LEVEL, Origin
from pipelines.config.rules.tsql_script import bracketed, create_statement
from pipelines.console.wording import SHOWN, criteria, level_and_rule, listed, place_name
from pipelines.ladder.steps import STEPS
from pipelines.lint.findings import Code, Finding, Severity
from pipelines.lint.standing_rules import Names, Place, ServicePlaces, StandingRules, joined, mirrored

_NO_RULES = StandingRules(())


_ANY_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
"""A CREATE does not say when it takes effect."""


def lint_pairs(
    databases: Mapping[Place, StandingRules], places: ServicePlaces, origins: Mapping[VersionKey, Origin]
) -> Iterator[Finding]:
    """Yield a finding for each rule whose other end no rule covers, or rules with other levels do.

    Where a rule names the remote service, the other end is in the databases where the catalog has that
    service, the nearest ones. Where it names the local service only, the other end may be anywhere, and
    is uncovered if no rule of any database fits it. Rules that name no service cover both ends of what
    stays in their database and are left alone, as are those with a remote service that the catalog
    does not have, or a local one that it does not have in the rule's database. An asymmetric pair
    is told once.
    """
    everywhere = StandingRules(rule for rules in databases.values() for rule in rules.rules)
    told: set[frozenset[VersionKey]] = set()
    for place, rules in databases.items():
        for rule in rules.rules:
            remote = rule.remote_service
            others: list[StandingRules]
            if remote is not None:
                found = places.seen_from(place, remote)
                others = [databases.get(other, _NO_RULES) for other in found]
            else:
                found, others = [], [everywhere]
            names_no_service = remote is None and rule.local_service is None
            if not others or names_no_service or not places.is_local(place, rule.local_service):
                continue
            if not any(True for _ in pairs(place, rules, rule, others, places)):
                yield _one_sided(place, rule, found, origins)
            elif remote is not None:
                unequal = pairs(place, rules, rule, others, places, databases=databases)
                if finding := _asymmetric(place, rule, unequal, told, origins):
                    yield finding


def pairs(
    place: Place,
    rules: StandingRules,
    rule: RuleVersion,
    others: Iterable[StandingRules],
    places: ServicePlaces,
    *,
    databases: Mapping[Place, StandingRules] | None = None,
) -> Iterator[RuleVersion]:
    """Yield rules of the other end that fit the mirror of an endpoint that the rule decides.

    With databases given, only those of another level that decide the mirror in their own database.
    A pair of services that the catalog places elsewhere is no endpoint here, and a service that talks to
    itself is one only for a rule that names it twice.
    """
    for other in _overlapping(rules, rule, others, None if databases is None else rule.level):
        names = joined(rule.triple, mirrored(other.triple))
        other_place = other.instance, other.database
        talks_to_itself = names[1] is not None and names[1] == names[2] and None in rule.triple[1:]
        possible = places.may_be_local(place, names[1]) and places.may_be_local(other_place, names[2])
        if talks_to_itself or not possible or next(rules.fitting(names)) is not rule:
            continue
        if databases is None or next(databases[other_place].fitting(mirrored(names))) is other:
            yield other


def _overlapping(
    rules: StandingRules, rule: RuleVersion, others: Iterable[StandingRules], but_level: int | None
) -> Iterator[RuleVersion]:
    """Yield the rules of the other end that fit some mirror of an endpoint that fits the rule."""
    mirror = mirrored(rule.triple)
    for other_rules in others:
        for mask in STEPS:
            for level, groups in other_rules.overlapping(mirror, mask).items():
                if level != but_level:
                    for name, candidates in groups.items():
                        if next(rules.fitting(joined(rule.triple, mirrored(name)))) is rule:
                            yield from candidates


def _one_sided(
    place: Place, rule: RuleVersion, found: Sequence[Place], origins: Mapping[VersionKey, Origin]
) -> Finding:
    """Tell of the rule, and of one for the first of the databases where the other end may be."""
    code = Code.ONE_SIDED
    harmless = rule.level == DEFAULT_LEVEL
    where = listed([place_name(other) for other in found]) if found else "any database"
    sentence = (
        f"{rule.name!r} gives level {rule.level} to one end of its conversations, and in {where} no rule "
        f"fits the other end, which gets {DEFAULT_LEVEL}, the default"
    )
    mirror = mirrored(rule.triple)
    if found:
        fix = f"add a rule for the other end:\n{suggested_rule(found[0], mirror, rule.level)}"
    else:
        fix = f"add a rule in the database of the other end: {criteria(mirror)}"
    severity = Severity.NOTE if harmless else code.severity
    return Finding(code, severity, place, rule.name, origins.get(rule.key), sentence, fix)


def _asymmetric(
    place: Place,
    rule: RuleVersion,
    unequal: Iterator[RuleVersion],
    told: set[frozenset[VersionKey]],
    origins: Mapping[VersionKey, Origin],
) -> Finding | None:
    """Tell of the first pairs that were not told of from the other end."""
    new = []
    for other in unequal:
        pair = frozenset((rule.key, other.key))
        if pair not in told:
            told.add(pair)
            new.append(other)
        if len(new) == SHOWN:
            break
    if not new:
        return None
    code = Code.ASYMMETRIC
    ends = [f"{level_and_rule(other)} in {place_name((other.instance, other.database))}" for other in new]
    sentence = (
        f"{rule.name!r} gives level {rule.level}, and the other end of its conversations has {listed(ends)}"
    )
    fix = "give both ends the same level, unless sending one way is meant to count for more"
    return Finding(code, code.severity, place, rule.name, origins.get(rule.key), sentence, fix)


def suggested_rule(place: Place, names: Names, level: int) -> str:
    """Return USE and CREATE BROKER PRIORITY for endpoints with these names, which make the rule's name.

    A database without a name needs no USE.
    """
    instance, database = place
    name = " ".join(each for each in names if each is not None)[: NAME_LENGTH // 2]
    rule = RuleVersion(instance, database, name, *names, level, _ANY_MOMENT)
    use = f"USE {bracketed(database)}; " if database else ""
    return f"{use}{create_statement(rule)}".rstrip()
