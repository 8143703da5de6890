"""Powers of fractions in whole numbers, the same on every machine."""

from decimal import Decimal, localcontext

import numpy as np

from dev.generator.frame import Array

CLOSE = 1e-3
"""Closer than this to an integer the last digits of a double decide, in which machines differ."""


def floor_of_power(base: Array, exponent: float, *, times: int) -> Array:
    """floor(base ** exponent * times), as if it were computed exactly.

    Args:
        base: doubles in [0, 1).
        exponent: positive.
        times: up to some 10**11, so that a double is never wrong by as much as CLOSE.
    """
    power = np.power(base, exponent) * times
    floor: Array = np.floor(power).astype(np.int64)
    with localcontext(prec=40):
        for row in np.flatnonzero(np.abs(power - np.rint(power)) < CLOSE):
            floor[row] = int(Decimal(float(base[row])) ** Decimal(str(exponent)) * times)
    return floor
