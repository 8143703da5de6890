"""Where two rule histories differ. Days are those of January 2026."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.rules.edits import find_edited_periods
from pipelines.rules.history import RuleVersion
from pipelines.rules.ladder import stands_at
from tests.support.rule_versions import day


def version(since: int, until: int | None, level: int = 5, **changes: Any) -> RuleVersion:
    ends = None if until is None else day(until)
    return replace(RuleVersion("I", "D", "R", "C", None, None, level, day(since), ends), **changes)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # An ALTER that changes nothing is no edit.
        ([version(1, None)], [version(1, 3), version(3, None)], []),
        ([version(1, 3)], [version(1, None)], ["D.R 3"]),
        # Other criteria, names and databases.
        ([version(1, None)], [version(1, None, contract=None)], ["D.R 1"]),
        ([version(1, None)], [version(1, None, name="S")], ["D.R 1", "D.S 1"]),
        ([version(1, None)], [version(1, None, database="E")], ["D.R 1", "E.R 1"]),
        # Two edits of a rule are two periods.
        ([version(1, None)], [version(1, 2, 6), version(2, 4), version(4, 5, 7)], ["D.R 1-2", "D.R 4"]),
    ],
)
def test_edited_periods(before: list[RuleVersion], after: list[RuleVersion], expected: list[str]) -> None:
    """Database and name, first day and day of the end."""
    found = find_edited_periods(before, after)
    ends = [f"-{period.until.day}" if period.until else "" for period in found]
    told = [f"{p.database}.{p.name} {p.since.day}{end}" for p, end in zip(found, ends, strict=True)]
    assert told == expected


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
    return next((rule.level for rule in history if stands_at(rule, day(number))), None)


@settings(max_examples=40)
@given(histories(), histories())
def test_the_periods_are_the_days_on_which_the_level_differs(
    before: list[RuleVersion], after: list[RuleVersion]
) -> None:
    periods = find_edited_periods(before, after)
    for number in range(1, 11):
        at = day(number)
        is_edited = any(p.since <= at and (p.until is None or at < p.until) for p in periods)
        assert is_edited == (level_on(before, number) != level_on(after, number))
