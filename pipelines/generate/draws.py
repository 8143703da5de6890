"""Repeatable chance: a draw is a hash of the seed, a purpose and ids, so it is the same on every machine."""

from dataclasses import dataclass
from hashlib import blake2b

from pyspark.sql import Column, functions as F

HASH_BITS = 53
"""Bits of a hash that a double holds exactly."""


@dataclass(frozen=True)
class Draws:
    """Draws of one seed; two draws are independent if their purpose or their ids differ.

    Attributes:
        seed: what makes two logs of the same shape different.
    """

    seed: int

    def salt(self, purpose: str) -> int:
        """A 64-bit number of the seed and a purpose."""
        digest = blake2b(f"{self.seed}/{purpose}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    def number(self, purpose: str, *ids: Column) -> Column:
        """A 64-bit integer."""
        return F.xxhash64(F.lit(self.salt(purpose)), *ids)

    def uniform(self, purpose: str, *ids: Column) -> Column:
        """A double in [0, 1)."""
        return F.shiftrightunsigned(self.number(purpose, *ids), 64 - HASH_BITS) * F.lit(2.0**-HASH_BITS)

    def chance(self, share: float | Column, purpose: str, *ids: Column) -> Column:
        """Whether something happens that happens in `share` of all cases."""
        return self.uniform(purpose, *ids) < share

    def below(self, limit: int | Column, purpose: str, *ids: Column) -> Column:
        """An integer in [0, limit)."""
        return F.floor(self.uniform(purpose, *ids) * limit)

    def uuid(self, purpose: str, *ids: Column) -> Column:
        """An id in the form of a UUID, in capitals as SQL Server prints it."""
        high = F.lpad(F.hex(self.number(f"{purpose}/high", *ids)), 16, "0")
        low = F.lpad(F.hex(self.number(f"{purpose}/low", *ids)), 16, "0")
        return F.concat_ws(
            "-",
            F.substring(high, 1, 8),
            F.substring(high, 9, 4),
            F.substring(high, 13, 4),
            F.substring(low, 1, 4),
            F.substring(low, 5, 12),
        )

    def python_uniform(self, purpose: str, *ids: object) -> float:
        """A float in [0, 1) without Spark, for the small tables that are made up in the driver."""
        return (self.salt("/".join([purpose, *map(str, ids)])) + 2**63) / 2**64

    def python_below(self, limit: int, purpose: str, *ids: object) -> int:
        """An integer in [0, limit) without Spark."""
        return min(int(self.python_uniform(purpose, *ids) * limit), limit - 1)
