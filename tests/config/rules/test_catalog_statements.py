"""Statements of a DDL log about queues, services and contracts."""

import pytest

from pipelines.config.errors import ConfigError
from pipelines.config.rules.catalog_statements import read_catalog_change
from pipelines.config.rules.statements import CatalogChange, SourceLocation
from tests.support.factories import NOON

PLACE = SourceLocation("log.csv", 2, 1)
NEW = {"on": "on", "activation": "off", "procedure": None, "max_readers": None}


def read(text: str, database: str | None = "Claims") -> CatalogChange | None:
    return read_catalog_change(PLACE, text, moment=NOON, instance="SQL1", database=database)


@pytest.mark.parametrize(
    ("text", "named", "values"),
    [
        ("ALTER QUEUE dbo.Q WITH STATUS = OFF", ("queue", "dbo", "Q"), {"on": "off"}),
        ("alter queue [a.b].[Q] with retention = on , status=on;", ("queue", "a.b", "Q"), {"on": "on"}),
        (
            "ALTER QUEUE Q WITH POISON_MESSAGE_HANDLING (STATUS = OFF), ACTIVATION (STATUS = OFF)",
            ("queue", "dbo", "Q"),
            {"activation": "off"},
        ),
        (
            "ALTER QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = Claims.dbo.[Read it], MAX_QUEUE_READERS = 07, "
            "EXECUTE AS 'STATUS')",
            ("queue", "dbo", "Q"),
            {"procedure": "Claims.dbo.[Read it]", "max_readers": "7"},
        ),
        (
            "ALTER QUEUE Q WITH ACTIVATION (DROP)",
            ("queue", "dbo", "Q"),
            {"activation": "off", "procedure": None, "max_readers": None},
        ),
        ("ALTER QUEUE Q REBUILD WITH (MAXDOP = 2)", ("queue", "dbo", "Q"), {}),
        ("CREATE QUEUE Q -- new\n ON [PRIMARY]", ("queue", "dbo", "Q"), NEW),
        (
            "CREATE QUEUE Q WITH STATUS = OFF, ACTIVATION (PROCEDURE_NAME = P, MAX_QUEUE_READERS = 2)",
            ("queue", "dbo", "Q"),
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
            "ALTER QUEUE Q WITH ACTIVATION (MAX_QUEUE_READERS = many)",
            "expected a number of readers, found many",
        ),
        ("ALTER QUEUE Q WITH ACTIVATION (STATUS = ON", "the ( of ACTIVATION is never closed"),
        ("ALTER QUEUE [Q WITH STATUS = OFF", "what begins with [ is never closed"),
    ],
)
def test_what_is_no_statement(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as error:
        read(text)
    assert said in str(error.value)


def test_a_statement_without_a_database() -> None:
    with pytest.raises(ConfigError, match="its database is not known"):
        read("DROP QUEUE Q", None)
