"""Conformance of readers whose behaviour is known."""

import pytest

from tests.field.conftest import OpenCase

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_readers_that_ignore_priorities_are_told(open_case: OpenCase) -> None:
    case = open_case("field-18-priority-ignored")
    assert case.nightly().code == 0
    found = case.job("conformance", "--as-of", "2026-11-20T10:00:00Z", "--format", "json")
    assert found.code == 0
    [queue] = found.json["queues"]
    assert (queue["decisions"], queue["with_choice"], queue["conforming"]) == (4, 3, 2)
    assert (queue["passed"], queue["passable"], queue["fitness"]) == (1, 4, 0.75)
    assert (queue["where_clause"], queue["unexplained"]) == (1, 1)
    deviations = [
        (row["transaction_id"], row["level"], row["best_level"]) for row in found.json["deviations"]
    ]
    assert deviations == [("T3", 3, 9), ("T2", 3, 9)]
