"""One session for all tests of a process: the embedded engine's, or with TEST_ENGINE=spark Apache Spark's.

PySpark speaks to one kind of engine in a process. So the tests run twice: `pytest` runs all of them on the
embedded engine, and `TEST_ENGINE=spark pytest` those marked `spark` on Apache Spark. A test that asks for
the fixture `session` takes either; `embedded` and `spark` are for tests of one engine.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is no fault of a test.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")
# Before an engine starts: naive datetimes of collected rows are UTC then.
os.environ["TZ"] = "UTC"
time.tzset()
# Python workers need what the tests have.
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("ENGINE_MEMORY", "3g")
# A worker of pytest-xdist has a main module without a file, which the client of Spark Connect takes for a
# doctest: it then wants the whole of PySpark.
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = __file__

from pyspark.sql import SparkSession  # noqa: E402

from pipelines.console.invocation import remember_config  # noqa: E402
from pipelines.engine.small_jobs import set_for_small_jobs  # noqa: E402

ROOT = Path(__file__).parent.parent
ON_SPARK = os.environ.get("TEST_ENGINE") == "spark"


ONE_CASE_ON_SPARK = (
    "tests/why",
    "tests/questions",
    "tests/commands/test_questions_of_damaged_tables.py",
    "tests/storage/test_freshness.py",
    "tests/ingest/snapshots",
)
"""Where Apache Spark tries the first case of each test alone: a night takes it a minute."""

ONE_TEST_ON_SPARK = "tests/field/"
"""Where it tries one test of each file: several nights each."""


@pytest.fixture(autouse=True)
def no_command_line() -> None:
    """Commands that are printed name no settings of an earlier test."""
    remember_config(None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the engine of this process is not for."""

    def belongs(item: pytest.Item) -> bool:
        fixtures = getattr(item, "fixturenames", ())
        if ON_SPARK:
            return item.get_closest_marker("spark") is not None and "embedded" not in fixtures
        return "spark" not in fixtures

    kept = [item for item in items if belongs(item)]
    if ON_SPARK:
        tried = set[str]()
        first = []
        for item in kept:
            is_field = item.nodeid.startswith(ONE_TEST_ON_SPARK)
            name = item.nodeid.partition("::" if is_field else "[")[0]
            if not ((is_field or item.nodeid.startswith(ONE_CASE_ON_SPARK)) and name in tried):
                first.append(item)
            tried.add(name)
        kept = first
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


@pytest.fixture(scope="session")
def session() -> Iterator[SparkSession]:
    """The session of this process."""
    if not ON_SPARK:
        from pipelines.engine.session import open_session

        yield open_session("tests")
        return
    opened = _apache_spark()
    yield opened
    opened.stop()


@pytest.fixture(scope="session")
def embedded(session: SparkSession) -> SparkSession:
    """The embedded engine's session; the test does not run on Apache Spark."""
    return session


@pytest.fixture(scope="session")
def spark(session: SparkSession) -> SparkSession:
    """Apache Spark's session; the test does not run on the embedded engine."""
    return session


def _apache_spark() -> SparkSession:
    """A local session with Delta: two cores, few partitions, no web server."""
    # Jobs that a test calls take this session, and do not start the embedded engine beside it.
    os.environ["ENGINE"] = "spark"
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.jars", ",".join(str(jar) for jar in sorted((ROOT / ".jars").glob("*.jar"))))
        .config("spark.driver.memory", "3g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # The tests are many tiny jobs: compiling them well costs more than running them badly.
        .config(
            "spark.driver.extraJavaOptions",
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseParallelGC "
            "-Djava.net.preferIPv4Stack=true",
        )
        # On a machine that sleeps for two minutes, a local Spark loses its only executor, and the JVM ends
        # after sixty heartbeats that nobody answers.
        .config("spark.network.timeout", "1d")
        .config("spark.sql.broadcastTimeout", "12h")
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
        .config("spark.sql.maxConcurrentOutputFileWriters", "8")
        .config("spark.sql.optimizer.canChangeCachedPlanOutputPartitioning", "true")
        # Every broadcast table takes a page, and every path keeps its Delta log: of hundreds of warehouses
        # they filled the heap until the context stopped in the middle of the run.
        .config("spark.buffer.pageSize", "1m")
        .config("spark.databricks.delta.delta.log.cacheSize", "20")
        .config("spark.sql.ui.retainedExecutions", "100")
        .config("spark.ui.retainedJobs", "100")
        .config("spark.ui.retainedStages", "100")
        .config("spark.ui.retainedTasks", "1000")
        .config("spark.sql.codegen.cache.maxEntries", "5000")
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.delta.logStore.file.impl", "io.delta.storage.LocalLogStore")
        .config(
            "spark.sql.streaming.checkpointFileManagerClass",
            "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
        )
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    # As the nights of the tests have it, and not only from the first of them on.
    set_for_small_jobs(session)
    return session
