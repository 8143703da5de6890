"""The drawn frames, and that the comparison is strict."""

from datetime import UTC, datetime

import pytest
from chispa import DataFramesNotEqualError
from chispa.schema_comparer import SchemasNotEqualError
from pyspark.sql import SparkSession

from tests.support.frames import assert_same, frame

TWO_ROWS = """
    handle | created_at timestamp | priority int | names array<string>
    h1     | 12:00:00.000001      | 5            | [a, b]
    h2     | -                    | -            | []
"""


def test_a_drawn_frame(session: SparkSession) -> None:
    rows = frame(session, TWO_ROWS).orderBy("handle").collect()
    moment = datetime(2026, 11, 20, 12, 0, 0, 1, tzinfo=UTC)
    assert [tuple(row) for row in rows] == [
        ("h1", moment.replace(tzinfo=None), 5, ["a", "b"]),
        ("h2", None, None, []),
    ]


def test_rows_in_any_order_and_in_order(session: SparkSession) -> None:
    forth = frame(session, "n int\n1\n2")
    back = frame(session, "n int\n2\n1")
    assert_same(forth, back)
    with pytest.raises(DataFramesNotEqualError):
        assert_same(forth, back, in_order=True)


@pytest.mark.parametrize(
    ("other", "error"),
    [
        pytest.param("n int\n1", DataFramesNotEqualError, id="a row is missing"),
        pytest.param("n int\n1\n2\n2", DataFramesNotEqualError, id="a row twice"),
        pytest.param("n int\n1\n-", DataFramesNotEqualError, id="null"),
        pytest.param("n bigint\n1\n2", SchemasNotEqualError, id="a type"),
        pytest.param("m int\n1\n2", SchemasNotEqualError, id="a name"),
        pytest.param("n int | m\n1 | -\n2 | -", SchemasNotEqualError, id="a column more"),
    ],
)
def test_what_differs_is_found(session: SparkSession, other: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        assert_same(frame(session, "n int\n1\n2"), frame(session, other))
