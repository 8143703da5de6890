"""Statements of a DDL log about queues, services and contracts."""

from pathlib import Path

import pytest

from pipelines.rules.statements import CatalogChange, SourceLocation
from pipelines.server.catalog_statements import read_catalog_change
from tests.support.cases import cases, lines_of_error
from tests.support.factories import NOON

PLACE = SourceLocation("log.csv", 2, 1)


def read(text: str, database: str | None = "Claims") -> CatalogChange | None:
    return read_catalog_change(PLACE, text, moment=NOON, instance="SQL1", database=database)


def describe(change: CatalogChange | None) -> str:
    """What a statement changes, in the order in which it says so."""
    if change is None:
        return "none"
    values = [f"{attribute}={value}" for attribute, value in change.values.items()]
    return ", ".join([f"{change.kind} {change.schema}.{change.name}", *values])


@pytest.mark.parametrize(
    ("text", "said"),
    cases("""
        ALTER QUEUE dbo.Q WITH STATUS = OFF                       => queue dbo.Q, on=off
        alter queue [a.b].[Q] with retention = on , status=on;    => queue a.b.Q, on=on
        ALTER QUEUE Q WITH POISON_MESSAGE_HANDLING (STATUS = OFF), ACTIVATION (STATUS = OFF)
        => queue dbo.Q, activation=off
        ALTER QUEUE Q WITH ACTIVATION (PROCEDURE_NAME = P.[a b], MAX_QUEUE_READERS = 07, EXECUTE AS 'STATUS')
        => queue dbo.Q, procedure=P.[a b], max_readers=7
        ALTER QUEUE Q WITH ACTIVATION (DROP)
        => queue dbo.Q, activation=off, procedure=None, max_readers=None
        ALTER QUEUE Q REBUILD WITH (MAXDOP = 2)                   => queue dbo.Q
        CREATE QUEUE Q -- new
        => queue dbo.Q, on=on, activation=off, procedure=None, max_readers=None
        CREATE QUEUE Q WITH STATUS = OFF, ACTIVATION (PROCEDURE_NAME = P, MAX_QUEUE_READERS = 2)
        => queue dbo.Q, on=off, activation=on, procedure=P, max_readers=2
        DROP QUEUE s.Q                                            => queue s.Q

        CREATE SERVICE [//x/S] AUTHORIZATION dbo ON QUEUE s.[Q] ([DEFAULT])    => service s.//x/S, queue=Q
        ALTER SERVICE [//x/S] (ADD CONTRACT [C])                  => service dbo.//x/S
        DROP SERVICE S                                            => service dbo.S
        CREATE CONTRACT C (M SENT BY ANY)                         => contract dbo.C, exists=true

        CREATE TABLE Queue (a int)                                => none
        ALTER TABLE t ADD Service int                             => none
    """),
)
def test_what_a_statement_changes(text: str, said: list[str]) -> None:
    assert [describe(read(text))] == said


def test_the_place_and_the_moment_of_a_change() -> None:
    """A name of three parts has its database."""
    change, named = read("DROP SERVICE S"), read("ALTER QUEUE [Old Claims]..Q WITH STATUS = ON", None)
    assert change is not None
    assert named is not None
    assert (change.instance, change.database, change.moment) == ("SQL1", "Claims", NOON)
    assert (named.database, named.schema, named.name) == ("Old Claims", "dbo", "Q")


@pytest.mark.parametrize(
    ("text", "said"),
    cases("""
        ALTER QUEUE Q WITH STATUS = $(State)          => expected ON or OFF, found $(State)
        ALTER QUEUE Q WITH STATUS OFF                 => expected =, found OFF
        ALTER QUEUE                                   => expected a name, found the end
        ALTER QUEUE a.b.c.Q WITH STATUS = OFF         => the name a.b.c.Q has more than three parts
        CREATE SERVICE S                              => expected ON QUEUE, found the end
        ALTER QUEUE Q WITH ACTIVATION (MAX_QUEUE_READERS = many)
        => expected a number of readers, found many
        ALTER QUEUE Q WITH ACTIVATION (STATUS = ON    => the ( of ACTIVATION is never closed
        ALTER QUEUE [Q WITH STATUS = OFF              => what begins with [ is never closed
    """),
)
def test_what_is_no_statement(text: str, said: list[str]) -> None:
    [line] = lines_of_error(Path(), read, text)
    assert said[0] in line


def test_a_statement_without_a_database() -> None:
    [line] = lines_of_error(Path(), read, "DROP QUEUE Q", None)
    assert "its database is not known" in line
