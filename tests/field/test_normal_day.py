"""A server of which captures of two days are there: how old its data is, what is gone, what is not shown."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome
from tests.field.servers import Fleet

pytestmark = pytest.mark.slow

DAY = "field-46-normal-day"
LATER = "2026-11-20T12:30:00Z"
OLD = {"newest": "2026-11-20T10:00:00Z", "age_seconds": 9_000}
STALE = [
    {"instance": "MILL1", "database": "OtherDB", **OLD},
    {"instance": "MILL2", "database": "PressDB", **OLD},
]
LINES = (
    "MILL1.PressDB: gone since 2026-11-20T10:00:00Z, as captures of its server no longer list it; its "
    "figures are those of 2026-11-19T10:00:00Z",
    *(
        f"{name}: the newest capture is 2 h older than 2026-11-20T12:30:00Z, of 2026-11-20T10:00:00Z"
        for name in ("MILL1.OtherDB", "MILL2.PressDB")
    ),
)


@pytest.fixture(scope="module")
def nights(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Outcome]:
    """MILL2 has shown both days whole; of MILL1 the second capture has OtherDB in place of PressDB."""

    def moved(text: str) -> str:
        return text.replace('"PressDB"', '"OtherDB"') if '"taken_at":"2026-11-20' in text else text

    fleet = Fleet(tmp_path_factory.mktemp("day"))
    fleet.add("MILL1", DAY, change=moved)
    fleet.add("MILL2", DAY)
    fleet.configure(expect=[{"data_age": "2 h"}, {"data_age": "3 h", "instance": "MILL1"}])
    return fleet, fleet.nightly(LATER)


@pytest.fixture
def case(nights: tuple[Case, Outcome]) -> Case:
    return nights[0]


def test_what_is_old_and_what_is_gone_goes_first(nights: tuple[Case, Outcome], tmp_path: Path) -> None:
    case, night = nights
    assert night.code == 6
    assert tuple(night.out.splitlines()[:3]) == LINES
    for job in (["why"], ["leaks"], ["next", "--queue", "MILL1.PressDB.JobQueue"]):
        assert tuple(case.job(*job).out.splitlines()[:3]) == LINES, job
    assert case.ask("leaks")["stale"] == STALE
    of_queue = case.job("why", "--queue", "MILL1.PressDB.JobQueue")
    assert (LINES[0] in of_queue.out, LINES[1] in of_queue.out) == (True, False)
    assert case.ask("why", "--queue", "MILL1.PressDB.JobQueue")["stale"] == []
    expected = case.job("expect", "--format", "json").json
    assert expected["stale"] == STALE
    assert [(row["value"], row["met"], row["messages"]) for row in expected["expectations"]] == [
        (9_000, False, None),
        (9_000, True, None),
    ]
    page = tmp_path / "page.html"
    assert case.job("report", "--out", page).code == 0
    assert LINES[0] in page.read_text(encoding="utf-8")
    [run] = case.table("runs", ["newest_facts", "databases_gone"])
    assert [name for name, _ in run["newest_facts"]] == [
        *("[MILL1].[OtherDB]", "[MILL1].[PressDB]", "[MILL2].[PressDB]")
    ]
    assert [name for name, _ in run["databases_gone"]] == ["[MILL1].[PressDB]"]


def test_what_two_captures_do_not_show_is_told_as_open(case: Case) -> None:
    message = "01CDC10C-2FD6-065E-9E27-0044A2D5BBA7/initiator/0"
    found = case.ask("explain", "--message", message)
    between = {"from": "2026-11-19T10:00:00Z", "to": "2026-11-20T10:00:00Z"}
    assert found["gone_between"] == {**between, "fate": "received_or_dropped"}
    assert "it is gone between 2026-11-19T10:00:00Z and 2026-11-20T10:00:00Z" in found["state"]
    assert "END_CONVERSATION" not in case.job("explain", "--message", message).out


def test_a_database_that_nothing_has_is_not_expected(case: Case) -> None:
    case.configure(expect=[{"data_age": "2 h", "database": "PresDB"}])
    night = case.nightly("2026-11-20T11:00:00Z")
    case.configure(expect=[])
    assert night.code == 2
    assert "no database of that name has data; did you mean 'PressDB'?" in night.err


def test_a_table_that_lost_its_files_is_no_empty_one(case: Case) -> None:
    """The last test, as it damages the warehouse."""
    for file in (case.folder / "warehouse" / "captures").rglob("*.parquet"):
        file.unlink()
    for job in ("why", "lint", "differences"):
        asked = case.job(job)
        assert asked.code == 1
        assert "/warehouse/captures: the table can't be read (" in asked.err
