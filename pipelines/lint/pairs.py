"""R203 and R204: the levels that rules give the two ends of a conversation.

The mirror of an endpoint is the other end: the same contract, the services swapped, in the database where
the remote service is. As in `lint_redundant`, only endpoints with the names of two rules are tried, here one
of each end: both rules still decide if all other names are taken away.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from pipelines.config.service_databases import ServiceDatabases
from pipelines.console.wording import LIST_LENGTH, format_criteria, format_database, format_level, format_list
from pipelines.lint.findings import Finding, FindingCode, Severity
from pipelines.rules.history import RuleVersion, VersionKey
from pipelines.rules.ladder import NO_RULES, DatabaseKey, Ladder, Names, join_names, mirror_names
from pipelines.rules.statements import DEFAULT_LEVEL, NAME_LENGTH, STEPS, SourceLocation, name_problem
from pipelines.rules.tsql_script import create_statement, quote_name
from pipelines.settings.rule_sources import KnownRules

_ANY_MOMENT = datetime(1, 1, 1, tzinfo=UTC)
"""A CREATE does not say when it takes effect."""
DIGEST_LENGTH = 8
"""Characters of the digest at the end of a name that was cut."""


def lint_pairs(
    databases: Mapping[DatabaseKey, Ladder],
    service_databases: ServiceDatabases,
    locations: Mapping[VersionKey, SourceLocation],
    known: KnownRules | None = None,
    honors: Mapping[DatabaseKey, bool | None] | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each rule whose other end no rule covers, or rules with other levels do.

    Where a rule names the remote service, the other end is in the databases where the catalog has that
    service, the nearest ones. Where it names the local service only, the other end may be anywhere, and
    is uncovered if no rule of any database fits it. Rules that name no service cover both ends of what
    stays in their database and are left alone, as are those with a remote service that the catalog
    does not have, or a local one that it does not have in the rule's database. An asymmetric pair
    is reported once. Nothing is said of databases whose rules are not known, nor of an end that may be
    anywhere if only snapshots show the rules; without `known` all rules are known. `honors` are the
    HONOR_BROKER_PRIORITY of databases, None if not known.
    """
    everywhere = Ladder(rule for rules in databases.values() for rule in rules.rules)
    reported: set[frozenset[VersionKey]] = set()
    for database_key, rules in databases.items():
        for rule in rules.rules:
            remote = rule.remote_service
            others: list[Ladder]
            if remote is not None:
                found = service_databases.find_service(database_key, remote)
                others = [databases.get(other, NO_RULES) for other in found]
            else:
                found, others = [], [everywhere]
            names_no_service = remote is None and rule.local_service is None
            if (
                not others
                or names_no_service
                or not service_databases.is_local(database_key, rule.local_service)
            ):
                continue
            if not any(True for _ in pairs(database_key, rules, rule, others, service_databases)):
                if known is not None and not _are_known(known, database_key, found):
                    continue
                yield _one_sided(database_key, rule, found, locations, honors or {})
            elif remote is not None:
                unequal = pairs(database_key, rules, rule, others, service_databases, databases=databases)
                if finding := _asymmetric(database_key, rule, unequal, reported, locations):
                    yield finding


def _are_known(known: KnownRules, database_key: DatabaseKey, found: Sequence[DatabaseKey]) -> bool:
    """Whether the rules of the other end are known; it may be anywhere if its databases are not found."""
    return all(known.has(*other) for other in found) if found else database_key[0] in known.instances


def pairs(
    database_key: DatabaseKey,
    rules: Ladder,
    rule: RuleVersion,
    others: Iterable[Ladder],
    service_databases: ServiceDatabases,
    *,
    databases: Mapping[DatabaseKey, Ladder] | None = None,
) -> Iterator[RuleVersion]:
    """Yield rules of the other end that fit the mirror of an endpoint that the rule decides.

    With databases given, only those of another level that decide the mirror in their own database.
    A pair of services that the catalog places elsewhere is no endpoint here, and a service that talks to
    itself is one only for a rule that names it twice.
    """
    for other in _overlapping(rules, rule, others, None if databases is None else rule.level):
        names = join_names(rule.triple, mirror_names(other.triple))
        other_key = other.instance, other.database
        talks_to_itself = names[1] is not None and names[1] == names[2] and None in rule.triple[1:]
        possible = service_databases.may_be_local(database_key, names[1]) and service_databases.may_be_local(
            other_key, names[2]
        )
        if talks_to_itself or not possible or rules.decide(names) is not rule:
            continue
        if databases is None or databases[other_key].decide(mirror_names(names)) is other:
            yield other


