"""Physical plans as Spark will run them."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

SINGLE = "Exchange SinglePartition"


@contextmanager
def settings(spark: SparkSession, **changes: str) -> Iterator[None]:
    """Spark SQL settings for a while, named without spark.sql. and with _ for the dots."""
    names = {f"spark.sql.{name.replace('_', '.')}": value for name, value in changes.items()}
    before = {name: str(spark.conf.get(name)) for name in names}
    try:
        for name, value in names.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def operators(frame: DataFrame) -> Counter[str]:
    """The joins and single-partition exchanges of a frame's plan, counted.

    Adaptive execution is off for it: with it, a plan is not final until it has run. With one shuffle
    partition, a plan gathers everything without a step that says so.
    """
    # A new frame of the same query: plans are made once per frame, maybe by now with other settings.
    with settings(frame.sparkSession, adaptive_enabled="false", shuffle_partitions="2"):
        plan = frame.select("*")._jdf.queryExecution().executedPlan().toString()
    return Counter(re.findall(rf"(\w+Join|CartesianProduct|{SINGLE})\b", plan))
