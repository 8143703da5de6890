"""What changed of rules and catalog between two moments, from their histories."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import stands_at
from pipelines.server.snapshots.history import CatalogFact

Row = dict[str, Any]
SWITCHES = ("broker_enabled", "honor", "on", "activation")
NOT_KNOWN = "not known"
CRITERIA = ("contract", "local_service", "remote_service", "level")


def rule_changes(
    versions: Iterable[RuleVersion],
    first_shown: Mapping[tuple[str, str], datetime],
    since: datetime,
    as_of: datetime,
) -> list[Row]:
    """The rules that stand otherwise at as_of than at since, or at one of both only; one row a rule.

    Args:
        versions: the history of all rules.
        first_shown: when the first snapshot showed the rules of a database that has them from snapshots
            alone: what that shows is no change.
        since: the earlier moment.
        as_of: the later one.

    Returns:
        `change` (created, altered, dropped), `instance`, `database`, `name`, `at` (when the last state
        began), `old` and `new` (CRITERIA, or null); by name.
    """
    found = []
    for key, of_rule in _grouped(versions, "instance", "database", "name").items():
        first = first_shown.get((key[0], key[1]), since)
        begin = first if since < first <= as_of else since
        # What begins after since and is not shown first is a change.
        is_old = [each.valid_from <= since or each.valid_from == begin for each in of_rule]
        before = [each for each, old in zip(of_rule, is_old, strict=True) if old and stands_at(each, begin)]
        old, new = _criteria(before), _criteria(each for each in of_rule if stands_at(each, as_of))
        if old != new:
            change = "altered" if old and new else "created" if new else "dropped"
            at = _last_change(((each.valid_from, each.valid_to) for each in of_rule), as_of)
            named = dict(zip(("instance", "database", "name"), key, strict=True))
            found.append({"change": change, **named, "at": at, "old": old, "new": new})
    return found


def catalog_changes(facts: Collection[CatalogFact], since: datetime, as_of: datetime) -> list[Row]:
    """The attributes of catalogs that have another value at as_of than at since; one row an attribute.

    Returns:
        `instance`, `database`, `kind`, `name`, `attribute`, `at` (when the last value began), `old` and `new`
        (null where there is none; a switch of something that is there is NOT_KNOWN then); by name.
    """
    things = _grouped(facts, "instance", "database", "kind", "name")
    found = []
    for key, of_attribute in _grouped(facts, "instance", "database", "kind", "name", "attribute").items():
        old, new = (_value(key, of_attribute, things[key[:4]], moment) for moment in (since, as_of))
        if old != new:
            at = _last_change(((each.valid_from, each.valid_to) for each in of_attribute), as_of)
            named = dict(zip(("instance", "database", "kind", "name", "attribute"), key, strict=True))
            found.append({**named, "at": at, "old": old, "new": new})
    return found


def _value(
    key: tuple[str, ...], facts: Iterable[CatalogFact], of_thing: Iterable[CatalogFact], moment: datetime
) -> str | None:
    for fact in facts:
        if fact.holds_at(moment):
            return fact.value
    is_there = any(each.holds_at(moment) for each in of_thing)
    return NOT_KNOWN if is_there and key[-1] in SWITCHES else None


def _criteria(versions: Iterable[RuleVersion]) -> Row | None:
    return next(({name: getattr(each, name) for name in CRITERIA} for each in versions), None)


def _last_change(periods: Iterable[tuple[datetime | None, datetime | None]], as_of: datetime) -> datetime:
    bounds = [bound for period in periods for bound in period if bound is not None and bound <= as_of]
    return max(bounds)


def _grouped(rows: Iterable[Any], *names: str) -> dict[tuple[str, ...], list[Any]]:
    found: dict[tuple[str, ...], list[Any]] = {}
    for row in rows:
        found.setdefault(tuple(getattr(row, name) for name in names), []).append(row)
    return dict(sorted(found.items()))
