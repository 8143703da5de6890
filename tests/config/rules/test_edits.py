"""Where two rule histories differ. Days are those of January 2026."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.rules.edits import EditedPeriod, find_edited_periods
from pipelines.config.rules.history import RuleVersion


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def version(since: int, until: int | None, level: int = 5, **changes: Any) -> RuleVersion:
    ends = None if until is None else day(until)
    return replace(RuleVersion("I", "D", "R", "C", None, None, level, day(since), ends), **changes)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # An ALTER that changes nothing is no edit.
        ([version(1, None)], [version(1, 3), version(3, None)], []),
        # Another level for a while, and an open end.
        ([version(1, None)], [version(1, 3), version(3, 6, 6), version(6, None)], [("R", 3, 6)]),
        ([version(1, 3)], [version(1, None)], [("R", 3, None)]),
        # Other criteria and names.
        ([version(1, None)], [version(1, None, contract=None)], [("R", 1, None)]),
        ([version(1, None)], [version(1, None, name="S")], [("R", 1, None), ("S", 1, None)]),
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
    assert found == [EditedPeriod("I", database, "R", day(1), None) for database in "DE"]


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
    at = day(number)
    stands = (
        rule for rule in history if rule.valid_from <= at and (rule.valid_to is None or at < rule.valid_to)
    )
    return next((rule.level for rule in stands), None)


@settings(max_examples=40)
@given(histories(), histories())
def test_the_periods_are_the_days_on_which_the_level_differs(
    before: list[RuleVersion], after: list[RuleVersion]
) -> None:
    periods = find_edited_periods(before, after)
    for number in range(1, 11):
        is_edited = any(
            p.since <= day(number) and (p.until is None or day(number) < p.until) for p in periods
        )
        assert is_edited == (level_on(before, number) != level_on(after, number))
