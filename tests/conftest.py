"""One Spark session for all tests, small and quick to start."""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

# Before Spark starts: naive datetimes of collected rows are UTC then.
os.environ["TZ"] = "UTC"
time.tzset()
# Python workers need what the tests have.
os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession  # noqa: E402

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session with Delta: two cores, few partitions, no web server."""
    session = (
        SparkSession.builder.master("local[2]")
        .appName("tests")
        .config("spark.jars", ",".join(str(jar) for jar in sorted((ROOT / ".jars").glob("*.jar"))))
        .config("spark.driver.memory", "2g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        # The tests are many tiny jobs: compiling them well costs more than running them badly. All that
        # generated code needs room: the JVM throws code away and makes it anew where it has little.
        .config(
            "spark.driver.extraJavaOptions",
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseParallelGC "
            "-Djava.net.preferIPv4Stack=true",
        )
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.optimizer.canChangeCachedPlanOutputPartitioning", "true")
        .config("spark.buffer.pageSize", "8m")
        .config("spark.sql.codegen.cache.maxEntries", "5000")
        .config("spark.sql.sources.parallelPartitionDiscovery.parallelism", "2")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
