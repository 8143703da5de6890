"""R305 and R306: rules that decide no endpoint of a log, and endpoints that no rule decides."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pipelines.config.service_databases import ServiceDatabases
from pipelines.console.wording import LIST_LENGTH, format_database, format_endpoint, format_level, format_list
from pipelines.lint.findings import Finding, FindingCode, Severity
from pipelines.lint.log_endpoints import EndpointCount, LogEndpoints
from pipelines.lint.pairs import honor_note, suggested_rule
from pipelines.rules.history import RuleVersion, VersionKey
from pipelines.rules.ladder import NO_RULES, DatabaseKey, Ladder, Names, mirror_names
from pipelines.rules.statements import DEFAULT_LEVEL, SourceLocation
from pipelines.settings.rule_sources import KnownRules


def lint_log(
    databases: Mapping[DatabaseKey, Ladder],
    log: LogEndpoints,
    locations: Mapping[VersionKey, SourceLocation],
    known: KnownRules | None = None,
    honors: Mapping[DatabaseKey, bool | None] | None = None,
    service_databases: ServiceDatabases | None = None,
) -> Iterator[Finding]:
    """Yield rules that more specific ones always precede, and databases with endpoints at the default.

    Every endpoint is matched with the rules in force at the moment, whenever it was created. `lint_names`
    reports rules without any endpoint. Nothing follows from endpoints where a name that is not known decides,
    nor of databases whose rules are not known; without `known` all are. `honors` as in `lint_pairs`.
    """
    for database_key, kinds in log.by_database.items():
        rules = databases.get(database_key, NO_RULES)
        deciding: dict[VersionKey, dict[VersionKey, RuleVersion]] = defaultdict(dict)
        fitting: dict[VersionKey, RuleVersion] = {}
        defaulted = []
        undecided = set()
        for kind in kinds:
            found = list(rules.find_fitting(kind.names))
            candidates = rules.find_candidates(kind.names)
            undecided |= {rule.key for rule in candidates}
            if not found and not candidates:
                defaulted.append(kind)
            for rule in found:
                fitting[rule.key] = rule
                deciding[rule.key][found[0].key] = found[0]
        for key, rule in fitting.items():
            if key not in deciding[key] and key not in undecided:
                yield _covered(database_key, rule, list(deciding[key].values()), locations.get(key))
        if defaulted and (known is None or known.has(*database_key)):
            levels = _other_ends(databases, log, defaulted[:LIST_LENGTH], service_databases)
            yield _defaulted(database_key, kinds, defaulted, levels, (honors or {}).get(database_key))


def _covered(
    database_key: DatabaseKey,
    rule: RuleVersion,
    deciding: Sequence[RuleVersion],
    location: SourceLocation | None,
) -> Finding:
    code = FindingCode.COVERED
    others = format_list([format_level(other) for other in deciding])
    differs = any(other.level != rule.level for other in deciding)
    sentence = (
        f"{rule.name!r} (level {rule.level}) decides no endpoint of the log: more specific rules are ahead "
        f"of it on all that fit it, which have {others}"
    )
    fix = "drop it if all its conversations have rules of their own; keep it for those still to come"
    return Finding(
        code, Severity.WARNING if differs else code.severity, database_key, rule.name, location, sentence, fix
    )


def _defaulted(
    database_key: DatabaseKey,
    kinds: Sequence[EndpointCount],
    defaulted: Sequence[EndpointCount],
    levels: Sequence[int | None],
    is_honored: bool | None,
) -> Finding:
    code = FindingCode.DEFAULTED
    total, fell = sum(kind.endpoints for kind in kinds), sum(kind.endpoints for kind in defaulted)
    largest = [f"{kind.endpoints:,} with {format_endpoint(kind.names)}" for kind in defaulted[:LIST_LENGTH]]
    sentence = (
        f"{fell:,} of {total:,} endpoints of {format_database(database_key)} "
        f"{'fits' if fell == 1 else 'fit'} no rule and would get {DEFAULT_LEVEL} today, the default; "
        f"{'these are' if len(defaulted) <= LIST_LENGTH else 'most are'} {'; '.join(largest)}"
    )
    rules = [
        suggested_rule(database_key, _known(kind.names), level)
        for kind, level in zip(defaulted, levels, strict=False)
        if level not in (None, DEFAULT_LEVEL)
    ]
    note = honor_note(is_honored)
    fix = f"if they are to have another level than {DEFAULT_LEVEL}, add rules for them{note}"
    if rules:
        fix += "; by their names, their other ends have this level:\n" + "\n".join(rules)
    return Finding(code, code.severity, database_key, None, None, sentence, fix)


def _known(names: Names) -> Names:
    """Return names for a rule: an empty name, which no snapshot shows, is None, ANY."""
    contract, local, remote = (name or None for name in names)
    return contract, local, remote


def _other_ends(
    databases: Mapping[DatabaseKey, Ladder],
    log: LogEndpoints,
    kinds: Sequence[EndpointCount],
    service_databases: ServiceDatabases | None,
) -> list[int | None]:
    """Return the level that most of the other ends of each kind have from a rule; None where none has.

    An endpoint at the other end has the same contract, and its services are exchanged. It is in a database
    where the catalog has the remote service, else in a near one: other servers may have the same names.
    """
    levels: list[int | None] = []
    for kind in kinds:
        counted: dict[int, int] = defaultdict(int)
        others = log.by_names.get(mirror_names(kind.names), ())
        for other in _nearest(kind, others, service_databases):
            rule = databases.get(other.database_key, NO_RULES).decide(other.names)
            if rule is not None:
                counted[rule.level] += other.endpoints
        levels.append(min(counted, key=lambda level: (-counted[level], level), default=None))
    return levels


def _nearest(
    kind: EndpointCount, others: Sequence[EndpointCount], service_databases: ServiceDatabases | None
) -> Sequence[EndpointCount]:
    """The endpoints in databases with the remote service; else in the same database, or instance, or all."""
    found = (
        service_databases.find_service(kind.database_key, kind.remote_service) if service_databases else []
    )
    if found:
        return [other for other in others if other.database_key in found]
    here = [other for other in others if other.database_key == kind.database_key]
    return here or [other for other in others if other.instance == kind.instance] or others
