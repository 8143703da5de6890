"""Draws are Spark's xxhash64, ids are written as SQL Server prints them, and powers are exact."""

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from dev.generator import hashing, ids
from dev.generator.columns import id_texts, moments, numbers
from dev.generator.draws import Draws
from dev.generator.frame import NEVER, Frame, comes
from dev.generator.names import Names
from dev.generator.power import floor_of_power

ID = "F814375C-0013-3424-36EC-35C963F7C0FF"


def text(value: str) -> np.ndarray:
    return np.frombuffer(value.encode(), dtype=np.uint8)[None, :]


@pytest.mark.parametrize(
    ("hashed", "of_spark"),
    [
        (hashing.of_long(np.array([1]), hashing.SEED), -7001672635703045582),
        (hashing.of_long(np.array([-(2**62)]), hashing.SEED), 5005707091092326006),
        (hashing.of_int(np.array([-1]), hashing.SEED), 2017008487422258757),
        (hashing.of_int(np.array([True]), hashing.SEED), -6698625589789238999),
        # Texts of 0, 3, 8, 11, 32, 36 and 72 bytes.
        (hashing.of_text(text(""), hashing.SEED), -7444071767201028348),
        (hashing.of_text(text("abc"), hashing.SEED), 1423657621850124518),
        (hashing.of_text(text("RECEIVED"), hashing.SEED), 3246854029445298220),
        (hashing.of_text(text("SENTBYME-12"), hashing.SEED), 2322329567410799128),
        (hashing.of_text(text(ID[:32]), hashing.SEED), -7657367556298010661),
        (hashing.of_text(text(ID), hashing.SEED), 6711489904821552068),
        (hashing.of_text(text(ID + ID), hashing.SEED), -2254422396496893199),
        # A hash goes on from the one before.
        (
            hashing.of_int(
                np.array([3]),
                hashing.of_text(text("SENT"), hashing.of_long(np.array([7]), hashing.SEED)),
            ),
            7873993952045097099,
        ),
    ],
)
def test_a_hash_is_that_of_spark(hashed, of_spark):
    assert list(hashed.view(np.int64)) == [of_spark]


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
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert set(Draws(3).below(5, "some purpose", np.arange(1_000))) == set(range(5))


def test_an_id_is_written_as_a_uuid_in_capitals():
    pairs = np.array([[0xF814375C00133424, 0x36EC35C963F7C0FF], [0, 0x0A]], dtype=np.uint64)
    assert id_texts(pairs).to_pylist() == [ID, "00000000-0000-0000-0000-00000000000A"]
    assert id_texts(pairs, where=np.array([False, True])).to_pylist()[0] is None


def test_ids_sort_as_their_texts():
    pairs = Draws(1).id("some purpose", np.arange(500))
    texts = [bytes(row) for row in ids.text(pairs)]
    assert sorted(texts) == [texts[row] for row in np.lexsort((pairs[:, 1], pairs[:, 0]))]


def test_a_power_is_exact_where_a_double_is_not_sure():
    base = np.concatenate([[0.0, 0.5, 1 - 2.0**-53], np.random.default_rng(1).random(4_000)])
    exact = [int(Decimal(float(share)) ** Decimal("1.3") * 18_000_000_000) for share in base]
    assert list(floor_of_power(base, 1.3, times=18_000_000_000)) == exact


def test_never_is_null_and_stays_so_when_time_is_added():
    at = np.array([5, NEVER, NEVER + 10**15, NEVER - 10**15])
    assert list(comes(at)) == [True, False, False, False]
    assert numbers(at).to_pylist() == [5, None, None, None]
    assert moments(at[:1]).type == pa.timestamp("us", tz="UTC")


def test_names_are_written_with_those_alone_that_occur():
    names = Names()
    codes = names.codes(["never used", "b", "a", None, "b"])
    column = names.column(codes[1:])
    assert column.to_pylist() == ["b", "a", None, "b"]
    assert sorted(column.dictionary.to_pylist()) == ["a", "b"]


def test_a_frame_looks_up_what_it_has_not_in_its_parents():
    kinds = Frame({"gap": np.array([10, 20]), "lag": np.array([1, 2])})
    talks = kinds.children(np.array([1, 0, 1]), c=np.array([0, 1, 2]))
    sent = talks.children(np.array([0, 0, 2]), turn=np.array([0, 1, 0]))
    sent["lag"] = sent["lag"] + 5
    assert list(sent["gap"]) == [20, 20, 20]
    assert list(sent["lag"]) == [7, 7, 7]
    last_first = sent.take(np.array([2, 0]))
    assert list(last_first["c"]) == [2, 0]
    assert list(last_first["turn"]) == [0, 0]
    with pytest.raises(KeyError, match="pace"):
        sent["pace"]
