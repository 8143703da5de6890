"""Names of Java's classes and methods, which a job on Apache Spark looks up once."""

from typing import Any

from pyspark.sql import SparkSession

OFTEN_CALLED = ("functions", "org.apache.spark.sql.functions", "PythonUtils")
"""The classes that PySpark calls for each column, by the names that it has for them."""


class _Names:
    """A class of Java whose methods are looked up once."""

    def __init__(self, java_class: Any) -> None:
        self._java_class = java_class

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._java_class, name)
        setattr(self, name, method)
        return method


def look_up_names_once(spark: SparkSession) -> None:
    """Let PySpark remember the classes and methods that it calls for each column.

    By default it asks Java for both before each call, which is a third of what it says to Java in a night.
    For a class without its package, Java looks into all jars.
    """
    view = spark.sparkContext._jvm
    for name in OFTEN_CALLED:
        if name not in vars(view):
            setattr(view, name, _Names(getattr(view, name)))
