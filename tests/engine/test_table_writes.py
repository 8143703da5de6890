"""What is NOT NULL in a table is refused before the table sees it, and is known to the plan."""

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pipelines.engine.table_writes import OF_TYPE, require_not_null


@pytest.mark.parametrize("type", OF_TYPE)
def test_a_null_is_refused(embedded: SparkSession, type: str) -> None:
    rows = embedded.sql(f"select cast(null as {type}) as found")
    with pytest.raises(PySparkException, match="NOT NULL constraint violated for column: found"):
        require_not_null(rows, {"found": type}).collect()


def test_rows_stay_as_they_are_and_the_plan_knows(embedded: SparkSession) -> None:
    rows = embedded.sql("select * from values ('a', true, null), ('b', false, 2) as t(id, is_on, number)")
    tested = require_not_null(rows, {"id": "string", "is_on": "boolean"})
    assert sorted(tested.collect()) == [("a", True, None), ("b", False, 2)]
    assert [field.nullable for field in tested.schema.fields] == [False, False, True]


def test_types_without_a_value_are_left_to_the_table(embedded: SparkSession) -> None:
    rows = embedded.sql("select cast(null as binary) as found")
    assert require_not_null(rows, {"found": "binary"}).collect() == [(None,)]
