"""What changed of rules and catalogs, from histories of a few rows."""

from datetime import datetime
from typing import Any

import pytest

from pipelines.changes.declared import catalog_changes, rule_changes
from pipelines.rules.history import RuleVersion
from pipelines.server.snapshots.history import CatalogFact
from tests.support.factories import at

BEFORE, SINCE, EARLY, LATE, AS_OF = at(-10), at(0), at(10), at(20), at(30)
SHOP = ("SQL1", "Shop")


def version(level: int, valid_from: datetime, valid_to: datetime | None = None, **names: Any) -> RuleVersion:
    criteria = {"contract": None, "local_service": None, "remote_service": None} | names
    return RuleVersion(*SHOP, "Gold", **criteria, level=level, valid_from=valid_from, valid_to=valid_to)


def rules(*versions: RuleVersion, first: datetime | None = None) -> list[tuple[Any, ...]]:
    shown = {SHOP: first} if first else {}
    found = rule_changes(versions, shown, SINCE, AS_OF)
    return [(row["change"], row["at"], _state(row["old"]), _state(row["new"])) for row in found]


def _state(rule: dict[str, Any] | None) -> tuple[int, str | None] | None:
    return (rule["level"], rule["contract"]) if rule else None


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        ([version(9, BEFORE)], []),
        ([version(9, SINCE)], []),
        ([version(9, EARLY)], [("created", EARLY, None, (9, None))]),
        ([version(9, AS_OF)], [("created", AS_OF, None, (9, None))]),
        ([version(9, at(31))], []),
        ([version(9, BEFORE, EARLY)], [("dropped", EARLY, (9, None), None)]),
        ([version(9, EARLY, LATE)], []),
        ([version(9, BEFORE, EARLY), version(7, EARLY)], [("altered", EARLY, (9, None), (7, None))]),
        (
            [version(9, BEFORE, EARLY), version(9, EARLY, contract="C")],
            [("altered", EARLY, (9, None), (9, "C"))],
        ),
        ([version(9, BEFORE, EARLY), version(7, EARLY, LATE), version(9, LATE)], []),
        (
            [version(9, BEFORE, EARLY), version(7, EARLY, LATE), version(3, LATE)],
            [("altered", LATE, (9, None), (3, None))],
        ),
    ],
)
def test_a_rule_has_one_entry_from_its_first_to_its_last_state(
    versions: list[RuleVersion], expected: list[tuple[Any, ...]]
) -> None:
    assert rules(*versions) == expected


def test_what_the_first_snapshot_shows_is_no_change() -> None:
    assert rules(version(9, EARLY), first=EARLY) == []
    assert rules(version(9, LATE), first=EARLY) == [("created", LATE, None, (9, None))]
    assert rules(version(9, EARLY, LATE), first=EARLY) == [("dropped", LATE, (9, None), None)]
    altered = [version(9, EARLY, LATE), version(7, LATE)]
    assert rules(*altered, first=EARLY) == [("altered", LATE, (9, None), (7, None))]
    assert rules(version(9, BEFORE), first=at(40)) == []


def fact(
    attribute: str,
    value: str,
    valid_from: datetime | None,
    valid_to: datetime | None = None,
    thing: tuple[str, str] = ("queue", "Orders"),
) -> CatalogFact:
    return CatalogFact(*SHOP, *thing, attribute, valid_from, value, valid_to)


def catalog(*facts: CatalogFact) -> list[tuple[Any, ...]]:
    found = catalog_changes(facts, SINCE, AS_OF)
    return [(row["kind"], row["name"], row["attribute"], row["at"], row["old"], row["new"]) for row in found]


def test_attributes_of_catalogs() -> None:
    honor = ("database", "Shop")
    assert catalog(fact("honor", "on", None, EARLY, honor), fact("honor", "off", EARLY, None, honor)) == [
        ("database", "Shop", "honor", EARLY, "on", "off")
    ]
    assert catalog(fact("on", "on", None)) == []
    back = [fact("on", "on", None, EARLY), fact("on", "off", EARLY, LATE), fact("on", "on", LATE)]
    assert catalog(*back) == []


def test_what_was_not_known_and_what_was_not_there() -> None:
    there = fact("max_readers", "3", None)
    assert catalog(there, fact("on", "off", LATE)) == [("queue", "Orders", "on", LATE, "not known", "off")]
    assert catalog(there, fact("procedure", "P", LATE)) == [("queue", "Orders", "procedure", LATE, None, "P")]
    assert catalog(fact("on", "on", LATE)) == [("queue", "Orders", "on", LATE, None, "on")]
    assert catalog(fact("on", "on", None, EARLY)) == [("queue", "Orders", "on", EARLY, "on", None)]
