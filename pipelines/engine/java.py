"""The process of Java that belongs to a job on Apache Spark; it ends with the job."""

import atexit
import logging
import os
import subprocess
import sys
from contextlib import suppress

ENDS_WITHIN = 5.0
"""Seconds that Spark may take to remove its working files; after them its process is killed."""


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
