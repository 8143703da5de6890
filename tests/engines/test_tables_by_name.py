"""A warehouse that is a schema: its tables are in the schema's folder, and have names."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.config.errors import ConfigError
from pipelines.config.model import SparkSchema
from pipelines.engine.frames import small_frame
from pipelines.storage.spark_schema import table_names
from pipelines.storage.warehouse import Warehouse
from schemas.outputs import UNRESOLVED
from schemas.reading import as_of_key
from tests.support.factories import at

SCHEMA = SparkSchema.model_validate({"schema": "tables_by_name"})
NO_QUEUE = (None, None, None)
"""Instance, database and queue of `unresolved`."""


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The schema's folder, whose name needs quotes in SQL and escapes in a URI."""
    folder = tmp_path / "it's a folder"
    quoted = str(folder).replace("'", "\\'")
    spark.sql(f"CREATE SCHEMA {SCHEMA} LOCATION '{quoted}'")
    yield folder
    spark.sql(f"DROP SCHEMA {SCHEMA} CASCADE")


def rows(spark: SparkSession, *ids: str) -> DataFrame:
    return small_frame(
        spark,
        [(at(), as_of_key(at()), "receive", each, "endpoint_unknown", *NO_QUEUE) for each in ids],
        UNRESOLVED.struct,
    )


def ids(frame: DataFrame) -> list[str]:
    return sorted(row.id for row in frame.select("id").collect())


def names(spark: SparkSession) -> list[str]:
    return sorted(table_names(spark, SCHEMA))


def test_what_is_written_can_be_read_by_name_and_by_path(spark: SparkSession, folder: Path) -> None:
    warehouse = Warehouse(spark, SCHEMA)
    assert warehouse.root == f"file:{folder}"
    assert not warehouse.exists(UNRESOLVED)
    assert ids(warehouse.read(UNRESOLVED)) == names(spark) == []

    warehouse.replace(UNRESOLVED, rows(spark, "m1", "m2"))
    assert names(spark) == ["unresolved"]
    warehouse.replace(UNRESOLVED, rows(spark, "m3"))
    by_name = spark.table("tables_by_name.unresolved")
    assert ids(by_name) == ids(warehouse.read(UNRESOLVED)) == ["m3"]
    assert ids(Warehouse(spark, str(folder)).read(UNRESOLVED)) == ["m3"]
    assert by_name.schema == UNRESOLVED.struct


def test_tables_of_a_folder_get_their_names_with_the_next_write(spark: SparkSession, folder: Path) -> None:
    """That is also how a run goes on that was killed between a table's creation and its naming."""
    Warehouse(spark, str(folder)).replace(UNRESOLVED, rows(spark, "m1"))
    warehouse = Warehouse(spark, SCHEMA)
    assert ids(warehouse.read(UNRESOLVED)) == ["m1"]
    assert names(spark) == []

    warehouse.append(UNRESOLVED, rows(spark, "m2"))
    assert ids(spark.table("tables_by_name.unresolved")) == ["m1", "m2"]


def test_all_tables_of_a_folder_are_named_at_once(spark: SparkSession, folder: Path) -> None:
    Warehouse(spark, str(folder)).replace(UNRESOLVED, rows(spark, "m1"))
    warehouse = Warehouse(spark, SCHEMA)
    warehouse.name_tables()
    warehouse.name_tables()
    assert names(spark) == ["unresolved"]
    assert ids(spark.table("tables_by_name.unresolved")) == ["m1"]


def test_a_dropped_name_comes_back_with_all_rows(spark: SparkSession, folder: Path) -> None:
    warehouse = Warehouse(spark, SCHEMA)
    warehouse.replace(UNRESOLVED, rows(spark, "m1"))
    spark.sql("DROP TABLE tables_by_name.unresolved")
    assert ids(warehouse.read(UNRESOLVED)) == ["m1"]
    warehouse.append(UNRESOLVED, rows(spark, "m2"))
    assert ids(spark.table("tables_by_name.unresolved")) == ["m1", "m2"]


@pytest.mark.parametrize(
    ("schema", "what_to_do"),
    [
        (SparkSchema.model_validate({"schema": "table_by_name"}), "this session has no metastore"),
        (SparkSchema.model_validate({"catalog": "lake", "schema": "x"}), "or CREATE SCHEMA lake.x first"),
    ],
    ids=["schema", "catalog"],
)
def test_a_schema_that_is_not_there(spark: SparkSession, schema: SparkSchema, what_to_do: str) -> None:
    with pytest.raises(ConfigError) as error:
        Warehouse(spark, schema)
    assert str(error.value).startswith(f"warehouse: there is no schema {schema}; ")
    assert what_to_do in str(error.value)
    assert "\n" not in str(error.value)
