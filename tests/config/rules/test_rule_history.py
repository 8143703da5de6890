"""Statements to versions. Days are those of January 2026."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.config.rules.history import Fault, RuleVersion, apply_statements, rule_history
from pipelines.config.rules.limits import CRITERIA
from pipelines.config.rules.statements import ANY, UNSET, RuleStatement, SourceLocation, StatementType
from tests.support.cases import lines_of_error
from tests.support.factories import Row
from tests.support.model import rules as model
from tests.support.rule_scripts import accepted

_lines: Iterator[int] = count(1)


def day(number: int) -> datetime:
    return datetime(2026, 1, number, tzinfo=UTC)


def statement(
    kind: StatementType, at: int, name: str = "R", *, line: int | None = None, **said: Any
) -> RuleStatement:
    where = {"instance": said.pop("instance", "I"), "database": said.pop("database", "D")}
    location = SourceLocation("r.yaml", line or next(_lines), 3)
    return RuleStatement(kind, day(at), **where, name=name, location=location, **said)


def create(at: int, name: str = "R", **said: Any) -> RuleStatement:
    return statement(StatementType.CREATE, at, name, **said)


def alter(at: int, name: str = "R", **said: Any) -> RuleStatement:
    return statement(StatementType.ALTER, at, name, **said)


def drop(at: int, name: str = "R", **said: Any) -> RuleStatement:
    return statement(StatementType.DROP, at, name, **said)


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


B_LEAVES = [drop(5, "B"), alter(5, "A", contract="C")]


@pytest.mark.parametrize(
    ("statements", "expected"),
    [
        # A drop ends a rule, and its name is free again.
        ([create(1, level=1), drop(3), create(6, level=2)], [("R", 1, 1, 3), ("R", 2, 6, None)]),
        # An ALTER that changes nothing starts a version all the same.
        ([create(1, level=4), alter(2, level=4)], [("R", 4, 1, 2), ("R", 4, 2, None)]),
        # A version of no length leaves no row.
        ([create(1), drop(1)], []),
        # Statements take effect by their moment, not by their place; at one moment in the order given.
        ([drop(9), alter(5, level=2), create(1, level=1)], [("R", 1, 1, 5), ("R", 2, 5, 9)]),
        ([create(1, level=1), alter(2, level=3), alter(2, level=2)], [("R", 1, 1, 2), ("R", 2, 2, None)]),
        # Criteria are free once their rule has left them.
        (
            [
                create(1, "A", contract="C"),
                alter(3, "A", contract="X"),
                create(3, "B", contract="C"),
                *B_LEAVES,
            ],
            [("A", 5, 1, 3), ("A", 5, 3, 5), ("A", 5, 5, None), ("B", 5, 3, 5)],
        ),
    ],
)
def test_periods(statements: list[RuleStatement], expected: list[tuple[str, int, int, int | None]]) -> None:
    """Name, level, first day and day of the end of every version."""
    found = [
        (v.name, v.level, v.valid_from.day, v.valid_to and v.valid_to.day) for v in rule_history(statements)
    ]
    assert found == expected


def test_rules_are_ordered_by_place_and_by_the_bytes_of_their_names() -> None:
    names = ["r", "R", "R ", "é", "e\u0301", "\uffff", "😀"]
    given = [create(1, name, contract=name) for name in names]
    given += [create(1, database="E"), create(1, instance="J"), create(1, "Z", contract=ANY)]
    assert [(rule.instance, rule.database, rule.name) for rule in rule_history(given)] == [
        *(("I", "D", name) for name in sorted([*names, "Z"], key=str.encode)),
        ("I", "E", "R"),
        ("J", "D", "R"),
    ]
    # A wildcard is no service of that name.
    assert len(rule_history([create(1, "A", contract=ANY), create(1, "B", contract="ANY")])) == 2


GONE = "there is no such rule at that moment (error 15151)"


def same_as(place: str, contract: str | None, remote: str | None) -> str:
    of_contract, of_remote = ("ANY" if name is None else repr(name) for name in (contract, remote))
    return (
        f"the rule 'A', see r.yaml:{place}, has the same contract {of_contract}, local service ANY and "
        f"remote service {of_remote} (error 33303); change or drop one of the two"
    )


@pytest.mark.parametrize(
    ("statements", "line"),
    [
        (
            [create(1, line=4), create(2, line=9, contract="C")],
            "9:3: CREATE 'R' in I.D: the rule exists already, see r.yaml:4:3 (error 33303); take another "
            "name, or ALTER it",
        ),
        (
            [
                create(1, "A", line=4, contract="C", remote_service="S"),
                create(2, "B", contract="C"),
                alter(3, "B", line=12, remote_service="S"),
            ],
            f"12:3: ALTER 'B' in I.D: {same_as('4:3', 'C', 'S')}",
        ),
        (
            [create(1, "A", contract="C"), alter(2, "A", line=5, contract=ANY), create(3, "B", line=9)],
            f"9:3: CREATE 'B' in I.D: {same_as('5:3', None, None)}",
        ),
        # Two rules do not swap their criteria within a moment.
        (
            [
                create(1, "A", line=1, contract="X"),
                create(1, "B", contract="Y"),
                alter(2, "B", line=3, contract="X"),
                alter(2, "A", contract="Y"),
            ],
            f"3:3: ALTER 'B' in I.D: {same_as('1:3', 'X', None)}",
        ),
        (
            [create(1, "Gold"), alter(2, "Gould", line=9, level=2)],
            f"9:3: ALTER 'Gould' in I.D: {GONE}; did you mean 'Gold'?",
        ),
        (
            [create(1, database="E"), drop(2, line=9)],
            f"9:3: DROP 'R' in I.D: {GONE}; there is none to choose from",
        ),
        (
            [create(1), drop(2, line=9), drop(3, line=10)],
            f"10:3: DROP 'R' in I.D: {GONE}; it was dropped at r.yaml:9:3",
        ),
        (
            [alter(1, line=4, level=2), create(2, line=9)],
            f"4:3: ALTER 'R' in I.D: {GONE}; it is created after that, at r.yaml:9:3; change the order or "
            "effective_from",
        ),
    ],
)
def test_refused(statements: list[RuleStatement], line: str) -> None:
    assert lines_of_error(Path(), rule_history, statements) == [f"r.yaml:{line}"]


def test_what_only_follows_from_an_error_is_not_reported() -> None:
    refused = create(2, "B"), drop(5, "C"), create(6, "A", database="E")
    follows = alter(3, "B", level=2), drop(4, "B")
    first = create(1, "A"), create(5, "A", database="E")
    found = apply_statements([*first, *refused, *follows]).refusals
    assert [each.statement for each in found] == [*refused]


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
    folded = apply_statements([created, same_day, later])
    assert [(v.valid_from.day, folded.locations[v.key]) for v in folded.versions] == [
        (1, same_day.location),
        (3, later.location),
    ]


@st.composite
def scripts(draw: st.DrawFn) -> list[RuleStatement]:
    """Statements that the history accepts: random ones without those that it refuses."""
    given = []
    for line in range(draw(st.integers(0, 15))):
        kind, at = draw(st.sampled_from(StatementType)), draw(st.integers(1, 9))
        said = {key: draw(st.sampled_from([UNSET, ANY, "ANY", "S"])) for key in CRITERIA}
        says_something = kind is StatementType.CREATE or {*said.values()} != {UNSET}
        said["level"] = draw(st.integers(1, 10) | st.none() if says_something else st.integers(1, 10))
        more = {} if kind is StatementType.DROP else said
        given.append(statement(kind, at, draw(st.sampled_from("ABC")), line=line + 1, **more))
    return accepted(given)


def row(said: RuleStatement) -> Row:
    """A statement as rule files write it."""
    forms: dict[Any, Any] = {ANY: "ANY", "ANY": {"name": "ANY"}, "S": "S"}
    form = {key: forms[getattr(said, key)] for key in CRITERIA if getattr(said, key) is not UNSET}
    form |= {"name": said.name} if said.level is None else {"name": said.name, "level": said.level}
    place = {"instance": said.instance, "database": said.database, "effective_from": said.effective_from}
    return {**place, said.kind.value.lower(): form}


@settings(max_examples=30)
@given(scripts())
def test_the_history_is_that_of_the_model(script: list[RuleStatement]) -> None:
    expected = model.rule_history([row(said) for said in script])
    found = [vars(version) for version in rule_history(script)]
    assert found == sorted(map(vars, expected), key=lambda rule: (rule["name"], rule["valid_from"]))
