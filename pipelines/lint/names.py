"""R301 to R304: rules that no endpoint fits, and why: names that are unknown, misspelt or swapped."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pipelines.config.nearest import NearestNames, differences
from pipelines.config.rules.history import RuleVersion, VersionKey
from pipelines.config.rules.statements import Origin
from pipelines.console.wording import criteria, listed, place_name
from pipelines.ladder.steps import CRITERIA
from pipelines.lint.findings import Code, Finding
from pipelines.lint.log_kinds import LogKinds
from pipelines.lint.service_places import ServicePlaces
from pipelines.lint.standing_rules import Place, StandingRules, mirrored

BUILT_IN_CONTRACT = "DEFAULT"
"""Every database has it; BEGIN DIALOG takes it where ON CONTRACT is missing (the vendor's documentation)."""


@dataclass(frozen=True)
class _Known:
    """The names that one criterion may have.

    Attributes:
        names: all of them.
        near: the same, to find the one that was meant.
        who_lacks: who does not have any other.
        is_all: whether any other name is a mistake, even if none of these is like it.
    """

    names: frozenset[str]
    near: NearestNames
    who_lacks: str
    is_all: bool


def lint_names(
    databases: Mapping[Place, StandingRules],
    places: ServicePlaces,
    log: LogKinds | None,
    origins: Mapping[VersionKey, Origin],
) -> Iterator[Finding]:
    """Yield why rules fit no endpoint: what is misspelt, else swapped, else unknown, else that they do.

    Without a log the catalog alone is asked, and a name that it lacks is told of only where that must be
    a mistake: a local service of a database that it describes, or a name much like a known one.
    A name is known if the catalog or the log has it: a local service in the rule's own database, a
    remote service or a contract anywhere.
    """
    remote, contract = _remote_services(places, log), _contracts(log)
    for place, rules in databases.items():
        known = {"contract": contract, "local_service": _local_services(place, places, log)}
        for rule in rules.rules:
            yield from _of_rule(rule, known | {"remote_service": remote}, places, log, origins.get(rule.key))


def _of_rule(
    rule: RuleVersion,
    known: Mapping[str, _Known],
    places: ServicePlaces,
    log: LogKinds | None,
    origin: Origin | None,
) -> Iterator[Finding]:
    place = rule.instance, rule.database

    def finding(code: Code, sentence: str, fix: str) -> Finding:
        return Finding(code, code.severity, place, rule.name, origin, sentence, fix)

    unknown = {
        criterion: name
        for criterion, name in zip(CRITERIA, rule.triple, strict=True)
        if name is not None and name not in known[criterion].names
    }
    if log is not None and log.has(place, rule.triple):
        return
    explained = False
    for criterion, name in list(unknown.items()):
        if right := known[criterion].near.same_but_spelling(name):
            explained = True
            del unknown[criterion]
            yield finding(Code.SPELLING, *_misspelt(rule, criterion, name, right))
    if not explained and _is_swapped(rule, known, log):
        yield finding(Code.SWAPPED, *_swapped(rule, places))
        return
    for criterion, name in unknown.items():
        near = known[criterion].near.nearest(name)
        if near or known[criterion].is_all:
            explained = True
            yield finding(Code.UNKNOWN_NAME, *_unknown(rule, criterion, near, known[criterion], places))
    if log is not None and not explained:
        yield finding(
            Code.NEVER_MATCHED,
            f"{rule.name!r} fits no endpoint of the log: {place_name(place)} has none with "
            f"{criteria(rule.triple)}",
            "drop it, unless such conversations are still to come",
        )


def _misspelt(rule: RuleVersion, criterion: str, name: str, right: str) -> tuple[str, str]:
    how = differences(name, right)
    shown = ascii if "Unicode form" in how else repr
    sentence = (
        f"{rule.name!r} asks for the {_words(criterion)} {shown(name)}, and there is only {shown(right)}: "
        f"names are compared byte by byte, and these differ in {listed(how)}"
    )
    return sentence, f"write {shown(right)}"


def _swapped(rule: RuleVersion, places: ServicePlaces) -> tuple[str, str]:
    place, local, remote = (rule.instance, rule.database), rule.local_service, rule.remote_service
    here = f"{remote!r} lives there" if local is None else f"{local!r} does not live there"
    sentence = (
        f"{rule.name!r} fits no endpoint of {place_name(place)}, and would with its services the other way "
        f"round: {here}"
    )
    fix = f"swap them: {criteria(mirrored(rule.triple))}"
    if elsewhere := [other for other in places.seen_from(place, local or "") if other != place]:
        fix += f"; or move the rule to {listed([place_name(other) for other in elsewhere])}"
    return sentence, fix


def _unknown(
    rule: RuleVersion, criterion: str, near: str | None, known: _Known, places: ServicePlaces
) -> tuple[str, str]:
    name = getattr(rule, criterion)
    elsewhere = places.seen_from((rule.instance, rule.database), name) if criterion == "local_service" else []
    sentence = f"{rule.name!r} asks for the {_words(criterion)} {name!r}, which {known.who_lacks}"
    if elsewhere:
        sentence += f", but {listed([place_name(place) for place in elsewhere])}"
        return sentence, "move the rule to that database, or correct the name"
    if near:
        return f"{sentence}; it is probably {near!r}", f"write {near!r}"
    return sentence, "correct the name, or drop the rule"


def _is_swapped(rule: RuleVersion, known: Mapping[str, _Known], log: LogKinds | None) -> bool:
    """Whether the rule fits once the services are swapped: endpoints of the log, or else the catalog."""
    local, remote = rule.local_service, rule.remote_service
    if local == remote:
        return False
    if log is not None and log.has((rule.instance, rule.database), mirrored(rule.triple)):
        return True
    if local is None or remote is None:
        return False
    at_home = known["local_service"].names
    return local not in at_home and local in known["remote_service"].names and remote in at_home


def _contracts(log: LogKinds | None) -> _Known:
    names = log.contracts | {BUILT_IN_CONTRACT} if log else frozenset[str]()
    return _Known(names, NearestNames(names), "no endpoint of the log has", log is not None)


def _remote_services(places: ServicePlaces, log: LogKinds | None) -> _Known:
    names = frozenset(places.services) | (log.services if log else frozenset())
    return _Known(names, NearestNames(names), _who_lacks("", log), log is not None)


def _local_services(place: Place, places: ServicePlaces, log: LogKinds | None) -> _Known:
    described = places.services_of(place)
    names = frozenset(described) | frozenset(log.local_services(place) if log else ())
    return _Known(
        names, NearestNames(names), _who_lacks(place_name(place), log), log is not None or bool(described)
    )


def _who_lacks(place: str, log: LogKinds | None) -> str:
    of_place = f" of {place}" if place else ""
    if log is None:
        return f"the catalog does not have{of_place and f' in {place}'}"
    return f"neither the catalog nor any endpoint{of_place} has"


def _words(criterion: str) -> str:
    return criterion.replace("_", " ")
