"""What is new in the inputs: a stream that lists files and Delta versions once, and never again.

The files themselves are read as batches (`storage.event_files`): a stream can neither tell a CSV
file's header from the next one's nor check a Parquet file's own schema.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import reduce

from pyspark.sql import DataFrame, SparkSession, functions as F

from pipelines.errors import InputError
from pipelines.settings.model import EventSource
from schemas import CONTRACTS
from storage.event_files import raise_together, read_files, require_columns

FILE_LISTING = "path string, modificationTime timestamp, length bigint, content binary"


def each_new_batch(
    spark: SparkSession,
    inputs: Mapping[str, EventSource],
    checkpoints: str,
    handle: Callable[[Mapping[str, DataFrame]], None],
) -> None:
    """Call `handle` with what is new in each input, and remember it once `handle` has returned.

    If the process dies in between, the next call hands over the same files first: `handle` must be
    idempotent. A planned file that is gone by then is left out. The order is that of the files'
    appearance; one call takes everything that is there.

    Args:
        spark: the session.
        inputs: path and format by input name.
        checkpoints: folder for the bookkeeping. Other inputs get a bookkeeping of their own, and so
            start from the beginning; what was recorded before then counts as duplicate.
        handle: takes, by input name, the frame of `storage.event_files.read_files`.

    Raises:
        InputError: an input is not there, or a file breaks its contract.
    """
    failures: list[BaseException] = []

    def on_batch(batch: DataFrame, _: int) -> None:
        try:
            handle(_frames(spark, inputs, batch))
        except BaseException as error:
            failures.append(error)
            raise

    stream = reduce(
        lambda left, right: left.unionByName(right, allowMissingColumns=True),
        [_listing(spark, source, given) for source, given in inputs.items()],
    )
    query = (
        stream.writeStream.foreachBatch(on_batch)
        .option("checkpointLocation", f"{checkpoints}/{_fingerprint(inputs)}")
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except Exception:
        if failures:
            raise failures[0] from None
        raise
    finally:
        query.stop()


def _listing(spark: SparkSession, source: str, given: EventSource) -> DataFrame:
    """A stream of (source, path) for files, or of (source, one struct with the row) for Delta."""
    try:
        if given.format == "delta":
            rows = spark.readStream.format("delta").option("skipChangeCommits", True).load(given.path)
            require_columns(CONTRACTS[source], rows.schema, given.path)
            return rows.select(
                F.lit(source).alias("source"), F.struct(*CONTRACTS[source].names).alias(source)
            )
        files = (
            spark.readStream.format("binaryFile")
            .schema(FILE_LISTING)
            .option("recursiveFileLookup", True)
            # A file copied with its old date is as new as any other.
            .option("maxFileAge", "36500d")
            .option("ignoreMissingFiles", True)
            .load(given.path)
        )
        return files.select(F.lit(source).alias("source"), "path")
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            f"inputs.{source}: cannot open {given.path} as {given.format}: {_first_line(error)}"
        ) from error


def _frames(spark: SparkSession, inputs: Mapping[str, EventSource], batch: DataFrame) -> dict[str, DataFrame]:
    """What is new by input name; an input without anything new is left out."""
    frames: dict[str, DataFrame] = {}
    paths: dict[str, list[str]] = {}
    if "path" in batch.columns:
        for row in batch.where("path is not null").select("source", "path").collect():
            paths.setdefault(row.source, []).append(row.path)
    problems = []
    for source, given in inputs.items():
        try:
            if given.format == "delta":
                rows = batch.where(F.col("source") == source).select(f"{source}.*")
                frames[source] = read_files(spark, CONTRACTS[source], "delta", [], rows)
            elif source in paths:
                frames[source] = read_files(spark, CONTRACTS[source], given.format, sorted(paths[source]))
        except InputError as error:
            problems.append(str(error))
    raise_together(problems)
    return frames


def _fingerprint(inputs: Mapping[str, EventSource]) -> str:
    named = json.dumps({source: [given.format, given.path] for source, given in sorted(inputs.items())})
    return hashlib.sha256(named.encode()).hexdigest()[:12]


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
