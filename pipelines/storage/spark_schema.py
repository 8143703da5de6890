"""Schemas of Spark's catalog: where their tables lie, and the names they go by."""

from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError
from pipelines.config.model import SparkSchema
from pipelines.config.nearest import suggest_nearest


def folder_of(spark: SparkSession, schema: SparkSchema) -> str:
    """Find the folder in which a schema's tables lie: its location, as a path that Spark reads.

    Raises:
        ConfigError: the session's catalog has no such schema, or says no location.
    """
    try:
        location = spark.catalog.getDatabase(str(schema)).locationUri
    except AnalysisException as error:
        if error.getCondition() != "SCHEMA_NOT_FOUND":
            raise
        raise ConfigError(f"warehouse: there is no schema {schema}; {_what_to_do(spark, schema)}") from error
    if not location:
        raise ConfigError(f"warehouse: the schema {schema} has no location; name one that has, or a folder")
    # A URI has spaces as %20, and paths have them as they are.
    return unquote(location)


def register(spark: SparkSession, schema: SparkSchema, name: str, path: str) -> None:
    """Give the Delta table at the path a name in the schema, if the schema has none of that name.

    The name points to the path: DROP TABLE takes the name away, not the rows.
    """
    text = path.replace("\\", "\\\\").replace("'", "\\'")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {schema}.`{name}` USING delta LOCATION '{text}'")


def table_names(spark: SparkSession, schema: SparkSchema) -> set[str]:
    """The names that the schema has."""
    return {row.tableName for row in spark.sql(f"SHOW TABLES IN {schema}").collect()}


def _what_to_do(spark: SparkSession, schema: SparkSchema) -> str:
    read = "docs/running.md, Tables by name"
    if schema.catalog != "spark_catalog":
        return f"correct the name, or CREATE SCHEMA {schema} first ({read})"
    if spark.conf.get("spark.sql.catalogImplementation") != "hive":
        return f"this session has no metastore: it lacks spark.sql.catalogImplementation=hive ({read})"
    known = suggest_nearest(schema.schema_name, sorted(each.name for each in spark.catalog.listDatabases()))
    return f"{known}, or CREATE SCHEMA {schema} first ({read})"
