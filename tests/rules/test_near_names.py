"""Near names: the examples of the definition, and equality with a look at each name."""

import pytest
from hypothesis import given, settings, strategies as st

from pipelines.rules import near_names
from pipelines.rules.near_names import MOST_EDITS, NearNames, count_edits
from tests.support.model.why_rules import edits, without_blanks

KNOWN = ["InitiatorService", "TargetService", "OrderService", "ReorderService", "Straße", "Queue2", "Queue1"]


@pytest.mark.parametrize(
    ("name", "near"),
    [
        pytest.param("InitatorService", {"InitiatorService": 1}, id="a letter is missing"),
        pytest.param("InitiatorSerivce", {"InitiatorService": 2}, id="two neighbours are swapped"),
        pytest.param("Initiator Service", {"InitiatorService": 0}, id="blank"),
        pytest.param("initiatorSERVICE", {"InitiatorService": 0}, id="case"),
        pytest.param("InitiatorService", {}, id="the name itself"),
        pytest.param("Orderservices", {"OrderService": 2}, id="case and a letter"),
        pytest.param("Queue3", {"Queue1": 1, "Queue2": 1}, id="equally near by code points"),
        pytest.param("queue1", {"Queue1": 0, "Queue2": 2}, id="the nearest first"),
        pytest.param("Strasse", {"Straße": 2}, id="code points"),
    ],
)
def test_near_names_with_their_edits(name: str, near: dict[str, int]) -> None:
    assert list(NearNames(KNOWN).find(name).items()) == list(near.items())


def test_edits_of_half_the_longer_name_are_not_near() -> None:
    for name, other in [("ab", "ac"), ("abcd", "abxy"), ("a", "b"), ("Gold", "God "), ("", "a")]:
        assert NearNames([other]).find(name) == {}


def is_near(name: str, other: str, *, is_in_use: bool = False) -> bool:
    """The definition, word by word."""
    if name == other:
        return False
    distance = edits(name, other)
    return without_blanks(name) == without_blanks(other) or (
        not is_in_use and distance <= MOST_EDITS and distance * 2 < max(len(name), len(other))
    )


WORDS = st.text("abA ", max_size=8)


@settings(max_examples=50)
@given(WORDS, WORDS)
def test_edits_are_the_levenshtein_distance(name: str, other: str) -> None:
    distance = edits(name, other)
    assert count_edits(name, other) == (distance if distance <= MOST_EDITS else None)


@settings(max_examples=50)
@given(st.lists(WORDS, max_size=12), st.sets(WORDS, max_size=3), WORDS)
def test_no_near_name_is_left_out(names: list[str], in_use: set[str], name: str) -> None:
    near = NearNames(names, in_use).find(name)
    assert near.keys() == {other for other in names if is_near(name, other, is_in_use=other in in_use)}
    assert list(near.items()) == sorted(near.items(), key=lambda each: (each[1], each[0]))


def test_few_of_many_names_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []

    def compare(name: str, other: str) -> int | None:
        compared.append(other)
        return count_edits(name, other)

    monkeypatch.setattr(near_names, "count_edits", compare)
    names = NearNames(f"Customer{number}Orders{number % 7}Service" for number in range(5_000))
    for number in range(0, 5_000, 50):
        right, slip = (f"Customer{number}{word}{number % 7}Service" for word in ("Orders", "Odrers"))
        assert names.find(slip)[right] == MOST_EDITS
    assert len(compared) < 100 * 5_000 / 10
