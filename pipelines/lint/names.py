"""R301 to R304: rules that no endpoint fits, and why: names that are unknown, misspelt or swapped."""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pipelines.config.nearest import loosely
from pipelines.config.service_databases import ServiceDatabases
from pipelines.console.wording import format_code, format_criteria, format_database, format_list
from pipelines.lint.findings import Finding, FindingCode
from pipelines.lint.log_endpoints import LogEndpoints
from pipelines.rules.history import RuleVersion, VersionKey
from pipelines.rules.ladder import DatabaseKey, Ladder, mirror_names
from pipelines.rules.near_names import NearNames
from pipelines.rules.statements import CRITERIA, SourceLocation
from pipelines.server.snapshots.missing_names import BUILT_IN_CONTRACT


@dataclass(frozen=True)
class _Known:
    """The names that one criterion may have.

    Attributes:
        names: all of them.
        near: the same, to find the one that was meant.
        alike: the same without case, blanks and Unicode form, the first of equals by code points.
        who_lacks: who does not have any other.
        is_all: whether any other name is a mistake, even if none of these is like it.
    """

    names: frozenset[str]
    near: NearNames
    alike: Mapping[str, str]
    who_lacks: str
    is_all: bool


def _known(names: Iterable[str], who_lacks: str, *, is_all: bool) -> _Known:
    of_all = frozenset(names)
    alike = {loosely(name): name for name in sorted(of_all, reverse=True)}
    return _Known(of_all, NearNames(of_all), alike, who_lacks, is_all)


def lint_names(
    databases: Mapping[DatabaseKey, Ladder],
    service_databases: ServiceDatabases,
    log: LogEndpoints | None,
    locations: Mapping[VersionKey, SourceLocation],
) -> Iterator[Finding]:
    """Yield why rules fit no endpoint: a misspelt name, else swapped services, else an unknown name.

    Without a log only the catalog is used, and a name that it lacks is reported only where that must be
    a mistake: a local service of a database that it describes, or a name much like a known one.
    A name is known if the catalog or the log has it: a local service in the rule's own database, a
    remote service or a contract anywhere.
    """
    remote, contract = _remote_services(service_databases, log), _contracts(log)
    for database_key, rules in databases.items():
        known = {"contract": contract, "local_service": _local_services(database_key, service_databases, log)}
        for rule in rules.rules:
            yield from _of_rule(
                rule, known | {"remote_service": remote}, service_databases, log, locations.get(rule.key)
            )


def _of_rule(
    rule: RuleVersion,
    known: Mapping[str, _Known],
    service_databases: ServiceDatabases,
    log: LogEndpoints | None,
    location: SourceLocation | None,
) -> Iterator[Finding]:
    database_key = rule.instance, rule.database

    def finding(code: FindingCode, sentence: str, fix: str) -> Finding:
        return Finding(code, code.severity, database_key, rule.name, location, sentence, fix)

    unknown = {
        criterion: name
        for criterion, name in zip(CRITERIA, rule.triple, strict=True)
        if name is not None and name not in known[criterion].names
    }
    if log is not None and log.may_have(database_key, rule.triple):
        return
    explained = False
    for criterion, name in list(unknown.items()):
        if right := known[criterion].alike.get(loosely(name)):
            explained = True
            del unknown[criterion]
            yield finding(FindingCode.SPELLING, *_misspelt(rule, criterion, name, right))
    if not explained and _is_swapped(rule, known, log):
        yield finding(FindingCode.SWAPPED, *_swapped(rule, service_databases))
        return
    for criterion, name in unknown.items():
        # The name is not known, and so not in use.
        near = next(iter(known[criterion].near.find(name)), None)
        if near or known[criterion].is_all:
            explained = True
            yield finding(
                FindingCode.UNKNOWN_NAME,
                *_unknown(rule, criterion, near, known[criterion], service_databases),
            )
    if log is not None and not explained:
        yield finding(
            FindingCode.NEVER_MATCHED,
            f"{rule.name!r} fits no endpoint of the log: {format_database(database_key)} has none with "
            f"{format_criteria(rule.triple)}",
            "drop it, unless such conversations are still to come",
        )


