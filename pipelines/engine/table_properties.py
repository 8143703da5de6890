"""Properties of Delta tables, by way of delta-rs or, where it has no access, of the engine."""

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession

from pipelines.engine.files import delta_identifier
from pipelines.engine.session import is_embedded


def table_properties(spark: SparkSession, path: str) -> dict[str, str]:
    """The properties of the table at a path; none if it cannot be read."""
    properties: dict[str, str]
    try:
        properties = DeltaTable(path).metadata().configuration
    except (DeltaError, OSError):
        # delta-rs may have no credentials for a path that Apache Spark can reach.
        if is_embedded(spark):
            return {}
        [detail] = spark.sql(f"DESCRIBE DETAIL {delta_identifier(path)}").select("properties").collect()
        properties = detail.properties
    return properties


def set_table_property(spark: SparkSession, path: str, name: str, value: str) -> None:
    """Set a property of the table at a path, in a commit of its own."""
    try:
        DeltaTable(path).alter.set_table_properties({name: value}, raise_if_not_exists=False)
    except (DeltaError, OSError):
        if is_embedded(spark):
            raise
        spark.sql(f"ALTER TABLE {delta_identifier(path)} SET TBLPROPERTIES ('{name}' = '{value}')")
