"""R305 and R306: what the rules make of the endpoints of a log."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pipelines.config.rules.history import RuleVersion, VersionKey
from pipelines.config.rules.statements import DEFAULT_LEVEL, Origin
from pipelines.console.wording import SHOWN, endpoint, level_and_rule, listed, place_name
from pipelines.lint.findings import Code, Finding, Severity
from pipelines.lint.log_kinds import Kind, LogKinds
from pipelines.lint.pairs import suggested_rule
from pipelines.lint.standing_rules import Names, Place, StandingRules, mirrored

_NO_RULES = StandingRules(())


def lint_log(
    databases: Mapping[Place, StandingRules], log: LogKinds, origins: Mapping[VersionKey, Origin]
) -> Iterator[Finding]:
    """Yield the rules that others are always ahead of, and the databases with endpoints at the default.

    Every endpoint counts as if it was created with the rules that stand at the moment, so that old ones
    tell what the rules are worth; a rule without any fitting endpoint is told of by `lint_names`.
    """
    for place, kinds in log.by_place.items():
        rules = databases.get(place, _NO_RULES)
        deciding: dict[VersionKey, dict[VersionKey, RuleVersion]] = defaultdict(dict)
        fitting: dict[VersionKey, RuleVersion] = {}
        defaulted = []
        for kind in kinds:
            found = list(rules.fitting(kind.names))
            if not found:
                defaulted.append(kind)
            for rule in found:
                fitting[rule.key] = rule
                deciding[rule.key][found[0].key] = found[0]
        for key, rule in fitting.items():
            if key not in deciding[key]:
                yield _covered(place, rule, list(deciding[key].values()), origins.get(key))
        if defaulted:
            yield _defaulted(place, kinds, defaulted, _other_ends(databases, log, defaulted[:SHOWN]))


def _covered(
    place: Place, rule: RuleVersion, deciding: Sequence[RuleVersion], origin: Origin | None
) -> Finding:
    code = Code.COVERED
    others = listed([level_and_rule(other) for other in deciding])
    differs = any(other.level != rule.level for other in deciding)
    sentence = (
        f"{rule.name!r} (level {rule.level}) decides no endpoint of the log: more specific rules are ahead "
        f"of it on all that fit it, which have {others}"
    )
    fix = "drop it if all its conversations have rules of their own; keep it for those still to come"
    return Finding(
        code, Severity.WARNING if differs else code.severity, place, rule.name, origin, sentence, fix
    )


def _defaulted(
    place: Place, kinds: Sequence[Kind], defaulted: Sequence[Kind], levels: Sequence[int | None]
) -> Finding:
    code = Code.DEFAULTED
    total, fell = sum(kind.endpoints for kind in kinds), sum(kind.endpoints for kind in defaulted)
    largest = [f"{kind.endpoints:,} with {endpoint(kind.names)}" for kind in defaulted[:SHOWN]]
    sentence = (
        f"{fell:,} of {total:,} endpoints of {place_name(place)} fit no rule and would get "
        f"{DEFAULT_LEVEL} today, the default; {'they are' if len(defaulted) <= SHOWN else 'most are'} "
        f"{'; '.join(largest)}"
    )
    rules = [
        suggested_rule(place, _known(kind.names), level or DEFAULT_LEVEL)
        for kind, level in zip(defaulted, levels, strict=False)
    ]
    fix = "choose their level and add\n" + "\n".join(rules)
    return Finding(code, code.severity, place, None, None, sentence, fix)


def _known(names: Names) -> Names:
    """The names of endpoints; one that a snapshot does not show is empty, and None, ANY, for a rule."""
    contract, local, remote = (name or None for name in names)
    return contract, local, remote


def _other_ends(
    databases: Mapping[Place, StandingRules], log: LogKinds, kinds: Sequence[Kind]
) -> list[int | None]:
    """Return the level that most of the other ends of each kind have from a rule; None where none has."""
    levels: list[int | None] = []
    for kind in kinds:
        counted: dict[int, int] = defaultdict(int)
        for other in log.by_names.get(mirrored(kind.names), ()):
            rule = next(databases.get(other.place, _NO_RULES).fitting(other.names), None)
            if rule is not None:
                counted[rule.level] += other.endpoints
        levels.append(min(counted, key=lambda level: (-counted[level], level), default=None))
    return levels
