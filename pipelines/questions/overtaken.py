"""Pairs of messages in another order than they came: counted from arrays, never joined."""

from collections.abc import Iterator, Sequence

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
    does for a large queue: the orders go through numpy, as columns of numbers. Of a queue with ten million
    messages that is some 700 MB in one Python worker. A worker takes a whole partition: the embedded engine
    reckons with a copy of its input for every queue that it hands out by itself.
    Source: our choice.
    """
    placed = schedule.where("position is not null")
    came = placed.select(*within, "position", F.unix_micros(since).alias("came"))
    counted = T.StructType(
        [
            *[T.StructField(name, T.StringType()) for name in within],
            T.StructField("position", T.LongType()),
            T.StructField("passed_by", T.LongType()),
        ]
    )

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encoded = [_encoded(batch, within) for batch in batches if batch.num_rows]
        if encoded:
            yield from _most_passed(pa.Table.from_batches(encoded), within, most)

    found = came.repartition(*within).mapInArrow(count, counted)
    by_passed = Window.partitionBy(*within).orderBy(F.desc("passed_by"), "position")
    return (
        placed.select(*within, "position", "message_id", since)
        .join(F.broadcast(found), [*within, "position"])
        .withColumn("place", F.row_number().over(by_passed))
    )


def _encoded(batch: pa.RecordBatch, within: Sequence[str]) -> pa.RecordBatch:
    """The batch with its names as numbers: they repeat in every row."""
    names = [batch[name].cast(pa.string()).dictionary_encode() for name in within]
    return pa.record_batch([*names, batch["position"], batch["came"]], [*within, "position", "came"])


def _most_passed(rows: pa.Table, within: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
    """Yield (*within, position, passed_by) of the most overtaken rows of each order, in no order."""
    rows = rows.unify_dictionaries().combine_chunks()
    names = [rows[name].chunk(0) for name in within]
    numbers = np.zeros(rows.num_rows, dtype=np.int64)
    for name in names:
        numbers = numbers * len(name.dictionary) + name.indices.to_numpy()
    position, came = rows["position"].to_numpy(), rows["came"].to_numpy()
    order = np.lexsort((position, numbers))
    numbers, position, came = numbers[order], position[order], came[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    # Where everybody came in the order of the positions, nobody is overtaken.
    steps_back = np.flatnonzero((np.diff(came) < 0) & (np.diff(numbers) == 0))
    for which in np.unique(np.searchsorted(starts, steps_back, side="right") - 1):
        start = starts[which]
        end = starts[which + 1] if which + 1 < len(starts) else len(numbers)
        passed = later_before(came[start:end])
        first = np.lexsort((position[start:end], -passed))[:most]
        first = first[passed[first] > 0]
        own = order[start]
        yield pa.record_batch(
            [
                *[
                    pa.array([name.dictionary[name.indices[own].as_py()].as_py()] * len(first))
                    for name in names
                ],
                pa.array(position[start:end][first], pa.int64()),
                pa.array(passed[first], pa.int64()),
            ],
            names=[*within, "position", "passed_by"],
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


def by_key(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[list[str], npt.NDArray[np.int64]]]:
    """The keys of a table, each with where its rows are; one sort finds them all."""
    keys = [rows[name].combine_chunks().cast(pa.string()).dictionary_encode() for name in names]
    numbers = np.zeros(rows.num_rows, dtype=np.int64)
    for key in keys:
        numbers = numbers * len(key.dictionary) + key.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        own = order[start:end]
        yield [key.dictionary[key.indices[own[0]].as_py()].as_py() for key in keys], own


def passed_by_level(after: npt.NDArray[np.int64], levels: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Count pairs by (level that passes, level that is passed).

    Args:
        after: positions afterwards, in the order of those before.
        levels: from 0, in the same order.

    The bits of the places are looked at from the highest to the lowest. Two messages whose places first
    differ in a bit stand in the same stretch there: the pair is counted at that bit and at no other.
    """
    places = np.empty(len(after), dtype=np.int64)
    places[np.argsort(after, kind="stable")] = np.arange(len(after))
    count = int(levels.max(initial=0)) + 1
    found = np.zeros((count, count), dtype=np.int64)
    present = np.unique(levels)
    for bit in reversed(range(max(1, int(len(after) - 1).bit_length()))):
        # Stretches that agree in all higher bits, each still in the order before.
        order = np.argsort(places >> (bit + 1), kind="stable")
        stretch = (places >> (bit + 1))[order]
        is_high = ((places >> bit) & 1)[order] == 1
        level = levels[order]
        first = np.searchsorted(stretch, stretch, side="left")
        for passed in present:
            ahead = np.concatenate(([0], np.cumsum(is_high & (level == passed))))
            # Of the messages ahead in the own stretch, those that stand behind afterwards.
            overtaken = ahead[:-1] - ahead[first]
            found[:, passed] += np.bincount(
                level[~is_high], weights=overtaken[~is_high], minlength=count
            ).astype(np.int64)
    return found
