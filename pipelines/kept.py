"""Rows that several questions are asked of."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import StorageLevel
from pyspark.sql import DataFrame


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """Read the rows once, with the first question, and answer all later ones from a copy on local disk."""
    copy = rows.persist(StorageLevel.DISK_ONLY)
    try:
        yield copy
    finally:
        copy.unpersist()
