"""Count pairs of messages in two orders: from arrays, without a join."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, Window, functions as F, types as T

MESSAGES_PER_ORDER = 10


def rank_overtaken(
    messages: DataFrame,
    *,
    within: Sequence[str],
    most: int = MESSAGES_PER_ORDER,
    also: Sequence[str] = (),
) -> DataFrame:
    """Rank the messages by the number of later messages before them: the starvation report.

    Args:
        messages: `read_open` of one as_of; those without a position are left out.
        within: what has one order: the queue's three columns, or instance.
        most: how many messages to report of each order.
        also: further columns to report.

    Returns:
        The columns of `within`, `message_id`, `position`, `since`, those of `also`, and `passed_by`: how many
        messages stand before it and came later, by time alone. Only those that are passed at all, the most
        overtaken first in each combination, ties by position; `place` counts them from 1.

    No SQL expression counts these pairs in n log n, so numpy does, from columns of numbers. A queue with ten
    million messages takes some 700 MB in one Python worker. One call has all orders of a partition.
    """
    placed = messages.where("position is not null")
    came = placed.select(*within, "position", F.unix_micros("since").alias("came"))
    counted = T.StructType(
        [
            *[T.StructField(name, T.StringType()) for name in within],
            T.StructField("position", T.LongType()),
            T.StructField("passed_by", T.LongType()),
        ]
    )

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        encoded = [_encode(batch, within) for batch in batches if batch.num_rows]
        if encoded:
            yield from _rank_passed(pa.Table.from_batches(encoded), within, most)

    found = came.repartition(*within).mapInArrow(count, counted)
    by_passed = Window.partitionBy(*within).orderBy(F.desc("passed_by"), "position")
    return (
        placed.select(*within, "position", "message_id", "since", *also)
        .join(F.broadcast(found), [*within, "position"])
        .withColumn("place", F.row_number().over(by_passed))
    )


def _encode(batch: pa.RecordBatch, within: Sequence[str]) -> pa.RecordBatch:
    """The batch with its names as numbers: they repeat in every row."""
    names = [batch[name].cast(pa.string()).dictionary_encode() for name in within]
    return pa.record_batch([*names, batch["position"], batch["came"]], [*within, "position", "came"])


def _rank_passed(rows: pa.Table, within: Sequence[str], most: int) -> Iterator[pa.RecordBatch]:
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
    # No message is overtaken where all arrived in the order of the positions.
    steps_back = np.flatnonzero((np.diff(came) < 0) & (np.diff(numbers) == 0))
    for which in np.unique(np.searchsorted(starts, steps_back, side="right") - 1):
        start = starts[which]
        end = starts[which + 1] if which + 1 < len(starts) else len(numbers)
        passed = count_later_before(came[start:end])
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


def count_later_before(came: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
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


def group_by_key(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[list[str], npt.NDArray[np.int64]]]:
    """Yield each key of a table with the indices of its rows; takes one sort."""
    keys = [rows[name].combine_chunks().cast(pa.string()).dictionary_encode() for name in names]
    numbers = np.zeros(rows.num_rows, dtype=np.int64)
    for key in keys:
        numbers = numbers * len(key.dictionary) + key.indices.to_numpy()
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        own = order[start:end]
        yield [key.dictionary[key.indices[own[0]].as_py()].as_py() for key in keys], own


def count_passed_by_level(
    after: npt.NDArray[np.int64], levels: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Count pairs by (level that passes, level that is passed).

    Args:
        after: positions afterwards, in the order of those before.
        levels: from 0, in the same order.

    Goes through the bits of the ranks from the highest to the lowest. Two messages whose ranks first differ
    in a bit are in the same stretch there: the pair is counted at that bit and at no other.
    """
    ranks_after = np.empty(len(after), dtype=np.int64)
    ranks_after[np.argsort(after, kind="stable")] = np.arange(len(after))
    count = int(levels.max(initial=0)) + 1
    found = np.zeros((count, count), dtype=np.int64)
    present = np.unique(levels)
    for bit in reversed(range(max(1, int(len(after) - 1).bit_length()))):
        # Stretches that agree in all higher bits, each still in the order before.
        order = np.argsort(ranks_after >> (bit + 1), kind="stable")
        stretch = (ranks_after >> (bit + 1))[order]
        is_high = ((ranks_after >> bit) & 1)[order] == 1
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
