"""Hashes of columns."""

from pyspark.sql import Column, functions as F


def row_hash(first: Column, *others: Column) -> Column:
    """A hash of 8 bytes of these columns; nulls are passed over.

    The embedded engine takes a column for a constant if a Parquet file's statistics say that it has one
    value there (Apache DataFusion, issue 19089), and its hash fails where all it gets are constants: a file
    that had one event, and that twice, stopped the night. An item of an array is never taken for a constant.
    """
    return F.xxhash64(F.array(first)[0], *others)