def _misspelt(rule: RuleVersion, criterion: str, name: str, right: str) -> tuple[str, str]:
    how = _differences(name, right)
    shown = ascii if "Unicode form" in how else repr
    sentence = (
        f"{rule.name!r} asks for the {format_code(criterion)} {shown(name)}, and there is only "
        f"{shown(right)}: names are compared byte by byte, and these differ in {format_list(how)}"
    )
    return sentence, f"write {shown(right)}"


def _swapped(rule: RuleVersion, service_databases: ServiceDatabases) -> tuple[str, str]:
    database_key, local, remote = (rule.instance, rule.database), rule.local_service, rule.remote_service
    here = f"{remote!r} lives there" if local is None else f"{local!r} does not live there"
    sentence = (
        f"{rule.name!r} fits no endpoint of {format_database(database_key)}, and would with its services "
        "the other way "
        f"round: {here}"
    )
    fix = f"swap them: {format_criteria(mirror_names(rule.triple))}"
    if elsewhere := [
        other for other in service_databases.find_service(database_key, local or "") if other != database_key
    ]:
        fix += f"; or move the rule to {format_list([format_database(other) for other in elsewhere])}"
    return sentence, fix


def _unknown(
    rule: RuleVersion, criterion: str, near: str | None, known: _Known, service_databases: ServiceDatabases
) -> tuple[str, str]:
    name = getattr(rule, criterion)
    elsewhere = (
        service_databases.find_service((rule.instance, rule.database), name)
        if criterion == "local_service"
        else []
    )
    sentence = f"{rule.name!r} asks for the {format_code(criterion)} {name!r}, which {known.who_lacks}"
    if elsewhere:
        sentence += f", but {format_list([format_database(database_key) for database_key in elsewhere])}"
        return sentence, "move the rule to that database, or correct the name"
    if near:
        return f"{sentence}; it is probably {near!r}", f"write {near!r}"
    return sentence, "correct the name, or drop the rule"


def _is_swapped(rule: RuleVersion, known: Mapping[str, _Known], log: LogEndpoints | None) -> bool:
    """Whether the rule fits once the services are swapped: endpoints of the log, or else the catalog."""
    local, remote = rule.local_service, rule.remote_service
    if local == remote:
        return False
    if log is not None and log.has((rule.instance, rule.database), mirror_names(rule.triple)):
        return True
    if local is None or remote is None:
        return False
    at_home = known["local_service"].names
    return local not in at_home and local in known["remote_service"].names and remote in at_home


def _contracts(log: LogEndpoints | None) -> _Known:
    names = log.contracts | {BUILT_IN_CONTRACT} if log else frozenset[str]()
    return _known(names, "no endpoint of the log has", is_all=log is not None)


def _remote_services(service_databases: ServiceDatabases, log: LogEndpoints | None) -> _Known:
    names = frozenset(service_databases.services) | (log.services if log else frozenset())
    return _known(names, _who_lacks("", log), is_all=log is not None)


def _local_services(
    database_key: DatabaseKey, service_databases: ServiceDatabases, log: LogEndpoints | None
) -> _Known:
    described = service_databases.services_of(database_key)
    names = frozenset(described) | frozenset(log.local_services(database_key) if log else ())
    who_lacks = _who_lacks(format_database(database_key), log)
    return _known(names, who_lacks, is_all=log is not None or bool(described))


def _who_lacks(database_key: str, log: LogEndpoints | None) -> str:
    of_database = f" of {database_key}" if database_key else ""
    if log is None:
        return f"the catalog does not have{of_database and f' in {database_key}'}"
    return f"neither the catalog nor any endpoint{of_database} has"


def _differences(name: str, other: str) -> list[str]:
    """Say in what two names differ that are loosely the same: case, blanks, Unicode form."""
    views: dict[str, Callable[[str], str]] = {
        "case": str.casefold,
        "blanks": lambda text: "".join(text.split()),
        "Unicode form": lambda text: unicodedata.normalize("NFKC", text),
    }
    needed = []
    for label in views:
        one, two = name, other
        for view in [view for other_label, view in views.items() if other_label != label]:
            one, two = view(one), view(two)
        if one != two:
            needed.append(label)
    return needed or list(views)
