"""Apache Spark in this process: set as for users on one machine, and quicker at tiny jobs."""

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.engine.small_jobs import SMALL_JOB_SETTINGS, set_for_small_jobs
from tools.local_spark import ARCHIVE, SHARED

ROOT = Path(__file__).resolve().parents[2]
QUICK = {
    "spark.driver.memory": "3g",
    # To compile tiny jobs well costs more than to run them badly.
    "spark.driver.extraJavaOptions": " ".join(
        ["-XX:TieredStopAtLevel=1 -Djava.net.preferIPv4Stack=true", *([SHARED] if ARCHIVE.exists() else [])]
    ),
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "true",
    # Every broadcast table takes a page, and every path keeps its Delta log: of hundreds of warehouses
    # they filled the heap until the context stopped in the middle of the run.
    "spark.buffer.pageSize": "1m",
    "spark.databricks.delta.delta.log.cacheSize": "20",
    "spark.sql.ui.retainedExecutions": "100",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    "spark.ui.retainedTasks": "1000",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
"""What the tests set beside conf/spark/local.conf."""
SMALL_JOBS = " ".join(f"--conf {name}={value}" for name, value in SMALL_JOB_SETTINGS.items())
"""What makes a Spark that a shell starts quick at tiny jobs."""


def open_apache_spark() -> SparkSession:
    """Open the session of a process that tests Apache Spark; commands that are called in it take it."""
    os.environ["ENGINE"] = "spark"
    # Python workers need what the tests have.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jars = ",".join(map(str, sorted((ROOT / ".jars").glob("*.jar"))))
    builder = SparkSession.builder.master("local[2]").appName("tests").config("spark.jars", jars)
    for name, value in (_profile() | QUICK).items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    # As the nights of the tests have it, and not only from the first of them on.
    set_for_small_jobs(session)
    return session


def _profile() -> dict[str, str]:
    """The settings of a user's own machine."""
    lines = (ROOT / "conf" / "spark" / "local.conf").read_text("utf-8").splitlines()
    settings = [line.split(None, 1) for line in lines if line and not line.startswith("#")]
    return {name: value.strip() for name, value in settings}
