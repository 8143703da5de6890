"""What a message offers in place of an unknown word."""

import pytest

from pipelines.config.nearest import suggest_nearest


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
