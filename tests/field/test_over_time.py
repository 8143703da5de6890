"""Captures of several days: each answer has the facts of its own as_of."""

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case

THURSDAY, FRIDAY = "2026-11-19T10:00:00Z", "2026-11-20T10:00:00Z"


@pytest.fixture(scope="module")
def honor_lost(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Priorities are honored on Thursday and no longer on Friday; Friday's night runs first."""
    case = Case.copied("field-34-honor-lost", tmp_path_factory.mktemp("honor-lost") / "case")
    case.publish(FRIDAY)
    case.publish(THURSDAY)
    return case


def test_the_switch_of_each_as_of_counts(honor_lost: Case) -> None:
    sent = honor_lost.table("transmission_schedule", ["as_of", "priority", "transmit_priority"])
    by_day = {(row["as_of"].day, row["priority"], row["transmit_priority"]) for row in sent}
    assert by_day == {(19, 9, 9), (19, 4, 4), (20, 9, 5), (20, 4, 5)}
    causes = {
        day: {each["code"] for each in honor_lost.ask("why", "--as-of", day)["causes"]}
        for day in (THURSDAY, FRIDAY)
    }
    assert "honor_off" not in causes[THURSDAY]
    assert "honor_off" in causes[FRIDAY]


def test_the_history_of_the_switch(honor_lost: Case) -> None:
    rows = honor_lost.table("catalog_history")
    honor = [row for row in rows if row["attribute"] == "honor"]
    periods = {(row["value"], row["valid_from"], row["valid_to"]) for row in honor}
    [change] = {row["valid_to"] for row in honor} - {None}
    assert f"{change:%Y-%m-%dT%H:%M:%SZ}" == FRIDAY
    assert periods == {("true", None, change), ("false", change, None)}
