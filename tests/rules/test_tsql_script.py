"""Histories printed as T-SQL and read again."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from hypothesis import example, given, settings, strategies as st

from pipelines.rules.history import RuleVersion, rule_history
from pipelines.rules.statements import (
    ANY,
    UNSET,
    RuleDefaults,
    RuleStatement,
    SourceLocation,
    StatementType,
)
from pipelines.rules.tsql_rules import read_tsql_rules
from pipelines.rules.tsql_script import format_script
from tests.support.rule_scripts import accepted

A_NAME = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=6
) | st.sampled_from(["R", "r", "]", "[]", "''", '"', "ANY", "a\nGO\nb", "-- x", "*/", "S "])
NAMES = st.sampled_from(["R", "]S[", "T'", "ANY"])
CRITERIA = st.sampled_from([UNSET, ANY, "ANY", "S"]) | A_NAME


def day(number: int) -> datetime:
    return datetime(2026, 1, number, 1, 2, 3, 456789, tzinfo=UTC)


@st.composite
def histories(draw: st.DrawFn) -> list[RuleVersion]:
    """The history of random statements in two databases; those that the history refuses are left out."""
    given = []
    databases = draw(st.lists(A_NAME.filter(lambda name: not name.startswith("$(")), min_size=1, max_size=2))
    for line in range(draw(st.integers(0, 15))):
        kind, at = draw(st.sampled_from(StatementType)), day(draw(st.integers(1, 5)))
        database, name = draw(st.sampled_from(databases)), draw(NAMES | A_NAME)
        said: dict[str, Any] = {}
        if kind is not StatementType.DROP:
            said = {key: draw(CRITERIA) for key in ("contract", "local_service", "remote_service")}
            said["level"] = draw(st.none() | st.integers(1, 10))
        given.append(RuleStatement(kind, at, "I", database, name, SourceLocation("r", line + 1, 1), **said))
    return rule_history(accepted(given))


SWAPPED = [
    RuleVersion("I", "D", name, contract, None, None, 5, day(since), day(2) if since == 1 else None)
    for name, contract, since in (("A", "X", 1), ("A", "Y", 2), ("B", "Y", 1), ("B", "X", 2))
]
"""Two rules that swap their criteria."""


@settings(max_examples=40)
@given(histories())
@example(SWAPPED)
def test_a_printed_history_reads_the_same(tmp_path_factory: Any, history: list[RuleVersion]) -> None:
    path = tmp_path_factory.getbasetemp() / "printed.sql"
    path.write_bytes(format_script(history, "I").encode())
    assert rule_history(read_tsql_rules(str(path), RuleDefaults(instance="I")).statements) == history


PRINTED = """\
USE [D]]];
GO
-- effective_from: 2026-01-01T01:02:03.456789Z
CREATE BROKER PRIORITY [Gold]
    FOR CONVERSATION
    SET (CONTRACT_NAME = [Order's],
         LOCAL_SERVICE_NAME = ANY,
         REMOTE_SERVICE_NAME = N'It''s',
         PRIORITY_LEVEL = 9);
-- effective_from: 2026-01-03T01:02:03.456789Z
ALTER BROKER PRIORITY [Gold]
    FOR CONVERSATION
    SET (PRIORITY_LEVEL = 8);
-- effective_from: 2026-01-04T01:02:03.456789Z
DROP BROKER PRIORITY [Gold];
"""


def test_what_is_printed() -> None:
    first = RuleVersion("I", "D]", "Gold", "Order's", None, "It's", 9, day(1), day(3))
    then = replace(first, level=8, valid_from=day(3), valid_to=day(4))
    assert format_script([first, then, replace(first, instance="J")], "I") == PRINTED
