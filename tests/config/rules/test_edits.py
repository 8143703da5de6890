"""Where two rule histories differ. Days are those of January 2026."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given, strategies as st

from pipelines.config.rules.edits import EditedPeriod, find_edited_periods
from pipelines.config.rules.history import RuleVersion


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def version(since: int, until: int | None, level: int = 5, **changes: Any) -> RuleVersion:
    said: dict[str, Any] = {"name": "R", "contract": "C", "database": "D", **changes}
    return RuleVersion(
        "I",
        said["database"],
        said["name"],
        said["contract"],
        None,
        None,
        level,
        day(since),
        None if until is None else day(until),
    )


def periods(before: list[RuleVersion], after: list[RuleVersion]) -> list[tuple[str, int, int | None]]:
    return [
        (p.name, p.since.day, p.until.day if p.until else None) for p in find_edited_periods(before, after)
    ]


def test_the_same_history_has_no_edits() -> None:
    history = [version(1, 3), version(3, None, 6)]
    assert periods(history, history) == []


def test_an_alter_that_changes_nothing_is_no_edit() -> None:
    # before  [5-----------
    # after   [5----)[5----
    assert periods([version(1, None)], [version(1, 3), version(3, None)]) == []


def test_another_level_for_a_while() -> None:
    # before  [5-----------
    # after   [5--)[6--)[5-
    after = [version(1, 3), version(3, 6, 6), version(6, None)]
    assert periods([version(1, None)], after) == [("R", 3, 6)]


def test_a_later_end_and_an_open_one() -> None:
    assert periods([version(1, 3)], [version(1, 7)]) == [("R", 3, 7)]
    assert periods([version(1, 3)], [version(1, None)]) == [("R", 3, None)]


def test_other_criteria_and_names() -> None:
    assert periods([version(1, None)], [version(1, None, contract=None)]) == [("R", 1, None)]
    assert periods([version(1, None)], [version(1, None, name="S")]) == [("R", 1, None), ("S", 1, None)]


def test_a_new_rule_and_one_that_is_gone() -> None:
    assert periods([], [version(2, None)]) == [("R", 2, None)]
    assert periods([version(2, 4)], []) == [("R", 2, 4)]


def test_two_edits_of_a_rule_are_two_periods() -> None:
    before = [version(1, None, 5)]
    after = [version(1, 2, 6), version(2, 4, 5), version(4, 5, 7), version(5, None, 5)]
    assert periods(before, after) == [("R", 1, 2), ("R", 4, 5)]


def test_databases_are_apart() -> None:
    found = find_edited_periods([version(1, None)], [version(1, None, database="E")])
    assert found == [
        EditedPeriod("I", "D", "R", day(1), None),
        EditedPeriod("I", "E", "R", day(1), None),
    ]


@st.composite
def histories(draw: st.DrawFn) -> list[RuleVersion]:
    """Versions of one rule, with or without gaps."""
    bounds = sorted(draw(st.sets(st.integers(1, 9), max_size=6)))
    versions = []
    for since, until in zip(bounds, [*bounds[1:], None][: len(bounds)], strict=True):
        if draw(st.booleans()):
            versions.append(version(since, until, draw(st.integers(1, 2))))
    return versions


def level_on(history: list[RuleVersion], number: int) -> int | None:
    for rule in history:
        if rule.valid_from <= day(number) and (rule.valid_to is None or day(number) < rule.valid_to):
            return rule.level
    return None


@given(histories(), histories())
def test_the_periods_are_the_days_on_which_the_level_differs(
    before: list[RuleVersion], after: list[RuleVersion]
) -> None:
    found = {
        number
        for period in find_edited_periods(before, after)
        for number in range(1, 11)
        if period.since <= day(number) and (period.until is None or day(number) < period.until)
    }
    assert found == {n for n in range(1, 11) if level_on(before, n) != level_on(after, n)}
