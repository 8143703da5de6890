"""Tasks that run concurrently."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, overload

from pyspark.sql import SparkSession

from pipelines.engine.session import is_classic, is_embedded

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
EMBEDDED_TASKS = 2
"""Tasks that the embedded engine runs side by side."""


@overload
def run_concurrently(spark: SparkSession, one: Callable[[], A], other: Callable[[], B], /) -> tuple[A, B]: ...
@overload
def run_concurrently(
    spark: SparkSession, one: Callable[[], A], other: Callable[[], B], third: Callable[[], C], /
) -> tuple[A, B, C]: ...
@overload
def run_concurrently(spark: SparkSession, *tasks: Callable[[], T]) -> tuple[T, ...]: ...
def run_concurrently(spark: SparkSession, *tasks: Callable[[], object]) -> tuple[object, ...]:
    """Run independent tasks concurrently, and return their results in the order of the tasks.

    A small night is mostly planning and bookkeeping, which use one core each; a large night has phases that
    use one core. The embedded engine runs two tasks at a time, as each takes its share of the memory.

    Raises:
        Exception: the error of the first failed task in their order, after all running tasks have ended.
    """
    if is_classic(spark):
        from pyspark import inheritable_thread_target

        tasks = tuple(inheritable_thread_target(spark)(task) for task in tasks)
    at_once = EMBEDDED_TASKS if is_embedded(spark) else max(1, len(tasks))
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        running = [pool.submit(task) for task in tasks]
    return tuple(done.result() for done in running)
