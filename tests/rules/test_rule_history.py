"""Statements to versions. Days are those of January 2026."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.rules.history import Fault, RuleVersion, apply_statements, rule_history
from pipelines.rules.statements import (
    ANY,
    CRITERIA,
    UNSET,
    RuleDefaults,
    RuleStatement,
    SourceLocation,
    StatementType,
)
from pipelines.settings.rule_sources import read_rules
from tests.support.cases import cases, lines_of_error
from tests.support.factories import Row
from tests.support.model import rules as model
from tests.support.rule_scripts import accepted
from tests.support.rule_versions import day

_lines: Iterator[int] = count(1)


def statement(kind: StatementType, at: int, name: str = "R", **said: Any) -> RuleStatement:
    where = {"instance": said.pop("instance", "I"), "database": said.pop("database", "D")}
    location = SourceLocation("r.yaml", next(_lines), 3)
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


def test_a_refusal_writes_the_database_as_options_take_it() -> None:
    [refusal] = apply_statements([drop(1, instance="SQL 1", database="D.x")]).refusals
    assert "DROP 'R' in [SQL 1].[D.x]: there is no such rule" in refusal.message


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
        ([create(1, level=1), drop(3), create(6, level=2)], [(1, 1, 3), (2, 6, None)]),
        # An ALTER that changes nothing starts a version; one of no length leaves no row.
        ([create(1, level=4), alter(2), alter(2)], [(4, 1, 2), (4, 2, None)]),
        # Statements take effect by their moment, not by their place; at one moment in the order given.
        ([drop(9), alter(5, level=3), alter(5, level=2), create(1)], [(5, 1, 5), (2, 5, 9)]),
    ],
)
def test_periods(statements: list[RuleStatement], expected: list[tuple[int, int, int | None]]) -> None:
    """Level, first day and day of the end of every version."""
    versions = rule_history(statements)
    assert [(v.level, v.valid_from.day, v.valid_to and v.valid_to.day) for v in versions] == expected


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


SAME = "(error 33303); change or drop one of the two"
GONE = "there is no such rule at that moment (error 15151)"


@pytest.mark.parametrize(
    ("script", "said"),
    cases("""
        - create: {name: R}
        - create: {name: R, contract: C}
        => 2:3: CREATE 'R' in I.D: the rule exists already, see r.yaml:1:3 (error 33303); take another name,
           or ALTER it

        - create: {name: A, contract: C, remote_service: S}
        - create: {name: B, contract: C}
        - alter: {name: B, remote_service: S}
        => 3:3: ALTER 'B' in I.D: the rule 'A', see r.yaml:1:3, has the same contract 'C', local service ANY
           and remote service 'S' SAME

        - create: {name: A, contract: C}
        - alter: {name: A, contract: ANY}
        - create: {name: B}
        => 3:3: CREATE 'B' in I.D: the rule 'A', see r.yaml:2:3, has the same contract ANY, local service ANY
           and remote service ANY SAME

        - create: {name: Gold}
        - alter: {name: Gould, level: 2}
        => 2:3: ALTER 'Gould' in I.D: GONE; did you mean 'Gold'?

        - {create: {name: R}, database: E}
        - drop: {name: R}
        => 2:3: DROP 'R' in I.D: GONE; create it before, or remove the statement

        - create: {name: Other}
        - drop: {name: R}
        => 2:3: DROP 'R' in I.D: GONE; create it before, or remove the statement

        - create: {name: R}
        - drop: {name: R}
        - drop: {name: R}
        => 3:3: DROP 'R' in I.D: GONE; it was dropped at r.yaml:2:3

        - alter: {name: R, level: 2}
        - create: {name: R}
        => 1:3: ALTER 'R' in I.D: GONE; it is created after that, at r.yaml:2:3; change the order or
           effective_from
    """),
)
def test_refused(tmp_path: Path, script: str, said: list[str]) -> None:
    (tmp_path / "r.yaml").write_text(f"{script}\n")
    where = RuleDefaults(instance="I", database="D", effective_from=day(1))
    statements = read_rules(str(tmp_path / "r.yaml"), where).statements
    expected = [f"r.yaml:{line.replace('SAME', SAME).replace('GONE', GONE)}" for line in said]
    assert lines_of_error(tmp_path, rule_history, statements) == expected


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
    for _ in range(draw(st.integers(0, 15))):
        kind, at = draw(st.sampled_from(StatementType)), draw(st.integers(1, 9))
        said = {key: draw(st.sampled_from([UNSET, ANY, "ANY", "S"])) for key in CRITERIA}
        says_something = kind is StatementType.CREATE or {*said.values()} != {UNSET}
        said["level"] = draw(st.integers(1, 10) | st.none() if says_something else st.integers(1, 10))
        more = {} if kind is StatementType.DROP else said
        given.append(statement(kind, at, draw(st.sampled_from("ABC")), **more))
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
