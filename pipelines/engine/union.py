"""Many frames as one."""

from collections.abc import Sequence

from pyspark.sql import DataFrame


def union_all(frames: Sequence[DataFrame]) -> DataFrame:
    """The rows of all frames, which have the same columns in any order; at least one frame.

    As a tree of unions: engines walk through plans by recursion, and the embedded one ends, without a word,
    at a chain of some two hundred.
    """
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return union_all(frames[:half]).unionByName(union_all(frames[half:]))
