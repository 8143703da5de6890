"""The capture script: its grammar, its columns, and what every tool needs of its text."""

import re

import pytest
import sqlglot
from sqlfluff.core import FluffConfig, Linter
from sqlfluff.core.parser import BaseSegment
from sqlglot import exp

from pipelines.config.snapshots.views import QUEUE, VIEWS
from tests.support.capture_script import (
    CODE,
    SCRIPT,
    add_statement,
    database_statement,
    statement_of,
    views,
)

QUEUE_VIEW = "queue"
NOT_READ = {
    # Names: the ids are read, and the views that have the names.
    "conversation_endpoints": {"service_contract_name", "service_name", "state_desc"},
    "queue": {"service_contract_name", "service_name"},
    "transmission_queue": {"from_service_name", "to_service_name", "service_contract_name", "priority"},
    "conversation_priorities": {"service_contract_name", "local_service_name"},
    "dm_broker_queue_monitors": {"queue_name", "database_id"},
    "dm_broker_activated_tasks": {"queue_name", "database_id"},
    # Only rows of the database are read.
    "databases": {"database_id"},
}
"""Declared columns that the script leaves out."""
FURTHER = {
    "service_queues": {"schema_name"},
    "databases": {"is_broker_enabled"},
    "locked_groups": {"granted", "waiting"},
}
"""Columns of the script that no view declares."""
STATEMENTS = {"add": add_statement(), "database": database_statement()} | {
    view: statement_of(view) for view in views()
}
COMMANDS_OF_SQLCMD = re.compile(r"\s*(?:(?:go|exit|quit|reset|ed)\b|:|!!)", re.IGNORECASE)
LONGEST = {
    "name": 128,
    "schema_name": 128,
    "activation_procedure": 776,
    "remote_service_name": 256,
    "far_service": 256,
    "message_type_name": 256,
    "state": 32,
    "conversation_handle": 36,
    "conversation_id": 36,
    "conversation_group_id": 36,
}
"""UTF-16 code units of the columns of text, by the types of the server's views."""
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
    assert len([*tree.recursive_crawl("statement")]) > 90


def test_it_writes_only_its_own_tables(tree: BaseSegment) -> None:
    for kind in ("insert_statement", "update_statement"):
        statements = [*tree.recursive_crawl(kind)]
        assert statements
        targets = [re.findall(r"^(?:INSERT INTO|UPDATE) (#capture_)?", each.raw) for each in statements]
        assert targets == [["#capture_"]] * len(statements)
    writes = {"delete_statement", "merge_statement", "truncate_table", "create_procedure_statement"}
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
    first = {"transmission_queue": 1, QUEUE_VIEW: 2, "conversation_endpoints": 3}
    assert phases == dict.fromkeys({*VIEWS, QUEUE_VIEW, "locked_groups"}, 4) | first
    assert len(phases) == 11


@pytest.mark.parametrize("view", views())
def test_the_columns_are_the_declared_ones_and_called_as_in_the_view(view: str) -> None:
    """But for the size of the body and the schema, whose values are computed."""
    found = columns_of(view)
    declared = {column.name for column in (QUEUE if view == QUEUE_VIEW else VIEWS.get(view, ()))}
    assert {*found} == declared - NOT_READ.get(view, set()) | FURTHER.get(view, set())
    computed = {"size_bytes": "message_body", "schema_name": "schema_id"}
    for name, value in found.items():
        assert {each.name for each in value.find_all(exp.Column)} == {computed.get(name, name)}


def test_a_message_body_is_only_measured() -> None:
    assert CODE.count("message_body") == CODE.count("DATALENGTH(v.message_body)") == 2


def test_the_longest_line_fits() -> None:
    """With the longest names, of characters that all take six."""
    text = views()["transmission_queue"][1]
    (status,) = re.findall(r"LEFT\(v\.transmission_status, (\d+)\)", text)
    longest = LONGEST | {"transmission_status": int(status)}
    lengths = {}
    for view in views():
        names = 128 * (3 if view == QUEUE_VIEW else 1)
        values = sum(
            longest[name] * ESCAPED if name in longest else NUMBER_OR_TIME for name in columns_of(view)
        )
        keys = sum(len(f'"{name}":"",') for name in columns_of(view))
        lengths[view] = names * ESCAPED + values + keys + len('{"database":"","view":"","row":{}}' + view)
    assert max(lengths.values()) == lengths["service_queues"]
    assert 7_000 < lengths["service_queues"] <= 8_000


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
