"""The tables of the questions: remarks on rules, and what waits is counted by."""

import pytest

from pipelines.questions.open_messages import RECEIVE, TRANSMISSION
from pipelines.questions.tables import RULES, make_overtaken_table, make_wait_table
from tests.support.factories import NOON, Row, at

RULE: Row = {
    "rule_name": "Gold",
    "instance": "SQL1",
    "database": "A",
    "level": 8,
    "valid_from": NOON,
    "first_seen": False,
    "endpoints": 1,
    "candidates": [],
}
NO_RULE: Row = {"rule_name": None, "valid_from": None, "endpoints": 0}


def shown(row: Row, *heads: str) -> list[object]:
    columns = {each.head: each for each in RULES.columns}
    return [columns[head].value(row) for head in heads]


@pytest.mark.parametrize(
    ("changed", "rule", "remark"),
    [
        ({}, "Gold", None),
        ({"endpoints": 0}, "Gold", "unused"),
        ({"valid_from": None}, "Gold", "not in the history"),
        ({"valid_from": None, "endpoints": 0}, "Gold", "not in the history, unused"),
        (NO_RULE, "default, no rule matched", None),
        ({**NO_RULE, "level": None}, "level of the server", None),
    ],
)
def test_a_rule_has_a_remark(changed: Row, rule: str, remark: str | None) -> None:
    first = RULES.columns[0]
    assert (first.value({**RULE, **changed}), first.remark({**RULE, **changed})) == (rule, remark)


def test_moments_of_rules_have_whole_seconds() -> None:
    """The page has them as text."""
    moment = NOON.replace(microsecond=10_000)
    assert shown({**RULE, "last_use": moment}, "Last used") == [NOON]
    assert shown({**RULE, "last_use": "2026-11-20T12:00:00.01Z"}, "Last used") == ["2026-11-20T12:00:00.01Z"]


def test_what_only_a_snapshot_shows_is_dated_apart() -> None:
    assert shown(RULE, "Valid from", "First seen at") == [NOON, None]
    assert shown({**RULE, "first_seen": True}, "Valid from", "First seen at") == [None, NOON]
    candidates = [{"level": 8, "rule_name": "Gold"}, {"level": 3, "rule_name": "Other"}]
    assert shown({**RULE, "candidates": candidates}, "Candidates") == ["8: Gold, 3: Other"]


def test_waits_are_counted_by_place_or_by_what_is_asked() -> None:
    waits = ["Messages", "Oldest waits", "Median wait", "95% below"]
    own = make_wait_table(RECEIVE, (), at(1))
    assert [each.head for each in own.columns] == ["Queue", "Level", *waits]
    assert own.columns[3].value({"oldest": NOON}) == own.columns[3].value({"oldest": NOON.isoformat()}) == 60
    asked = make_wait_table(TRANSMISSION, ("level", "queue"), at(1))
    assert [each.head for each in asked.columns] == ["Level", *waits]
    assert asked.title == "Waiting for transmission by level, the longest first"
    assert [make_overtaken_table(kind).columns[0].head for kind in (RECEIVE, TRANSMISSION)] == [
        "Queue",
        "Instance",
    ]
