"""Differences between the engines: materialized frames, concurrent tasks, and writes to tables."""

import logging
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar, overload
from uuid import uuid4

import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession, functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import MapType

from pipelines.engine.files import literal_paths, local_folder_path
from pipelines.engine.scratch import local_scratch
from pipelines.engine.session import is_classic, is_embedded
from pipelines.engine.small_jobs import read_in_one_task

T = TypeVar("T")
A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
log = logging.getLogger(__name__)

Materialize = Callable[[DataFrame], DataFrame]
"""Computes a frame once for all later queries; see `materialized`."""


@contextmanager
def materialized(rows: DataFrame, scratch: str) -> Iterator[DataFrame]:
    """Compute the rows once for all queries inside the block.

    The rows are written as Parquet files, which are deleted with the block. Later plans start at the files,
    as plans that contain earlier plans grow without bound. A query reads only the columns it needs, and knows
    the size of the files, so small frames are broadcast to joins. `localCheckpoint` of Apache Spark holds
    whole rows in memory, estimates their size from their origin, and loses them with an executor.

    Args:
        rows: any frame.
        scratch: a folder that all of a cluster can read and write; on one machine the local disk is taken.
    """
    spark = rows.sparkSession
    local = local_scratch() / str(uuid4()) if is_on_this_machine(spark) else None
    folder = f"{scratch}/{uuid4()}" if local is None else local_folder_path(spark, local)
    try:
        rows.write.mode("overwrite").parquet(f"{folder}/rows")
        # A frame without rows may leave no file to take the schema from. To ask for it is to plan once more.
        if local is None or not is_embedded(spark):
            reader = spark.read.schema(rows.schema)
        else:
            reader = spark.read
            if not (local / "rows").is_dir():
                _write_no_rows(local / "rows", rows)
        yield read_in_one_task(reader.parquet(*literal_paths(spark, [f"{folder}/rows"])))
    finally:
        _remove(folder if local is None else str(local))


def _write_no_rows(folder: Path, rows: DataFrame) -> None:
    """Write the file that the embedded engine leaves out where a frame has no rows.

    It gives the columns of a declared schema other metadata than those of a file, and an aggregation over the
    union of both fails.
    """
    folder.mkdir(parents=True)
    pq.write_table(to_arrow_schema(rows.schema, timezone="UTC").empty_table(), folder / "none.parquet")


def materialize_selections(rows: DataFrame, materialize: Materialize) -> DataFrame:
    """Materialize selections from materialized rows, where the engine needs it.

    On Apache Spark, selecting again costs less than a copy. The embedded engine takes much more memory to
    sort rows that do not come from files, and can run out of it.
    """
    return materialize(rows) if is_embedded(rows.sparkSession) else rows


def is_on_this_machine(spark: SparkSession) -> bool:
    """Whether all that the engine does is done on this machine."""
    return is_embedded(spark) or (
        is_classic(spark) and str(spark.conf.get("spark.master", "")).startswith("local")
    )


def _remove(folder: str) -> None:
    """Remove a folder of the local disk or of a file system that has a URI; what stays is no table."""
    try:
        if "://" in folder or folder.startswith("file:"):
            system, path = fs.FileSystem.from_uri(folder.replace("s3a://", "s3://", 1))
            system.delete_dir(path)
        else:
            shutil.rmtree(folder)
    except FileNotFoundError:
        # Of no rows the embedded engine writes nothing.
        return
    except (OSError, ValueError) as error:
        log.info("%s could not be removed: %s", folder, error)


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


def check_constraints_last(rows: DataFrame) -> DataFrame:
    """The rows, so that a table's CHECKs are tested on these and no others.

    The embedded engine tests them as early as it can, also on rows that an anti join leaves out later, and
    then refuses the write. It does not move the test past a repartition. A coalesce would do as
    well, but takes up its inputs one after the other, where a hash join waits for all of them: for ever.
    """
    return rows.repartition(os.cpu_count() or 1) if is_embedded(rows.sparkSession) else rows


def with_nullable_values(rows: DataFrame) -> DataFrame:
    """The rows with maps whose values may be null, as tables declare them.

    Apache Spark writes files that say otherwise if a plan knows better, which the embedded engine does not
    read. It simplifies casts away, so the maps go by way of JSON; maps are in small tables only.
    """
    if is_embedded(rows.sparkSession):
        return rows
    maps = {field.name: field.dataType for field in rows.schema if isinstance(field.dataType, MapType)}
    text = {name: F.from_json(F.to_json(name), found.simpleString()) for name, found in maps.items()}
    return rows.withColumns(text) if maps else rows


def identifier_of_new(spark: SparkSession, path: str) -> str:
    """How CREATE TABLE names a Delta table at a path.

    Apache Spark knows a table by its path. The embedded engine wants a name, which it forgets with the
    session; the path follows as LOCATION.
    """
    if is_embedded(spark):
        return f"t{blake2b(path.encode(), digest_size=16).hexdigest()}"
    return f"delta.`{path.replace('`', '``')}`"
