"""Names that were probably meant, and what a message offers in place of an unknown word."""

import time

import pytest
from hypothesis import given, strategies as st

from pipelines.config.nearest import NearestNames, differences, suggest_nearest

KNOWN = ["InitiatorService", "TargetService", "OrderService", "ReorderService", "Straße", "\u00d3rders"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("InitiatorSerivce", "InitiatorService"),
        ("InitatorService", "InitiatorService"),
        ("OrdersService", "OrderService"),
        ("Payments", None),
        ("InitiatorService", None),
        ("", None),
    ],
)
def test_the_nearest_of_many_names(name: str, near: str | None) -> None:
    assert NearestNames(KNOWN).nearest(name) == near


def test_of_equally_near_names_the_first_by_code_points() -> None:
    assert NearestNames(["Queue2", "Queue1"]).nearest("Queue3") == "Queue1"
    assert NearestNames(["Queue1", "Queue2"]).nearest("Queue3") == "Queue1"


@pytest.mark.parametrize(
    ("name", "known", "how"),
    [
        ("orderservice", "OrderService", ["case"]),
        ("OrderService ", "OrderService", ["blanks"]),
        ("O\u0301rders", "\u00d3rders", ["Unicode form"]),
        ("order service", "OrderService", ["case", "blanks"]),
        ("STRASSE", "Straße", ["case"]),
        ("InitiatorSerivce", None, []),
        ("OrderService", None, []),
    ],
)
def test_same_but_for_spelling(name: str, known: str | None, how: list[str]) -> None:
    assert NearestNames(KNOWN).same_but_spelling(name) == known
    assert known is None or differences(name, known) == how


@given(st.sampled_from(KNOWN[:4]), st.data())
def test_any_two_neighbours_swapped_find_the_name(name: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(name) - 2))
    slip = name[:at] + name[at + 1] + name[at] + name[at + 2 :]
    if slip not in KNOWN:
        assert name in (NearestNames(KNOWN).nearest(slip), NearestNames(KNOWN).same_but_spelling(slip))


def test_a_hundred_of_thousands_of_names_take_seconds() -> None:
    names = NearestNames(f"Customer{number}Orders{number % 7}Service" for number in range(5_000))
    began = time.process_time()
    found = [names.nearest(f"Customer{number}Odrers{number % 7}Service") for number in range(0, 5_000, 50)]
    assert time.process_time() - began < 4
    assert found == [f"Customer{number}Orders{number % 7}Service" for number in range(0, 5_000, 50)]


@pytest.mark.parametrize(
    ("word", "known", "line"),
    [
        ("milldb", ["MillDB", "Other"], "did you mean 'MillDB'?"),
        ("R", ["r"], "did you mean 'r'?"),
        ("GOLDORDER", ["SilverOrders", "GoldOrders"], "did you mean 'GoldOrders'?"),
        ("gold", ["GOLD", "golds"], "did you mean 'golds'?"),
        ("x", ["MillDB", "Other"], "write one of MillDB, Other"),
        ("x", [], "there is none to choose from"),
    ],
)
def test_the_nearest_name(word: str, known: list[str], line: str) -> None:
    assert suggest_nearest(word, known) == line
