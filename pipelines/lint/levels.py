"""R205 and R206: levels that do not count for sending, and more of them than can be told apart."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pipelines.config.catalog import Catalog
from pipelines.config.rules.history import RuleVersion, VersionKey
from pipelines.config.rules.rule_file import HonorSetting
from pipelines.config.rules.statements import DEFAULT_LEVEL, Origin
from pipelines.config.rules.tsql_script import bracketed
from pipelines.console.wording import place_name
from pipelines.lint.findings import Code, Finding
from pipelines.lint.standing_rules import Place, StandingRules

MOST_LEVELS = 3


def lint_levels(
    databases: Mapping[Place, StandingRules],
    catalog: Catalog | None,
    origins: Mapping[VersionKey, Origin],
    honor_settings: Sequence[HonorSetting] = (),
) -> Iterator[Finding]:
    """Yield at most two findings for each database.

    A database without HONOR_BROKER_PRIORITY sends everything at 5; what the catalog does not mention
    has it off, as in the engine. Without any catalog only the scripts say so. Rules of level 5 lose nothing
    by it. The levels of a database are those of its rules: with many of them, most of the sending goes to the
    highest two or three (Conversation Priorities in the vendor's documentation).
    """
    honors = {(row[0], row[1]): row[2] for row in catalog.database_rows()} if catalog else {}
    in_scripts = {(each.instance, each.database): each for each in honor_settings}
    for place, rules in databases.items():
        not_default = [rule for rule in rules.rules if rule.level != DEFAULT_LEVEL]
        if not_default:
            yield from _honor(catalog, honors.get(place), in_scripts.get(place), not_default, origins)
        levels = sorted({rule.level for rule in rules.rules}, reverse=True)
        if len(levels) > MOST_LEVELS:
            first = _first(rules.rules, origins)
            code = Code.MANY_LEVELS
            sentence = (
                f"the rules of {place_name(place)} use {len(levels)} levels ({', '.join(map(str, levels))}); "
                "with so many, most of the sending goes to the highest two or three"
            )
            fix = "use three levels with room between them, such as 3, 5 and 8"
            yield Finding(code, code.severity, place, first.name, origins.get(first.key), sentence, fix)


def _honor(
    catalog: Catalog | None,
    in_catalog: bool | None,
    in_script: HonorSetting | None,
    rules: Sequence[RuleVersion],
    origins: Mapping[VersionKey, Origin],
) -> Iterator[Finding]:
    """Say that rules do not count for sending, or that catalog and script differ in whether they do."""
    first = _first(rules, origins)
    place = first.instance, first.database
    is_on = in_script.is_on if in_script else None
    if (in_catalog and is_on is not False) or (catalog is None and is_on is not False):
        return
    rules_count = f"1 rule, {first.name!r}, counts"
    if len(rules) > 1:
        rules_count = f"{len(rules):,} rules, the first of them {first.name!r}, count"
    code, origin, option = Code.NOT_HONORED, origins.get(first.key), "HONOR_BROKER_PRIORITY"
    alter = f"ALTER DATABASE {bracketed(place[1])} SET {option}" if place[1] else f"SET {option}"
    if in_script is None or (not is_on and not in_catalog):
        why = " (the catalog does not mention the database)" if catalog and in_catalog is None else ""
        head = f"{option} is off in {place_name(place)}{why}"
        fix = f"turn it on, {alter} ON, and write honor_broker_priority: true in the catalog"
    else:
        origin = in_script.origin
        turns = f"line {origin.line} turns it {'on' if is_on else 'off'}"
        says = (
            "does not mention the database" if in_catalog is None else f"says {'on' if in_catalog else 'off'}"
        )
        head = f"{option} of {place_name(place)}: {turns}, the catalog {says}, so by the {{}}"
        head = head.format("catalog" if is_on else "script")
        fix = "write honor_broker_priority: true in the catalog, if the script was run"
        if not is_on:
            fix = f"write {alter} ON in the script, or honor_broker_priority: false in the catalog"
    sentence = f"{head}, so {rules_count}" if ", so " not in head else f"{head} {rules_count}"
    yield Finding(
        code, code.severity, place, first.name, origin, f"{sentence} for receiving and not for sending", fix
    )


def _first(rules: Iterable[RuleVersion], origins: Mapping[VersionKey, Origin]) -> RuleVersion:
    return min(rules, key=lambda rule: _position(rule, origins))


def _position(rule: RuleVersion, origins: Mapping[VersionKey, Origin]) -> tuple[str, int, int, str]:
    origin = origins.get(rule.key)
    return (origin.file, origin.line, origin.column, rule.name) if origin else ("", 0, 0, rule.name)
