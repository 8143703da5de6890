"""Pairs that stand in the other order afterwards, counted by their levels and never joined."""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa


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
