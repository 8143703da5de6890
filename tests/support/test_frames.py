"""The comparison of frames is strict."""

import pytest
from chispa import DataFramesNotEqualError
from chispa.schema_comparer import SchemasNotEqualError
from pyspark.sql import SparkSession

from tests.support.frames import assert_same, frame


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
