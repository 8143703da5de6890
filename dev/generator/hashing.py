"""XXH64 of many rows at once, value by value: the seed of a value is the hash of the ones before it.

It is what Spark's xxhash64 gives for the same long, int and string columns.
"""

import numpy as np

from dev.generator.frame import Array

SEED = np.array([42], dtype=np.uint64)
"""The seed that Spark uses; hashes are arrays, also of one row."""

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


def of_long(value: Array, seed: Array) -> Array:
    """Hash 64-bit integers."""
    return _finished(_eight_bytes(seed + _P5 + np.uint64(8), value.astype(np.int64).view(np.uint64)))


def of_int(value: Array, seed: Array) -> Array:
    """Hash 32-bit integers, or booleans."""
    return _finished(_four_bytes(seed + _P5 + np.uint64(4), value.astype(np.int32).view(np.uint32)))


def of_text(text: Array, seed: Array) -> Array:
    """Hash texts of one length: a row of bytes each."""
    length = text.shape[1]
    done = length - length % 32
    if done:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        for start in range(0, done, 32):
            for lane in range(4):
                lanes[lane] = _round(lanes[lane] + _word(text, start + 8 * lane, 8) * _P2)
        first, second, third, fourth = lanes
        total = _rotated(first, 1) + _rotated(second, 7) + _rotated(third, 12) + _rotated(fourth, 18)
        for value in lanes:
            total = (total ^ _round(value * _P2)) * _P1 + _P4
    else:
        total = seed + _P5
    total = total + np.uint64(length)
    while length - done >= 8:
        total = _eight_bytes(total, _word(text, done, 8))
        done += 8
    if length - done >= 4:
        total = _four_bytes(total, _word(text, done, 4))
        done += 4
    for position in range(done, length):
        total = _rotated(total ^ (text[:, position].astype(np.uint64) * _P5), 11) * _P1
    return _finished(total)


def _word(text: Array, start: int, size: int) -> Array:
    """Some bytes of each text as a number, the least one first."""
    return np.ascontiguousarray(text[:, start : start + size]).view(f"<u{size}")[:, 0]


def _eight_bytes(total: Array, word: Array) -> Array:
    return _rotated(total ^ _round(word * _P2), 27) * _P1 + _P4


def _four_bytes(total: Array, word: Array) -> Array:
    return _rotated(total ^ (word.astype(np.uint64) * _P1), 23) * _P2 + _P3


def _round(lane: Array) -> Array:
    return _rotated(lane, 31) * _P1


def _rotated(number: Array, bits: int) -> Array:
    return (number << np.uint64(bits)) | (number >> np.uint64(64 - bits))


def _finished(total: Array) -> Array:
    total = (total ^ (total >> np.uint64(33))) * _P2
    total = (total ^ (total >> np.uint64(29))) * _P3
    total ^= total >> np.uint64(32)
    return total
