"""The causes of a message as one number: bit n is set if the cause at place n of CODES holds.

A number takes a quarter of the time of an array of codes to compute, write and read.
"""

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column, functions as F

from pipelines.why.causes import CAUSES, CODES


def find_causes() -> Column:
    """The bits of the causes whose conditions hold, over the rows of `explained_rows`; a bigint."""
    of_causes = [
        F.when(F.expr(cause.holds), _number(bits_of([cause.code]))).otherwise(_number(0)) for cause in CAUSES
    ]
    return reduce(Column.bitwiseOR, of_causes)


def has_any(codes: Iterable[str]) -> Column:
    """Whether the column `causes` has one of these causes."""
    return F.col("causes").bitwiseAND(_number(bits_of(codes))) != 0


def bits_of(codes: Iterable[str]) -> int:
    """The bits of causes."""
    return sum(1 << CODES.index(code) for code in set(codes))


def codes_of(bits: int) -> list[str]:
    """The causes whose bits are set, in the order of CODES."""
    return [code for place, code in enumerate(CODES) if bits >> place & 1]


def _number(bits: int) -> Column:
    return F.lit(bits).cast("bigint")
