"""Draws are Spark's xxhash64, ids are written as SQL Server prints them, and powers are exact."""

from decimal import Decimal

import numpy as np
import pytest

from dev.generator import hashing, ids
from dev.generator.columns import id_texts
from dev.generator.draws import Draws
from dev.generator.power import floor_of_power

ID = "F814375C-0013-3424-36EC-35C963F7C0FF"
# Of 0, 3, 8, 11, 32, 36 and 72 bytes.
TEXTS = {
    "": -7444071767201028348,
    "abc": 1423657621850124518,
    "RECEIVED": 3246854029445298220,
    "SENTBYME-12": 2322329567410799128,
    ID[:32]: -7657367556298010661,
    ID: 6711489904821552068,
    ID + ID: -2254422396496893199,
}


def hash_text(value: str, seed: np.ndarray = hashing.SEED) -> np.ndarray:
    return hashing.of_text(np.frombuffer(value.encode(), dtype=np.uint8)[None, :], seed)


def test_a_hash_is_that_of_spark():
    assert {text: hash_text(text).view(np.int64)[0] for text in TEXTS} == TEXTS
    longs = hashing.of_long(np.array([1, -(2**62)]), hashing.SEED)
    assert list(longs.view(np.int64)) == [-7001672635703045582, 5005707091092326006]
    assert list(hashing.of_int(np.array([-1]), hashing.SEED).view(np.int64)) == [2017008487422258757]
    assert list(hashing.of_int(np.array([True]), hashing.SEED).view(np.int64)) == [-6698625589789238999]
    # A hash goes on from the one before.
    sent = hash_text("SENT", hashing.of_long(np.array([7]), hashing.SEED))
    assert list(hashing.of_int(np.array([3]), sent).view(np.int64)) == [7873993952045097099]


def test_every_row_has_its_own_draw():
    draws, rows = Draws(1), np.arange(10_000)
    number = draws.number("some purpose", rows, "SENT", rows % 2 == 0)
    assert len(set(number)) == len(rows)
    row = np.array([77])
    assert number[77] == draws.number("some purpose", row, "SENT", row % 2 == 0)[0]
    for other in (
        Draws(2).number("some purpose", rows, "SENT", rows % 2 == 0),
        draws.number("another", rows, "SENT", rows % 2 == 0),
        draws.number("some purpose", rows, "DELIVERED", rows % 2 == 0),
        draws.number("some purpose", rows, "SENT", rows % 2 == 1),
    ):
        assert not (number == other).any()


def test_draws_are_spread_evenly():
    uniform = Draws(3).uniform("some purpose", np.arange(20_000))
    assert np.histogram(uniform, bins=10, range=(0, 1))[0] == pytest.approx([2_000] * 10, abs=200)
    assert set(Draws(3).below(5, "some purpose", np.arange(1_000))) == set(range(5))


def test_ids_are_uuids_in_capitals_and_sort_as_their_texts():
    pairs = np.array([[0xF814375C00133424, 0x36EC35C963F7C0FF], [0, 0x0A]], dtype=np.uint64)
    assert id_texts(pairs).to_pylist() == [ID, "00000000-0000-0000-0000-00000000000A"]
    assert id_texts(pairs, where=np.array([False, True])).to_pylist()[0] is None
    pairs = Draws(1).id("some purpose", np.arange(500))
    texts = [bytes(row) for row in ids.text(pairs)]
    assert sorted(texts) == [texts[row] for row in np.lexsort((pairs[:, 1], pairs[:, 0]))]


def test_a_power_is_exact_where_a_double_is_not_sure():
    base = np.concatenate([[0.0, 0.5, 1 - 2.0**-53], np.random.default_rng(1).random(500)])
    exact = [int(Decimal(float(share)) ** Decimal("1.3") * 18_000_000_000) for share in base]
    assert list(floor_of_power(base, 1.3, times=18_000_000_000)) == exact
