"""Ids in the form of a UUID: pairs of 64-bit numbers, which are 36 characters when they are written."""

import numpy as np

from dev.generator.frame import Array

LENGTH = 36
_GROUPS = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
_FOUR_DIGITS = np.frombuffer("".join(f"{number:04X}" for number in range(2**16)).encode(), dtype=np.uint32)
"""The hexadecimal digits of every 16-bit number, as the number that their four bytes are."""


def text(ids: Array) -> Array:
    """The characters of ids, in capitals as SQL Server prints them: a row of bytes each.

    Texts are in the order of the pairs.
    """
    sixteens = ids.astype(">u8").view(">u2").astype(np.intp)
    digits = _FOUR_DIGITS[sixteens].view(np.uint8)
    out = np.full((len(ids), LENGTH), ord("-"), dtype=np.uint8)
    for dashes, (start, end) in enumerate(_GROUPS):
        out[:, start + dashes : end + dashes] = digits[:, start:end]
    return out
