"""What snapshots show otherwise than those before them."""

from datetime import timedelta

from pipelines.questions.changes import _of_catalog, _of_rules, describe_change
from pipelines.rules.history import RuleVersion
from pipelines.server.snapshots.history import CatalogFact
from tests.support.factories import NOON

LATER, LAST = NOON + timedelta(hours=1), NOON + timedelta(hours=2)


def test_periods_that_touch_are_one_change() -> None:
    facts = [
        CatalogFact("SQL1", "B", "service", "S", "queue", None, "Q", LATER),
        CatalogFact("SQL1", "B", "service", "S", "queue", LATER, "R", LAST),
        CatalogFact("SQL1", "B", "service", "T", "queue", LATER, "Q", None),
    ]
    found = {(row["name"], row["at"], row["old"], row["new"]) for row in _of_catalog(facts)}
    assert found == {("S", LATER, "Q", "R"), ("S", LAST, "R", None), ("T", LATER, None, "Q")}


def test_a_rule_with_another_level() -> None:
    versions = [
        RuleVersion("SQL1", "B", "Rush", "C", None, None, 8, NOON, LATER),
        RuleVersion("SQL1", "B", "Rush", "C", None, None, 3, LATER),
    ]
    [begun, changed] = list(_of_rules(versions))
    assert (begun["old"], begun["at"]) == (None, NOON)
    criteria = "contract 'C', local service ANY, remote service ANY"
    assert describe_change({**changed, "before": NOON}) == (
        f"rule 'Rush' of SQL1.B was level 8, {criteria} in the snapshot of {NOON:%Y-%m-%dT%H:%M:%SZ} and is "
        f"level 3, {criteria}"
    )
