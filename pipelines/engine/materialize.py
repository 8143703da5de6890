"""Frames that are computed once for several readers."""

import logging
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pyarrow.parquet as pq
from pyarrow import fs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from pipelines.engine.files import literal_paths, local_folder_path
from pipelines.engine.scratch import local_scratch
from pipelines.engine.session import is_classic, is_embedded
from pipelines.engine.small_jobs import read_in_one_task

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
        rows.write.mode("overwrite").options(**_plain_files(spark)).parquet(f"{folder}/rows")
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


def _plain_files(spark: SparkSession) -> dict[str, str]:
    """The options of files that are read once or twice, and then deleted.

    On the embedded engine, message events in plain files take 45 percent less processor time to write and
    half to read, and three times the space.
    """
    return {"compression": "uncompressed", "dictionary_enabled": "false"} if is_embedded(spark) else {}


def _write_no_rows(folder: Path, rows: DataFrame) -> None:
    """Write the file that the embedded engine leaves out where a frame has no rows.

    It gives the columns of a declared schema other metadata than those of a file, and an aggregation over the
    union of both fails.
    """
    folder.mkdir(parents=True)
    pq.write_table(to_arrow_schema(rows.schema, timezone="UTC").empty_table(), folder / "none.parquet")


def materialize_selections(rows: DataFrame, materialize: Materialize) -> DataFrame:
    """Materialize selections from materialized rows, where the engine needs it.

    On Apache Spark, selecting again costs less than a copy, and what a plan has twice is computed once. The
    embedded engine plans and computes it twice; and it takes much more memory to sort rows that do not come
    from files, and can run out of it.
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
