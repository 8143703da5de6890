"""R205 and R206: levels that do not count for sending, and more of them than can be told apart."""

from collections.abc import Iterator, Mapping

from pipelines.insight.findings import Code, Finding
from pipelines.insight.standing_rules import Place, StandingRules
from pipelines.insight.wording import place_name
from pipelines.rules.history import RuleVersion, VersionKey
from pipelines.rules.statements import DEFAULT_LEVEL, Origin
from pipelines.settings.catalog import Catalog

MOST_LEVELS = 3


def lint_levels(
    databases: Mapping[Place, StandingRules], catalog: Catalog, origins: Mapping[VersionKey, Origin]
) -> Iterator[Finding]:
    """Yield at most two findings for each database, placed at its first rule in the files.

    A database without HONOR_BROKER_PRIORITY sends everything at 5; what the catalog does not mention
    has it off, as in the engine. Rules of level 5 lose nothing by it. The levels of a database are those
    of its rules: with many of them, most of the sending goes to the highest two or three (Conversation
    Priorities in the vendor's documentation).
    """
    honors = {(instance, database): on for instance, database, on in catalog.database_rows()}
    for place, rules in databases.items():
        first = min(rules.rules, key=lambda rule: _position(rule, origins))
        where = origins.get(first.key)
        idle = sum(rule.level != DEFAULT_LEVEL for rule in rules.rules)
        if idle and not honors.get(place):
            code = Code.NOT_HONORED
            why = "is off there" if place in honors else "is off where the catalog does not mention it"
            sentence = (
                f"HONOR_BROKER_PRIORITY {why}, so {idle:,} rule{'s' * (idle > 1)} of {place_name(place)} "
                f"(first {first.name!r}) count{'s' * (idle == 1)} for receiving only and not for sending"
            )
            fix = (
                f"turn it on, ALTER DATABASE {_bracketed(place[1])} SET HONOR_BROKER_PRIORITY ON, and write "
                "honor_broker_priority: true in the catalog"
            )
            yield Finding(code, code.severity, place, first.name, where, sentence, fix)
        levels = sorted({rule.level for rule in rules.rules}, reverse=True)
        if len(levels) > MOST_LEVELS:
            code = Code.MANY_LEVELS
            sentence = (
                f"the rules of {place_name(place)} use {len(levels)} levels ({', '.join(map(str, levels))}); "
                "with so many, most of the sending goes to the highest two or three"
            )
            fix = "use three levels with room between them, such as 3, 5 and 8"
            yield Finding(code, code.severity, place, first.name, where, sentence, fix)


def _position(rule: RuleVersion, origins: Mapping[VersionKey, Origin]) -> tuple[str, int, int, str]:
    origin = origins.get(rule.key)
    return (origin.file, origin.line, origin.column, rule.name) if origin else ("", 0, 0, rule.name)


def _bracketed(name: str) -> str:
    return f"[{name.replace(']', ']]')}]"
