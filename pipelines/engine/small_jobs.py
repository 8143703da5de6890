"""Session settings that speed up Spark on small inputs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from pipelines.engine.session import is_classic

SMALL_JOB_SETTINGS = {
    # Expressions are looked up row by row. To write, compile and warm up Java for each query takes longer.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # To evaluate common parts of expressions once takes a cache that is emptied for each row.
    "spark.sql.subexpressionElimination.enabled": "false",
    # A query is one job. To look at sizes between its stages makes a job of each.
    "spark.sql.adaptive.enabled": "false",
    # Other queries run on the other cores.
    "spark.sql.shuffle.partitions": "1",
}


def set_for_small_jobs(spark: SparkSession) -> None:
    """Make this session quick at small frames, and slow at large ones; results are the same.

    A server that SPARK_REMOTE names keeps its own settings, and the embedded engine has none of these.
    """
    if is_classic(spark):
        for name, value in SMALL_JOB_SETTINGS.items():
            spark.conf.set(name, value)


@contextmanager
def small_job_settings(spark: SparkSession) -> Iterator[None]:
    """Use the settings for small jobs inside the block."""
    before = {name: str(spark.conf.get(name)) for name in SMALL_JOB_SETTINGS} if is_classic(spark) else {}
    set_for_small_jobs(spark)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def is_set_for_small_jobs(spark: SparkSession) -> bool:
    """Whether this is a session of `set_for_small_jobs`."""
    return is_classic(spark) and all(
        spark.conf.get(name) == SMALL_JOB_SETTINGS[name] for name in SMALL_JOB_SETTINGS
    )


def read_in_one_task(rows: DataFrame) -> DataFrame:
    """The rows, read by one task in a session for small jobs: joins and groups then need no shuffle."""
    return rows.coalesce(1) if is_set_for_small_jobs(rows.sparkSession) else rows


def materialize_if_small(rows: DataFrame, materialize: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Rows of the ledger that several queries read, materialized in a session for small jobs.

    Apache Spark plans the reading of the ledger again for each query. With few rows, that takes longer than
    to write and read them.
    """
    return materialize(rows) if is_set_for_small_jobs(rows.sparkSession) else rows
