"""Java beside a job on Apache Spark: its process ends with the job, and its names are looked up once."""

import atexit
import logging
import os
import subprocess
import sys
from contextlib import suppress
from typing import Any

from pyspark.sql import SparkSession

ENDS_WITHIN = 5.0
"""Seconds that Spark may take to remove its working files; after them its process is killed."""
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


def stop_java_at_exit() -> None:
    """Let Spark remove its working files before the process of the job ends."""
    atexit.register(stop_java)


def stop_java() -> None:
    """End the process of Java that this process has started, if there is one, and wait for it."""
    context = sys.modules.get("pyspark.core.context")
    gateway = context.SparkContext._gateway if context else None
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    if process is None:
        return
    logging.getLogger().addFilter(is_of_another_than_py4j)
    # PySpark's own listener prints a traceback when the other side ends first.
    active = context.SparkContext._active_spark_context if context else None
    if server := getattr(active, "_accumulatorServer", None):
        server.handle_error = lambda *_: None
    process.terminate()
    try:
        process.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(ENDS_WITHIN)


def is_of_another_than_py4j(record: logging.LogRecord) -> bool:
    """Whether a record of the log of all is none of py4j's.

    What still speaks to Java when its process ends fails, and py4j logs that with a traceback.
    """
    return f"{os.sep}py4j{os.sep}" not in record.pathname
