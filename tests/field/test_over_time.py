"""Captures of several days: each answer has the facts of its own as_of."""

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case

pytestmark = pytest.mark.slow

THURSDAY, FRIDAY = "2026-11-19T10:00:00Z", "2026-11-20T10:00:00Z"


@pytest.fixture(scope="module")
def nights(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, dict[str, str]]:
    """Priorities are honored on Thursday and no longer on Friday; Friday's night runs first."""
    case = Case.copied("field-34-honor-lost", tmp_path_factory.mktemp("honor-lost") / "case")
    return case, {day: case.published(day).out for day in (FRIDAY, THURSDAY)}


@pytest.fixture(scope="module")
def honor_lost(nights: tuple[Case, dict[str, str]]) -> Case:
    """The project of these nights."""
    return nights[0]


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
    assert periods == {("on", None, change), ("off", change, None)}


def test_what_has_changed_is_told(nights: tuple[Case, dict[str, str]]) -> None:
    case, told = nights
    was_on = f"HONOR_BROKER_PRIORITY of MILL1.SiteDB was on in the snapshot of {THURSDAY} and is off"
    gone = f"rule 'Rest' of MILL1.SiteDB is gone; it was there in the snapshot of {THURSDAY} (level 4, "
    assert was_on in told[FRIDAY]
    assert gone in told[FRIDAY]
    assert "ALTER DATABASE [SiteDB] SET HONOR_BROKER_PRIORITY ON" in told[FRIDAY]
    assert "was on" not in told[THURSDAY]
    changes = {day: case.ask("differences", "--as-of", day)["changes"] for day in (THURSDAY, FRIDAY)}
    assert changes[THURSDAY] == []
    assert [(row["kind"], row["name"], row["before"], row["at"]) for row in changes[FRIDAY]] == [
        ("database", "SiteDB", THURSDAY, FRIDAY),
        ("rule", "Rest", THURSDAY, FRIDAY),
    ]
    assert "from //site/Local to //far/Hub" in case.job("why", "--as-of", FRIDAY).out
