"""Apache Spark for little work: what pays off over millions of rows makes a small night slower."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from pipelines.engine.session import is_classic

LITTLE = {
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


def expect_little(spark: SparkSession) -> None:
    """Make this session quick at small frames, and slow at large ones; results are the same.

    A server that SPARK_REMOTE names keeps its own settings, and the embedded engine has none of these.
    """
    if is_classic(spark):
        for name, value in LITTLE.items():
            spark.conf.set(name, value)


@contextmanager
def expecting_little(spark: SparkSession) -> Iterator[None]:
    """Expect little inside of the block, and then what was expected before."""
    before = {name: str(spark.conf.get(name)) for name in LITTLE} if is_classic(spark) else {}
    expect_little(spark)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def expects_little(spark: SparkSession) -> bool:
    """Whether this is a session of `expect_little`."""
    return is_classic(spark) and all(spark.conf.get(name) == LITTLE[name] for name in LITTLE)


def in_one_task(rows: DataFrame) -> DataFrame:
    """The rows, read by one task where little is expected: to join or group them then needs no shuffle."""
    return rows.coalesce(1) if expects_little(rows.sparkSession) else rows


def kept_if_little(rows: DataFrame, keep: Callable[[DataFrame], DataFrame]) -> DataFrame:
    """Rows of the ledger that several queries read, kept first where little is expected.

    To Apache Spark, which files of a Delta table a query reads is a query of its own. Where rows are few,
    that takes longer than to read them.
    """
    return keep(rows) if expects_little(rows.sparkSession) else rows
