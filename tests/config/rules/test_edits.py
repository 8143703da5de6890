"""Where two rule histories differ. Days are those of January 2026."""

from datetime import UTC, datetime
from typing import Any

import pytest
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


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ([version(1, 3), version(3, None, 6)], [version(1, 3), version(3, None, 6)], []),
        # An ALTER that changes nothing is no edit.
        ([version(1, None)], [version(1, 3), version(3, None)], []),
        # Another level for a while, a later end, an open one.
        ([version(1, None)], [version(1, 3), version(3, 6, 6), version(6, None)], [("R", 3, 6)]),
        ([version(1, 3)], [version(1, 7)], [("R", 3, 7)]),
        ([version(1, 3)], [version(1, None)], [("R", 3, None)]),
        # Other criteria and names.
        ([version(1, None)], [version(1, None, contract=None)], [("R", 1, None)]),
        ([version(1, None)], [version(1, None, name="S")], [("R", 1, None), ("S", 1, None)]),
        # A new rule, and one that is gone.
        ([], [version(2, None)], [("R", 2, None)]),
        ([version(2, 4)], [], [("R", 2, 4)]),
        # Two edits of a rule are two periods.
        (
            [version(1, None, 5)],
            [version(1, 2, 6), version(2, 4, 5), version(4, 5, 7), version(5, None, 5)],
            [("R", 1, 2), ("R", 4, 5)],
        ),
    ],
)
def test_edited_periods(
    before: list[RuleVersion], after: list[RuleVersion], expected: list[tuple[str, int, int | None]]
) -> None:
    """Name, first day and day of the end."""
    found = find_edited_periods(before, after)
    assert [(p.name, p.since.day, p.until.day if p.until else None) for p in found] == expected


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
