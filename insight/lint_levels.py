"""R205 and R206: levels that do not count for sending, and more of them than can be told apart."""

from collections.abc import Iterable, Iterator, Mapping

from config.catalog import Catalog
from config.rules.history import RuleVersion, VersionKey
from config.rules.statements import DEFAULT_LEVEL, Origin
from config.rules.tsql_script import bracketed
from insight.findings import Code, Finding
from insight.standing_rules import Place, StandingRules
from insight.wording import place_name

MOST_LEVELS = 3


def lint_levels(
    databases: Mapping[Place, StandingRules], catalog: Catalog, origins: Mapping[VersionKey, Origin]
) -> Iterator[Finding]:
    """Yield at most two findings for each database, placed at the first rule concerned in the files.

    A database without HONOR_BROKER_PRIORITY sends everything at 5; what the catalog does not mention
    has it off, as in the engine. Rules of level 5 lose nothing by it. The levels of a database are those
    of its rules: with many of them, most of the sending goes to the highest two or three (Conversation
    Priorities in the vendor's documentation).
    """
    honors = {(instance, database): on for instance, database, on in catalog.database_rows()}
    for place, rules in databases.items():
        first = _first(rules.rules, origins)
        where = origins.get(first.key)
        not_default = [rule for rule in rules.rules if rule.level != DEFAULT_LEVEL]
        if not_default and not honors.get(place):
            idle, first_idle = len(not_default), _first(not_default, origins)
            code = Code.NOT_HONORED
            why = "" if place in honors else " (the catalog does not mention the database)"
            rules_count = f"1 rule, {first_idle.name!r}, counts"
            if idle > 1:
                rules_count = f"{idle:,} rules, the first of them {first_idle.name!r}, count"
            sentence = (
                f"HONOR_BROKER_PRIORITY is off in {place_name(place)}{why}, so {rules_count} for receiving "
                "and not for sending"
            )
            fix = (
                f"turn it on, ALTER DATABASE {bracketed(place[1])} SET HONOR_BROKER_PRIORITY ON, and write "
                "honor_broker_priority: true in the catalog"
            )
            yield Finding(
                code, code.severity, place, first_idle.name, origins.get(first_idle.key), sentence, fix
            )
        levels = sorted({rule.level for rule in rules.rules}, reverse=True)
        if len(levels) > MOST_LEVELS:
            code = Code.MANY_LEVELS
            sentence = (
                f"the rules of {place_name(place)} use {len(levels)} levels ({', '.join(map(str, levels))}); "
                "with so many, most of the sending goes to the highest two or three"
            )
            fix = "use three levels with room between them, such as 3, 5 and 8"
            yield Finding(code, code.severity, place, first.name, where, sentence, fix)


def _first(rules: Iterable[RuleVersion], origins: Mapping[VersionKey, Origin]) -> RuleVersion:
    return min(rules, key=lambda rule: _position(rule, origins))


def _position(rule: RuleVersion, origins: Mapping[VersionKey, Origin]) -> tuple[str, int, int, str]:
    origin = origins.get(rule.key)
    return (origin.file, origin.line, origin.column, rule.name) if origin else ("", 0, 0, rule.name)
