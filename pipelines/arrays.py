"""Questions to arrays, nearly all of which have one element or none.

Spark interprets a function that takes a lambda, value by value and row by row; for all else it makes code.
So each of these asks an only element directly and leaves longer arrays to Spark's function. The answers are
those of `F.exists`, `F.filter` and `F.transform`; benchmarks/README.md has what it is worth.
"""

from collections.abc import Callable

from pyspark.sql import Column, functions as F


def any_of(array: Column, holds: Callable[[Column], Column]) -> Column:
    """Whether something holds for any element; null where it holds for none and is null for one."""
    return (
        F.when(F.size(array) == 0, F.lit(False))
        .when(F.size(array) == 1, holds(_only(array)))
        .otherwise(F.exists(array, holds))
    )


def those_of(array: Column, holds: Callable[[Column], Column]) -> Column:
    """The elements for which something holds, in their order."""
    return (
        F.when((F.size(array) == 0) | ((F.size(array) == 1) & holds(_only(array))), array)
        .when(F.size(array) == 1, F.slice(array, 1, 0))
        .otherwise(F.filter(array, holds))
    )


def each_of(array: Column, made: Callable[[Column], Column]) -> Column:
    """What is made of each element, in their order."""
    return F.when(F.size(array) == 1, F.array(made(_only(array)))).otherwise(F.transform(array, made))


def _only(array: Column) -> Column:
    return F.get(array, F.lit(0))
