"""Whether new rows are in many small files, as a stream writes them, and the engine is slow to open these."""

from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from pipelines.engine.session import is_embedded
from pipelines.storage.inputs.delta_log import new_sizes
from pipelines.storage.inputs.listing import InputFile

MANY_FILES = 64
SMALL_FILE = 1 << 20
"""More files than that, of fewer bytes each on average, are many small files (our choice)."""


def are_slow_to_open(spark: SparkSession, files: Sequence[InputFile]) -> bool:
    """Whether to open the files again takes longer than to keep their rows.

    Apache Spark reads many small files in one task, and is quicker to read 100 of them again than to keep
    their rows; with 1,500 of them it makes little difference.
    """
    if not is_embedded(spark):
        return False
    sizes = list(_sizes(files))
    return len(sizes) > MANY_FILES and sum(sizes) < SMALL_FILE * len(sizes)


def _sizes(files: Sequence[InputFile]) -> Iterator[int]:
    for file in files:
        if file.version is not None:
            yield from new_sizes(file.path, file.since, file.version)
        elif file.length is not None:
            yield file.length
