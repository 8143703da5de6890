"""Rows that have one of many keys."""

from pyspark.sql import SparkSession

from pipelines.engine.frames import among
from tests.support.frames import assert_same, frame

ROWS = """
    instance | database | messages int
    SQL1     | A        | 1
    SQL1     | A        | 2
    SQL1     | B        | 3
    SQL2     | A        | 4
    -        | A        | 5
"""


def test_rows_stay_whose_columns_together_are_a_key(session: SparkSession) -> None:
    keys = [("SQL1", "A"), ("SQL2", "B"), ("SQL1", "A")]
    assert_same(
        among(frame(session, ROWS), keys, "instance string, database string"),
        frame(
            session,
            """
            instance | database | messages int
            SQL1     | A        | 1
            SQL1     | A        | 2
            """,
        ),
    )


def test_a_thousand_keys(session: SparkSession) -> None:
    found = among(frame(session, ROWS), [(number,) for number in range(4, 1004)], "messages int")
    assert sorted(row.messages for row in found.collect()) == [4, 5]


def test_no_key(session: SparkSession) -> None:
    assert among(frame(session, ROWS), [], "instance string").isEmpty()
