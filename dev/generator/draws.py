"""Repeatable chance: a draw is a hash of the seed, a purpose and ids, so it is the same on every machine."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from dev.generator import hashing
from dev.generator.frame import Array

HASH_BITS = 53
"""Bits of a hash that a double holds exactly."""


@dataclass(frozen=True)
class Draws:
    """Draws of one seed; two draws are independent if their purpose or their ids differ.

    Ids are arrays of 64-bit or 32-bit integers, booleans or texts (bytes, see `ids.text`), or one text for
    all rows. A 64-bit number and the same in 32 bits are two ids.

    Attributes:
        seed: what makes two logs of the same shape different.
    """

    seed: int

    def salt(self, purpose: str) -> int:
        """A 64-bit number of the seed and a purpose."""
        digest = blake2b(f"{self.seed}/{purpose}".encode(), digest_size=8).digest()
        return int.from_bytes(digest, "big", signed=True)

    def number(self, purpose: str, *ids: Array | str) -> Array:
        """A 64-bit integer, unsigned."""
        number = hashing.of_long(np.array([self.salt(purpose)]), hashing.SEED)
        for id_ in ids:
            if isinstance(id_, str):
                number = hashing.of_text(np.frombuffer(id_.encode(), dtype=np.uint8)[None, :], number)
            elif id_.ndim == 2:
                number = hashing.of_text(id_, number)
            elif id_.dtype == np.int64:
                number = hashing.of_long(id_, number)
            else:
                number = hashing.of_int(id_, number)
        return number

    def uniform(self, purpose: str, *ids: Array | str) -> Array:
        """A double in [0, 1)."""
        return (self.number(purpose, *ids) >> np.uint64(64 - HASH_BITS)) * 2.0**-HASH_BITS

    def chance(self, share: float | Array, purpose: str, *ids: Array | str) -> Array:
        """Whether something happens that happens in `share` of all cases."""
        happens: Array = self.uniform(purpose, *ids) < share
        return happens

    def below(self, limit: int | Array, purpose: str, *ids: Array | str) -> Array:
        """An integer in [0, limit)."""
        return (self.uniform(purpose, *ids) * limit).astype(np.int64)

    def id(self, purpose: str, *ids: Array | str) -> Array:
        """An id in the form of a UUID: the pairs of numbers that `ids.text` writes."""
        return np.stack([self.number(f"{purpose}/{half}", *ids) for half in ("high", "low")], axis=1)

    def python_uniform(self, purpose: str, *ids: object) -> float:
        """A float in [0, 1) for the small tables that are made up one by one."""
        return (self.salt("/".join([purpose, *map(str, ids)])) + 2**63) / 2**64

    def python_below(self, limit: int, purpose: str, *ids: object) -> int:
        """An integer in [0, limit), by the same rules."""
        return min(int(self.python_uniform(purpose, *ids) * limit), limit - 1)
