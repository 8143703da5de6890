"""What snapshots show otherwise than those before them, of the catalog and of rules."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import pairwise
from typing import Any

from pipelines.config.instants import format_instant
from pipelines.console.wording import format_criteria, format_database
from pipelines.rules.history import RuleVersion
from pipelines.server.snapshots.facts import CONTRACT, DATABASE
from pipelines.server.snapshots.history import CatalogFact
from pipelines.settings.load import Settings

Row = dict[str, Any]
CHANGE_COLUMNS = ("instance", "database", "kind", "name", "attribute", "before", "at", "old", "new")
RULE = "rule"
SWITCHES = {"honor": "HONOR_BROKER_PRIORITY", "broker_enabled": "Service Broker"}


def find_changes(settings: Settings, as_of: datetime) -> list[Row]:
    """Find what snapshots up to as_of show otherwise than the one before, the newest first.

    Returns:
        CHANGE_COLUMNS by name: `at` is the taken_at of the snapshot that shows it first, `before` that of the
        snapshot of the same database before it; `old` and `new` are texts, null where there was or is none.
        Rules have the kind `rule` and no attribute; those of rule files are left out.
    """
    taken: dict[tuple[str, str], list[datetime]] = {}
    for snapshot in settings.snapshots:
        taken.setdefault(snapshot.database_key, []).append(snapshot.taken_at)
    written = settings.databases_of_rule_files
    rules = [rule for rule in settings.rule_history if (rule.instance, rule.database) not in written]
    found = []
    for row in (*_of_catalog(settings.catalog_history), *_of_rules(rules)):
        moments = taken.get((row["instance"], row["database"]), [])
        place = bisect_left(moments, row["at"])
        if place and row["at"] <= as_of:
            before = {**row, "before": moments[place - 1]}
            found.append({name: before[name] for name in CHANGE_COLUMNS})
    found.sort(key=lambda row: [str(row[name]) for name in CHANGE_COLUMNS[:5]])
    return sorted(found, key=lambda row: row["at"], reverse=True)


def tell_changes(settings: Settings, since: datetime | None, as_of: datetime) -> list[str]:
    """Say what snapshots after a moment, up to as_of, show otherwise; None is before all. Newest first."""
    return [
        describe_change(row)
        for row in find_changes(settings, as_of)
        if (since is None or row["at"] > since) and row["kind"] != CONTRACT
    ]


def describe_change(row: Row) -> str:
    """Say what has changed, with the moment of the earlier snapshot."""
    database = format_database((row["instance"], row["database"]))
    before, old, new = f"in the snapshot of {format_instant(row['before'])}", row["old"], row["new"]
    if row["kind"] == DATABASE:
        name = SWITCHES.get(row["attribute"], "the broker id")
        return f"{name} of {database} was {old} {before} and is {new}"
    named = f"{row['kind']} {row['name']!r} of {database}"
    if row["attribute"] and row["attribute"] not in ("on", "queue"):
        named += f": {row['attribute']}"
    if new is None:
        return f"{named} is gone; it was there {before} ({old})"
    if old is None:
        return f"{named} is new since the snapshot of {format_instant(row['before'])} ({new})"
    return f"{named} was {old} {before} and is {new}"


def _of_catalog(history: Iterable[CatalogFact]) -> Iterator[Row]:
    """The ends and beginnings of facts; facts of one name stand in order of time."""
    of_name: dict[tuple[str, ...], list[CatalogFact]] = {}
    for fact in history:
        key = (fact.instance, fact.database, fact.kind, fact.name, fact.attribute)
        of_name.setdefault(key, []).append(fact)
    for names, facts in of_name.items():
        periods = [(fact.valid_from, fact.valid_to, fact.value) for fact in facts]
        yield from _of_periods(dict(zip(CHANGE_COLUMNS, names, strict=False)), periods)


def _of_rules(rules: Iterable[RuleVersion]) -> Iterator[Row]:
    of_name: dict[tuple[str, ...], list[RuleVersion]] = {}
    for rule in rules:
        of_name.setdefault((rule.instance, rule.database, rule.name), []).append(rule)
    for (instance, database, name), versions in of_name.items():
        row = {"instance": instance, "database": database, "kind": RULE, "name": name, "attribute": None}
        periods = [
            (rule.valid_from, rule.valid_to, f"level {rule.level}, {format_criteria(rule.triple)}")
            for rule in versions
        ]
        yield from _of_periods(row, periods)


def _of_periods(row: Row, periods: Iterable[tuple[datetime | None, datetime | None, str]]) -> Iterator[Row]:
    """The changes between the periods of one thing, and those before and after them."""
    nothing = (None, None, None)
    for (_, ended, old), (begun, _, new) in pairwise([nothing, *periods, nothing]):
        if ended == begun and ended is not None:
            yield {**row, "at": ended, "old": old, "new": new}
            continue
        if ended is not None:
            yield {**row, "at": ended, "old": old, "new": None}
        if begun is not None:
            yield {**row, "at": begun, "old": None, "new": new}
