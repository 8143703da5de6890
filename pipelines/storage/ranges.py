"""Few ranges of many values: conditions that pass over files and do not grow with the values.

Engines walk through a condition by recursion, so none may have a part for each of the values. Where
replacing rows needs a condition, a join can't take its place: a range replaces what lies between, too, by
the same rows.
"""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import reduce
from itertools import pairwise
from operator import or_
from typing import TypeVar

from pyspark.sql import Column, functions as F

MOST = 20
"""Ranges of a condition."""

T = TypeVar("T", bound=date)


def few_ranges(values: Iterable[T], step: timedelta = timedelta()) -> list[tuple[T, T]]:
    """The first and last values of at most MOST ranges, which leave out the widest gaps between values.

    Args:
        values: up to MOST of them are ranges of their own.
        step: values no further apart are in one range.
    """
    ordered = sorted(set(values))
    gaps: dict[int, timedelta] = {
        place: later - earlier for place, (earlier, later) in enumerate(pairwise(ordered), 1)
    }
    widest = sorted((place for place in gaps if gaps[place] > step), key=lambda place: -gaps[place])
    cuts = [0, *sorted(widest[: MOST - 1]), len(ordered)]
    return [(ordered[begin], ordered[end - 1]) for begin, end in pairwise(cuts) if ordered]


def in_ranges(name: str, ranges: Sequence[tuple[datetime, datetime]]) -> Column:
    """Whether a time is in one of the ranges, of which there is at least one; their ends belong to them."""
    return reduce(or_, [F.col(name).between(F.lit(first), F.lit(last)) for first, last in ranges])


def of_partitions(partitions: Iterable[tuple[date | None, int]]) -> str:
    """The rows of partitions of a ledger table, as SQL; where these are many, of some between them, too.

    Without BETWEEN, which Delta on Apache Spark can't read in the condition of a write.

    Args:
        partitions: (closed_on, fold); at least one. If closed_on is null, all open rows are meant.
    """
    folds: dict[date, list[int]] = {}
    has_open = False
    for day, fold in partitions:
        if day is None:
            has_open = True
        else:
            folds.setdefault(day, []).append(fold)
    conditions = ["closed_on IS NULL"] if has_open else []
    for first, last in few_ranges(folds):
        there = [fold for day, each in folds.items() if first <= day <= last for fold in each]
        days = f"closed_on >= DATE'{first}' AND closed_on <= DATE'{last}'"
        conditions.append(f"({days} AND fold >= {min(there)} AND fold <= {max(there)})")
    return " OR ".join(conditions)
