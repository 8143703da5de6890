"""The starvation report: messages that stand behind messages which came later."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, Window, functions as F, types as T

MOST = 10


def most_overtaken(schedule: DataFrame, *, within: Sequence[str], since: str, most: int = MOST) -> DataFrame:
    """The messages that most later ones go before.

    Args:
        schedule: rows of `receive_schedule` or `transmission_schedule` of one as_of; those without a
            position are left out.
        within: what has one order: the queue's three columns, or instance.
        since: when a message came: arrived_at or sendable_at.
        most: how many messages to report of each order.

    Returns:
        The columns of `within`, `message_id`, `position`, `since`, and `passed_by`: how many messages
        stand before it and came later, by time alone. Only those that are passed at all, the most
        overtaken first in each combination, ties by position; `place` counts them from 1.

    To count these pairs is to sort by one order while looking at the other one, which no expression
    does for a large queue: each order goes through numpy, as two columns of numbers. Of a queue
    with ten million messages that is some 500 MB in one Python worker.
    Source: our choice.
    """
    placed = schedule.where("position is not null")
    came = placed.select(*within, "position", F.unix_micros(since).alias("came"))
    names = [came.schema[name] for name in within]
    counted = T.StructType(
        [*names, T.StructField("position", T.LongType()), T.StructField("passed_by", T.LongType())]
    )

    def count(key: tuple[Any, ...], batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches(list(batches)).select(["position", "came"])
        position = table["position"].to_numpy()
        order = np.argsort(position)
        position, passed = position[order], later_before(table["came"].to_numpy()[order])
        first = np.lexsort((position, -passed))[:most]
        first = first[passed[first] > 0]
        yield pa.record_batch(
            [
                *[pa.array([part.as_py()] * len(first), pa.string()) for part in key],
                pa.array(position[first], pa.int64()),
                pa.array(passed[first], pa.int64()),
            ],
            names=counted.names,
        )

    found = came.groupBy(*within).applyInArrow(count, counted)
    by_passed = Window.partitionBy(*within).orderBy(F.desc("passed_by"), "position")
    return (
        placed.select(*within, "position", "message_id", since)
        .join(F.broadcast(found), [*within, "position"])
        .withColumn("place", F.row_number().over(by_passed))
    )


def later_before(came: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """For each element, how many elements before it are greater.

    Blocks of 1, 2, 4, ... are merged pairwise: what an element of a right half finds greater in its left
    half is counted once, at the one level where the two meet.
    """
    _, ranks = np.unique(came, return_inverse=True)
    size = len(ranks)
    passed = np.zeros(size, dtype=np.int64)
    index = np.arange(size)
    width = 1
    while width < size:
        pair = index // (2 * width)
        is_right = (index // width) % 2 == 1
        # One sorted row of keys for all left halves: first by pair, then by rank.
        keys = pair * (size + 1) + ranks
        left = np.sort(keys[~is_right])
        up_to_own = np.searchsorted(left, keys[is_right], side="right")
        through_pair = np.searchsorted(left, (pair[is_right] + 1) * (size + 1), side="left")
        passed[is_right] += through_pair - up_to_own
        width *= 2
    return passed
