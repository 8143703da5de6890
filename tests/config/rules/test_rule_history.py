"""Statements to versions. Days are those of January 2026."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from pipelines.config.rules.history import Fault, RuleVersion, apply_statements, rule_history
from pipelines.config.rules.statements import ANY, UNSET, RuleStatement, SourceLocation, StatementType
from tests.support.cases import lines_of_error
from tests.support.rule_scripts import accepted

_lines: Iterator[int] = count(1)


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def statement(
    kind: StatementType, at: int, name: str = "R", *, line: int | None = None, **said: Any
) -> RuleStatement:
    where = {"instance": said.pop("instance", "I"), "database": said.pop("database", "D")}
    location = SourceLocation(said.pop("file", "r.yaml"), line or next(_lines), 3)
    return RuleStatement(kind, day(at), **where, name=name, location=location, **said)


def create(at: int, name: str = "R", **said: Any) -> RuleStatement:
    return statement(StatementType.CREATE, at, name, **said)


def alter(at: int, name: str = "R", **said: Any) -> RuleStatement:
    return statement(StatementType.ALTER, at, name, **said)


def drop(at: int, name: str = "R", **said: Any) -> RuleStatement:
    return statement(StatementType.DROP, at, name, **said)


def refusal(*statements: RuleStatement) -> list[str]:
    return lines_of_error(Path(), rule_history, statements)


def test_a_create_that_says_nothing_and_one_that_says_everything() -> None:
    everything = create(1, "S", contract="C", local_service="ANY", remote_service=ANY, level=9)
    assert rule_history([]) == []
    assert rule_history([create(1), everything]) == [
        RuleVersion("I", "D", "R", None, None, None, 5, day(1), None),
        RuleVersion("I", "D", "S", "C", "ANY", None, 9, day(1), None),
    ]


def test_an_alter_keeps_what_it_does_not_mention() -> None:
    #        1      5        9
    # R      [C L * 7)[C * S 7)[* * S 3
    versions = rule_history(
        [
            create(1, contract="C", local_service="L", level=7),
            alter(5, local_service=ANY, remote_service="S"),
            alter(9, contract=ANY, level=3),
        ]
    )
    assert versions == [
        RuleVersion("I", "D", "R", "C", "L", None, 7, day(1), day(5)),
        RuleVersion("I", "D", "R", "C", None, "S", 7, day(5), day(9)),
        RuleVersion("I", "D", "R", None, None, "S", 3, day(9), None),
    ]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        # A drop ends a rule, and its name is free again.
        ([create(1, level=1), drop(3), create(6, level=2)], [("R", 1, 1, 3), ("R", 2, 6, None)]),
        # An ALTER that changes nothing starts a version all the same.
        ([create(1, level=4), alter(2, level=4)], [("R", 4, 1, 2), ("R", 4, 2, None)]),
        # A version of no length leaves no row.
        ([create(1, level=1), alter(1, level=2)], [("R", 2, 1, None)]),
        ([create(1), drop(1)], []),
        ([create(1, level=1), drop(3), create(3, level=2)], [("R", 1, 1, 3), ("R", 2, 3, None)]),
        (
            [create(1, level=1), alter(3, level=2), alter(3, level=3), drop(4)],
            [("R", 1, 1, 3), ("R", 3, 3, 4)],
        ),
        ([create(1, level=1), alter(3, level=2), drop(3)], [("R", 1, 1, 3)]),
        # Statements take effect by their moment, not by their place; at one moment in the order given.
        ([drop(9), alter(5, level=2), create(1, level=1)], [("R", 1, 1, 5), ("R", 2, 5, 9)]),
        ([create(1, level=1), alter(2, level=2), alter(2, level=3)], [("R", 1, 1, 2), ("R", 3, 2, None)]),
        ([create(1, level=1), alter(2, level=3), alter(2, level=2)], [("R", 1, 1, 2), ("R", 2, 2, None)]),
        # Criteria are free once their rule has left them.
        (
            [
                create(1, "A", contract="C"),
                alter(3, "A", contract="X"),
                create(3, "B", contract="C"),
                drop(5, "B"),
                alter(5, "A", contract="C"),
            ],
            [("A", 5, 1, 3), ("A", 5, 3, 5), ("A", 5, 5, None), ("B", 5, 3, 5)],
        ),
    ],
)
def test_periods(statements: list[RuleStatement], expected: list[tuple[str, int, int, int | None]]) -> None:
    """Name, level, first day and day of the end of every version."""
    assert [
        (v.name, v.level, v.valid_from.day, v.valid_to.day if v.valid_to else None)
        for v in rule_history(statements)
    ] == expected


def test_rules_of_other_databases_do_not_matter() -> None:
    statements = [create(1, database="E"), create(1, instance="J"), create(1)]
    assert [(v.instance, v.database) for v in rule_history(statements)] == [
        ("I", "D"),
        ("I", "E"),
        ("J", "D"),
    ]


def test_names_differ_byte_by_byte_and_order_by_their_bytes() -> None:
    names = ["r", "R", "R ", "é", "e\u0301", "\uffff", "😀"]
    history = rule_history([create(1, name, contract=name) for name in names])
    assert [version.name for version in history] == sorted(names, key=lambda name: name.encode())


def test_a_wildcard_is_not_a_service_named_any() -> None:
    assert len(rule_history([create(1, "A", contract=ANY), create(1, "B", contract="ANY")])) == 2


NO_SUCH_RULE = "there is no such rule at that moment (error 15151)"
SAME = "(error 33303); change or drop one of the two"


@pytest.mark.parametrize(
    ("statements", "line"),
    [
        (
            [create(1, line=4), create(2, line=9, file="s.yaml", contract="C")],
            "s.yaml:9:3: CREATE 'R' in I.D: the rule exists already, see r.yaml:4:3 (error 33303); "
            "take another name, or ALTER it",
        ),
        (
            [
                create(1, "A", line=4, contract="C", remote_service="S"),
                create(2, "B", line=9, contract="C"),
                alter(3, "B", line=12, remote_service="S"),
            ],
            "r.yaml:12:3: ALTER 'B' in I.D: the rule 'A', see r.yaml:4:3, has the same contract 'C', local "
            f"service ANY and remote service 'S' {SAME}",
        ),
        (
            [
                create(1, "A", line=4, contract="C"),
                alter(2, "A", line=5, contract=ANY),
                create(3, "B", line=9),
            ],
            "r.yaml:9:3: CREATE 'B' in I.D: the rule 'A', see r.yaml:5:3, has the same contract ANY, local "
            f"service ANY and remote service ANY {SAME}",
        ),
        # Two rules do not swap their criteria within a moment.
        (
            [
                create(1, "A", line=1, contract="X"),
                create(1, "B", line=2, contract="Y"),
                alter(2, "A", line=3, contract="Y"),
                alter(2, "B", line=4, contract="X"),
            ],
            "r.yaml:3:3: ALTER 'A' in I.D: the rule 'B', see r.yaml:2:3, has the same contract 'Y', local "
            f"service ANY and remote service ANY {SAME}",
        ),
        (
            [create(1, "Gold", line=4), alter(2, "Gould", line=9, level=2)],
            f"r.yaml:9:3: ALTER 'Gould' in I.D: {NO_SUCH_RULE}; did you mean 'Gold'?",
        ),
        ([drop(2, line=9)], f"r.yaml:9:3: DROP 'R' in I.D: {NO_SUCH_RULE}; there is none to choose from"),
        (
            [create(1, line=4, database="E"), drop(2, line=9)],
            f"r.yaml:9:3: DROP 'R' in I.D: {NO_SUCH_RULE}; there is none to choose from",
        ),
        (
            [create(1, line=4), drop(2, line=9), drop(3, line=10)],
            f"r.yaml:10:3: DROP 'R' in I.D: {NO_SUCH_RULE}; it was dropped at r.yaml:9:3",
        ),
        (
            [alter(1, line=4, level=2), create(2, line=9)],
            f"r.yaml:4:3: ALTER 'R' in I.D: {NO_SUCH_RULE}; it is created after that, at r.yaml:9:3; "
            "change the order or effective_from",
        ),
    ],
)
def test_refused(statements: list[RuleStatement], line: str) -> None:
    assert refusal(*statements) == [line]


def test_what_only_follows_from_an_error_is_not_reported() -> None:
    lines = refusal(
        create(1, "A", line=1),
        create(2, "B", line=2),
        alter(3, "B", line=3, level=2),
        drop(4, "B", line=4),
        drop(5, "C", line=5),
        create(5, "A", line=6, database="E"),
        create(6, "A", line=7, database="E"),
    )
    assert [line.split(":")[1] for line in lines] == ["2", "5", "7"]


CRITERIA = st.sampled_from([UNSET, ANY, "ANY", "S"])


@st.composite
def statements(draw: st.DrawFn) -> list[RuleStatement]:
    """Statements that the history accepts: random ones without those that it refuses."""
    given = []
    for line in range(draw(st.integers(0, 25))):
        kind, at = draw(st.sampled_from(StatementType)), draw(st.integers(1, 9))
        said = {key: draw(CRITERIA) for key in ("contract", "local_service", "remote_service")}
        said["level"] = draw(st.none() | st.integers(1, 10))
        more = {} if kind is StatementType.DROP else said
        given.append(statement(kind, at, draw(st.sampled_from("ABC")), line=line + 1, **more))
    return accepted(given)


def in_force(versions: list[RuleVersion], at: datetime) -> list[RuleVersion]:
    return [v for v in versions if v.valid_from <= at and (v.valid_to is None or at < v.valid_to)]


@given(statements())
def test_the_rules_of_a_day_are_those_that_the_statements_until_then_left(
    script: list[RuleStatement],
) -> None:
    """Names and criteria are unique on each day, and versions of a rule do not overlap."""
    versions = rule_history(script)
    assert versions == sorted(versions, key=lambda v: (v.name, v.valid_from))
    assert all(v.valid_to is None or v.valid_from < v.valid_to for v in versions)
    for number in range(1, 11):
        rules: dict[str, dict[str, Any]] = {}
        for said in sorted(script, key=lambda s: s.effective_from):
            if said.effective_from > day(number):
                continue
            if said.kind is StatementType.DROP:
                del rules[said.name]
                continue
            blank = {"contract": None, "local_service": None, "remote_service": None, "level": 5}
            rule = rules.setdefault(said.name, blank)
            for key in ("contract", "local_service", "remote_service"):
                value = getattr(said, key)
                if value is not UNSET:
                    rule[key] = None if value is ANY else value
            if said.level is not None:
                rule["level"] = said.level
        standing = in_force(versions, day(number))
        expected = sorted((name, *rule.values()) for name, rule in rules.items())
        assert [(v.name, *v.triple, v.level) for v in standing] == expected
        assert len({v.triple for v in standing}) == len(standing)


def test_what_is_refused_is_listed_with_its_fault_and_the_other_statement() -> None:
    first, again = create(1, "A", contract="X", level=3), create(1, "A", contract="Y")
    same, conflict = create(1, "B", contract="X", level=3), create(1, "C", contract="X", level=4)
    missing = drop(2, "D")
    folded = apply_statements([first, same, conflict, missing, again])
    assert [(r.statement, r.fault, r.other) for r in folded.refusals] == [
        (same, Fault.SAME_RULE, first),
        (conflict, Fault.SAME_CRITERIA, first),
        (again, Fault.NAME_TAKEN, first),
        (missing, Fault.NO_SUCH_RULE, None),
    ]
    assert lines_of_error(Path(), folded.require_accepted) == [r.message for r in folded.refusals]


def test_each_version_knows_the_statement_that_began_it() -> None:
    created, same_day, later = create(1, "A"), alter(1, "A", level=2), alter(3, "A", level=3)
    other = create(2, "B", contract="X")
    folded = apply_statements([created, same_day, later, other])
    assert [(v.name, v.valid_from.day, folded.locations[v.key]) for v in folded.versions] == [
        ("A", 1, same_day.location),
        ("A", 3, later.location),
        ("B", 2, other.location),
    ]
