"""The causes of a message as one number."""

from pipelines.why.cause_bits import bits_of, codes_of
from pipelines.why.causes import CODES


def test_bits_have_the_order_of_the_codes() -> None:
    assert bits_of([]) == 0
    assert bits_of([CODES[0], CODES[2], CODES[2]]) == 0b101
    assert codes_of(0b101) == [CODES[0], CODES[2]]
    assert codes_of(bits_of(reversed(CODES))) == list(CODES)