def _overlapping(
    rules: Ladder, rule: RuleVersion, others: Iterable[Ladder], but_level: int | None
) -> Iterator[RuleVersion]:
    """Yield the rules of the other end that fit some mirror of an endpoint that fits the rule."""
    mirror = mirror_names(rule.triple)
    for other_rules in others:
        for mask in STEPS:
            for level, groups in other_rules.find_overlapping(mirror, mask).items():
                if level != but_level:
                    for name, candidates in groups.items():
                        if rules.decide(join_names(rule.triple, mirror_names(name))) is rule:
                            yield from candidates


def _one_sided(
    database_key: DatabaseKey,
    rule: RuleVersion,
    found: Sequence[DatabaseKey],
    locations: Mapping[VersionKey, SourceLocation],
    honors: Mapping[DatabaseKey, bool | None],
) -> Finding:
    """Report the rule, and suggest one for the first database where the other end may be."""
    code = FindingCode.ONE_SIDED
    harmless = rule.level == DEFAULT_LEVEL
    where = format_list([format_database(other) for other in found]) if found else "any database"
    sentence = (
        f"{rule.name!r} gives level {rule.level} to one end of its conversations, and no rule of {where} "
        f"fits the other end, which gets {DEFAULT_LEVEL}, the default"
    )
    mirror = mirror_names(rule.triple)
    if harmless:
        fix = f"none is needed while both ends are to have {DEFAULT_LEVEL}"
    elif found:
        suggested = suggested_rule(found[0], mirror, rule.level)
        there = f"in {format_database(found[0])}" + (", if it is there" if len(found) > 1 else "")
        fix = f"add a rule for the other end {there}{honor_note(honors.get(found[0]))}:\n{suggested}"
    else:
        fix = f"add a rule in the database of the other end: {format_criteria(mirror)}"
    severity = Severity.NOTE if harmless else code.severity
    return Finding(code, severity, database_key, rule.name, locations.get(rule.key), sentence, fix)


def _asymmetric(
    database_key: DatabaseKey,
    rule: RuleVersion,
    unequal: Iterator[RuleVersion],
    reported: set[frozenset[VersionKey]],
    locations: Mapping[VersionKey, SourceLocation],
) -> Finding | None:
    """Report the first pairs that were not reported from the other end."""
    new = []
    for other in unequal:
        pair = frozenset((rule.key, other.key))
        if pair not in reported:
            reported.add(pair)
            new.append(other)
        if len(new) == LIST_LENGTH:
            break
    if not new:
        return None
    code = FindingCode.ASYMMETRIC
    ends = [f"{format_level(other)} in {format_database((other.instance, other.database))}" for other in new]
    sentence = (
        f"{rule.name!r} gives level {rule.level}, and the other end of its conversations has "
        f"{format_list(ends)}"
    )
    fix = "give both ends the same level, unless sending one way is meant to count for more"
    return Finding(code, code.severity, database_key, rule.name, locations.get(rule.key), sentence, fix)


def honor_note(is_honored: bool | None) -> str:
    """Say what a rule does not do in a database that does not honor priorities."""
    if is_honored is not False:
        return ""
    return "; for what the database sends it does not count, as its HONOR_BROKER_PRIORITY is off"


def _name_rule(names: Names) -> str:
    """A name that no rule with other criteria gets; a long one is cut, and ends in a digest of the whole."""
    name = " ".join(each or "ANY" for each in names)
    if name_problem(name, NAME_LENGTH) is None:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:DIGEST_LENGTH]
    # A character outside the basic plane is two for the server; half of one is left out.
    cut = name.encode("utf-16-le")[: 2 * (NAME_LENGTH - DIGEST_LENGTH - 1)]
    return f"{cut.decode('utf-16-le', 'ignore')} {digest}"


def suggested_rule(database_key: DatabaseKey, names: Names, level: int) -> str:
    """Return USE and CREATE BROKER PRIORITY for endpoints with these names, which make the rule's name.

    A database without a name needs no USE.
    """
    instance, database = database_key
    rule = RuleVersion(instance, database, _name_rule(names), *names, level, _ANY_MOMENT)
    use = f"USE {quote_name(database)}; " if database else ""
    return f"{use}{create_statement(rule)}".rstrip()
