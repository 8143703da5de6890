"""Which levels pass which: pairs of ready messages that stand in the other order afterwards."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql import DataFrame, functions as F

from schemas.keys import QUEUE
from schemas.whatif import WHATIF_PAIRS

LEVELS = 11
"""Levels count from 1 to 10."""


def pairs(moved: DataFrame) -> DataFrame:
    """The table `whatif_pairs`.

    Args:
        moved: `whatif_messages`.

    Pairs are counted and never joined: the positions of a queue go through numpy as columns of numbers, in
    time n log n. A queue is one task, with some 100 bytes a message. Queues in which nothing moves are left
    out before. Source: our choice.
    """
    rows = moved.where("kind = 'receive' and moved is not null")
    changed = rows.where("moved <> 0").select(*QUEUE).distinct()
    asked = rows.join(F.broadcast(changed), QUEUE, "left_semi").select(
        *QUEUE, "position_before", "position_after", "level_before"
    )
    counted = ", ".join(f"{column.name} {column.type}" for column in WHATIF_PAIRS.columns)
    return asked.repartition(*QUEUE).mapInArrow(_count, counted)


def _count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count the pairs of each queue of a partition."""
    whole = [batch for batch in batches if batch.num_rows]
    if not whole:
        return
    rows = pa.Table.from_batches(whole)
    names = [rows[name].combine_chunks().cast(pa.string()).dictionary_encode() for name in QUEUE]
    numbers = np.zeros(rows.num_rows, dtype=np.int64)
    for name in names:
        numbers = numbers * len(name.dictionary) + name.indices.to_numpy()
    columns = [rows[name].to_numpy() for name in ("position_before", "position_after", "level_before")]
    order = np.lexsort((columns[0], numbers))
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for start, end in zip(starts, [*starts[1:], len(order)], strict=True):
        own = order[start:end]
        found = passed_by_level(columns[1][own], columns[2][own])
        passing, passed = np.nonzero(found)
        place = [name.dictionary[name.indices[own[0]].as_py()].as_py() for name in names]
        yield pa.record_batch(
            [
                *[pa.array([name] * len(passing), pa.string()) for name in place],
                pa.array(passing, pa.int32()),
                pa.array(passed, pa.int32()),
                pa.array(found[passing, passed], pa.int64()),
            ],
            names=WHATIF_PAIRS.names,
        )


def passed_by_level(after: npt.NDArray[np.int64], levels: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """Count pairs by (level that passes, level that is passed).

    Args:
        after: positions afterwards, in the order of those before.
        levels: 1 to 10, in the same order.

    The bits of the places are looked at from the highest to the lowest. Two messages whose places first
    differ in a bit stand in the same stretch there: the pair is counted at that bit and at no other.
    """
    places = np.empty(len(after), dtype=np.int64)
    places[np.argsort(after, kind="stable")] = np.arange(len(after))
    found = np.zeros((LEVELS, LEVELS), dtype=np.int64)
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
                level[~is_high], weights=overtaken[~is_high], minlength=LEVELS
            ).astype(np.int64)
    return found
