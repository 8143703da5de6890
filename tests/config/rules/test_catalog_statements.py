"""Statements of a DDL log about queues, services and contracts."""

from pathlib import Path

import pytest

from pipelines.config.rules.catalog_statements import read_catalog_change
from pipelines.config.rules.statements import CatalogChange, SourceLocation
from tests.support.cases import lines_of_error
from tests.support.factories import NOON

PLACE = SourceLocation("log.csv", 2, 1)
Q = ("queue", "dbo", "Q")
NEW = {"on": "on", "activation": "off", "procedure": None, "max_readers": None}


def read(text: str, database: str | None = "Claims") -> CatalogChange | None:
    return read_catalog_change(PLACE, text, moment=NOON, instance="SQL1", database=database)


@pytest.mark.parametrize(
    ("text", "named", "values"),
    [
        ("ALTER QUEUE dbo.Q WITH STATUS = OFF", Q, {"on": "off"}),
        ("alter queue [a.b].[Q] with retention = on , status=on;", ("queue", "a.b", "Q"), {"on": "on"}),
        (
            "ALTER QUEUE Q WITH POISON_MESSAGE_HANDLING (STATUS = OFF), ACTIVATION (STATUS = OFF)",
            Q,
            {"activation": "off"},
        ),
        (
            "ALTER QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = Claims.dbo.[Read it], MAX_QUEUE_READERS = 07, "
            "EXECUTE AS 'STATUS')",
            Q,
            {"procedure": "Claims.dbo.[Read it]", "max_readers": "7"},
        ),
        (
            "ALTER QUEUE Q WITH ACTIVATION (DROP)",
            Q,
            {"activation": "off", "procedure": None, "max_readers": None},
        ),
        ("ALTER QUEUE Q REBUILD WITH (MAXDOP = 2)", Q, {}),
        ("CREATE QUEUE Q -- new\n ON [PRIMARY]", Q, NEW),
        (
            "CREATE QUEUE Q WITH STATUS = OFF, ACTIVATION (PROCEDURE_NAME = P, MAX_QUEUE_READERS = 2)",
            Q,
            {"on": "off", "activation": "on", "procedure": "P", "max_readers": "2"},
        ),
        ("DROP QUEUE s.Q", ("queue", "s", "Q"), {}),
        (
            "CREATE SERVICE [//x/S] AUTHORIZATION dbo ON QUEUE s.[Q] ([DEFAULT])",
            ("service", "s", "//x/S"),
            {"queue": "Q"},
        ),
        ("ALTER SERVICE [//x/S] (ADD CONTRACT [C])", ("service", "dbo", "//x/S"), {}),
        ("DROP SERVICE S", ("service", "dbo", "S"), {}),
        ("CREATE CONTRACT C (M SENT BY ANY)", ("contract", "dbo", "C"), {"exists": "true"}),
    ],
)
def test_what_a_statement_changes(
    text: str, named: tuple[str, str, str], values: dict[str, str | None]
) -> None:
    change = read(text)
    assert change is not None
    assert (change.kind, change.schema, change.name) == named
    assert change.values == values
    assert (change.database, change.moment) == ("Claims", NOON)


def test_a_name_of_three_parts_has_its_database() -> None:
    change = read("ALTER QUEUE [Old Claims]..Q WITH STATUS = ON", None)
    assert change is not None
    assert (change.database, change.schema, change.name) == ("Old Claims", "dbo", "Q")


@pytest.mark.parametrize("text", ["CREATE TABLE Queue (a int)", "ALTER TABLE t ADD Service int", ""])
def test_other_statements_are_none(text: str) -> None:
    assert read(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ALTER QUEUE Q WITH STATUS = $(State)", "expected ON or OFF, found $(State)"),
        ("ALTER QUEUE Q WITH STATUS OFF", "expected =, found OFF"),
        ("ALTER QUEUE", "expected a name, found the end"),
        ("ALTER QUEUE a.b.c.Q WITH STATUS = OFF", "the name a.b.c.Q has more than three parts"),
        ("CREATE SERVICE S", "expected ON QUEUE, found the end"),
        (
            "ALTER QUEUE Q WITH ACTIVATION (MAX_QUEUE_READERS = few)",
            "expected a number of readers, found few",
        ),
        ("ALTER QUEUE Q WITH ACTIVATION (STATUS = ON", "the ( of ACTIVATION is never closed"),
        ("ALTER QUEUE [Q WITH STATUS = OFF", "what begins with [ is never closed"),
    ],
)
def test_what_is_no_statement(text: str, said: str) -> None:
    [line] = lines_of_error(Path(), read, text)
    assert said in line


def test_a_statement_without_a_database() -> None:
    [line] = lines_of_error(Path(), read, "DROP QUEUE Q", None)
    assert "its database is not known" in line
