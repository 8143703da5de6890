"""The capture script: its grammar, its columns, and what every tool needs of its text."""

import re

import pytest
import sqlglot
from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.parser import BaseSegment
from sqlglot import exp

from pipelines.capture.script import select_list
from pipelines.server.snapshots.declaration import GUID, INT, NAME, SMALL_INT, TIME, View, ViewColumn
from pipelines.server.snapshots.views import ENDPOINTS, QUEUE, TRANSMISSION, VIEWS
from tests.support.capture_script import CODE, SCRIPT, add_statement, database_statement, statement_of, views

STATEMENTS = {"add": add_statement(), "database": database_statement()} | {
    view: statement_of(view) for view in views()
}
COMMANDS_OF_SQLCMD = re.compile(r"\s*(?:(?:go|exit|quit|reset|ed)\b|:|!!)", re.IGNORECASE)
NUMBER_OR_TIME = 30
ESCAPED = 6
"""Characters that `\\uXXXX` takes."""


@pytest.fixture(scope="module")
def tree() -> BaseSegment:
    """The script as the T-SQL grammar reads it."""
    parsed = Linter(config=FluffConfig(overrides={"dialect": "tsql"})).parse_string(SCRIPT)
    assert parsed.violations == []
    assert parsed.tree is not None
    return parsed.tree


def test_the_grammar_reads_all_of_it(tree: BaseSegment) -> None:
    assert [each.raw for each in tree.recursive_crawl("unparsable")] == []
    assert "".join(each.raw for each in tree.raw_segments) == SCRIPT
    assert len([*tree.recursive_crawl("batch")]) == 1


def test_it_writes_only_its_own_tables(tree: BaseSegment) -> None:
    for kind in ("insert_statement", "update_statement", "delete_statement"):
        statements = [*tree.recursive_crawl(kind)]
        assert statements
        targets = [
            re.findall(r"^(?:INSERT INTO|UPDATE|DELETE FROM) (#capture_)?", each.raw) for each in statements
        ]
        assert targets == [["#capture_"]] * len(statements)
    writes = {"merge_statement", "truncate_table", "create_procedure_statement"}
    assert [each.raw for each in tree.recursive_crawl(*writes)] == []
    for kind in ("create_table_statement", "drop_table_statement"):
        assert {each.raw.split()[2].rstrip("(;")[:9] for each in tree.recursive_crawl(kind)} == {"#capture_"}


@pytest.mark.parametrize("name", STATEMENTS)
def test_the_statements_that_it_builds(name: str) -> None:
    parsed = [each for each in sqlglot.parse(STATEMENTS[name], dialect="tsql") if each is not None]
    assert {type(each) for each in parsed} <= {exp.Insert, exp.Set}
    assert [each for tree in parsed for each in tree.find_all(exp.Command)] == []
    (insert,) = [each for each in parsed if isinstance(each, exp.Insert)]
    target = insert.find(exp.Table)
    assert target is not None
    assert target.sql(dialect="tsql") == ("#capture_queues" if name == "database" else "#capture_lines")


def test_it_reads_every_declared_view_in_this_order() -> None:
    phases = {view: phase for view, (phase, _, _) in views().items()}
    assert phases == dict.fromkeys(VIEWS, 4) | {TRANSMISSION: 1, QUEUE: 2, ENDPOINTS: 3}


@pytest.mark.parametrize("view", views())
def test_the_columns_are_the_declared_ones_and_called_as_in_the_view(view: str) -> None:
    """But for the size of the body, the schema and updateability, whose values are computed."""
    found = columns_of(view)
    assert [*found] == [column.name for column in VIEWS[view].columns if column.is_selected]
    computed = {"size_bytes": "message_body", "schema_name": "schema_id", "updateability": "name"}
    for name, value in found.items():
        assert {each.name for each in value.find_all(exp.Column)} == {computed.get(name, name)}


def test_a_new_column_is_selected() -> None:
    """Between the others, however long the line is; one that only files have is not."""
    columns = (
        ViewColumn("handle", GUID),
        ViewColumn("level", SMALL_INT),
        ViewColumn("sent_at", TIME),
        ViewColumn("service_name", NAME, is_selected=False),
        ViewColumn("length", INT, sql="LEN('x')"),
        ViewColumn("group_id", GUID),
    )
    assert select_list(View("new", columns)).splitlines() == [
        "CONVERT(char(36), v.handle) AS [row.handle], CONVERT(int, v.level) AS [row.level],",
        "   CONVERT(varchar(27), v.sent_at, 126) + ''Z'' AS [row.sent_at], LEN(''x'') AS [row.length],",
        "   CONVERT(char(36), v.group_id) AS [row.group_id]",
    ]


def test_a_message_body_is_only_measured() -> None:
    assert CODE.count("message_body") == CODE.count("DATALENGTH(v.message_body)") == 2


def test_the_longest_line_fits() -> None:
    """With the longest names, of characters that all take six."""
    lengths = {}
    for view in VIEWS.values():
        selected = [column for column in view.columns if column.is_selected]
        names = 128 * (3 if view.name == QUEUE else 1)
        values = sum(column.type.length * ESCAPED or NUMBER_OR_TIME for column in selected)
        keys = sum(len(f'"{column.name}":"",') for column in selected)
        around = len('{"database":"","view":"","row":{}}' + view.name)
        lengths[view.name] = names * ESCAPED + values + keys + around
    assert max(lengths.values()) == lengths["transmission_queue"]
    assert 7_000 < lengths["transmission_queue"] <= 8_000


def test_no_tool_takes_a_line_for_its_own() -> None:
    taken = ["GO", "go 5", " :r file", ":", "!!dir", "EXIT(SELECT 1)"]
    assert [line for line in taken if not COMMANDS_OF_SQLCMD.match(line)] == []
    lines = SCRIPT.splitlines()
    assert [line for line in lines if COMMANDS_OF_SQLCMD.match(line)] == []
    # Variables of sqlcmd, parameters and escapes of drivers, a line that goes on.
    assert [line for line in lines if {"$", "?", "{", "}", "\t"} & {*line} or line.endswith("\\")] == []
    assert [line for line in lines if len(line) > 120 or line != line.rstrip()] == []
    assert SCRIPT.isascii()
    assert "\r" not in SCRIPT
    assert SCRIPT.endswith(";\n")


def test_it_selects_once_for_the_caller(tree: BaseSegment) -> None:
    """A tool that takes the first result set has all of it."""
    statements = [each.segments[0] for each in tree.recursive_crawl("statement")]
    selects = [each.raw for each in statements if each.is_type("select_statement")]
    results = [raw for raw in selects if not re.match(r"SELECT\s+(TOP \(1\) )?@", raw)]
    assert results == ["SELECT l.line AS capture_line FROM #capture_lines AS l ORDER BY l.n"]
    assert len(selects) > len(results)


def columns_of(view: str) -> dict[str, exp.Expression]:
    """The columns of a row's object, by key."""
    select = sqlglot.parse_one(f"SELECT {views()[view][1]}", dialect="tsql")
    return {each.alias.removeprefix("row."): each.this for each in select.expressions}
