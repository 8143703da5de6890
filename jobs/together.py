"""Work that need not wait for each other."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from pyspark import inheritable_thread_target
from pyspark.sql import SparkSession

T = TypeVar("T")


def together(spark: SparkSession, *tasks: Callable[[], T]) -> list[T]:
    """Run tasks side by side, for instance writes of different tables.

    A small night is planning and bookkeeping for the most part, which use one core each; a large one
    shares the cores as Spark's scheduler does.

    Args:
        spark: the session.
        tasks: functions; none may depend on another's result.

    Returns:
        What they return, in their order.

    Raises:
        Exception: what the first failing one in their order raised, once all have ended.
    """
    with ThreadPoolExecutor(max_workers=max(1, len(tasks))) as pool:
        running = [pool.submit(inheritable_thread_target(spark)(task)) for task in tasks]
    return [done.result() for done in running]
