"""One endpoint, one database: copies are refused, and what a database shows of its own endpoints counts."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome
from tests.support.factories import endpoint_event

pytestmark = pytest.mark.slow

COPIES = "field-25-database-copy"
CREATED = endpoint_event(event_time="2026-11-20T09:00:00Z", event_id="1")


@pytest.mark.parametrize(
    ("settings", "names", "endpoints"),
    [
        ("settings.yaml", ("MILL1.PressDB", "MILL1.PressDB_Test"), 12),
        ("settings-min.yaml", ("MILL1.ACopy", "MILL1.Live"), 2),
    ],
)
def test_a_copy_is_refused(
    session: SparkSession, tmp_path: Path, settings: str, names: tuple[str, str], endpoints: int
) -> None:
    case = Case.copied(COPIES, tmp_path / "case", settings)
    night = case.nightly("latest")
    assert night.code == 3
    [line] = [line for line in night.err.splitlines() if line.startswith("error: ")]
    assert line.startswith(
        f"error: snapshots: {names[0]} and {names[1]} hold the same conversations ({endpoints} endpoints "
        f"open in both); leave out the copy, `leave_out: [{names[0]}]` or "
    )
    assert list((tmp_path / "case").rglob("_delta_log")) == []


def test_a_copy_is_left_out(session: SparkSession, tmp_path: Path) -> None:
    """On one warehouse: what was left out counts again when the settings say so."""
    case = Case.copied(COPIES, tmp_path / "case")
    for left_out, database, messages in (("PressDB_Test", "PressDB", 2), ("PressDB", "PressDB_Test", 6)):
        case.configure(snapshots=[{"path": "captures", "leave_out": [f"MILL1.{left_out}"]}])
        case.schedule("2026-11-20T11:00:00Z")
        rows = case.table("receive_schedule")
        assert {(row["instance"], row["database"], row["queue"]) for row in rows} == {
            ("MILL1", database, "JobQueue")
        }
        assert len(rows) == messages
        assert case.table("unresolved") == []


@pytest.fixture(scope="module")
def restored(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Case, Outcome]:
    """A database that was restored to another time, and a log of two databases with one endpoint."""
    case = Case.copied("field-52-restored-to-another-time", tmp_path_factory.mktemp("restored") / "case")
    later = {"event_time": "2026-11-20T09:30:00Z", "event_id": "2", "database": "Copy"}
    case.set_log({"endpoint_events": [CREATED, {**CREATED, **later}], "message_events": []})
    return case, case.published("latest")


def test_the_own_database_says_whether_an_endpoint_is_open(restored: tuple[Case, Outcome]) -> None:
    """The far side's database shows that this side ended."""
    case, night = restored
    assert (
        "1 endpoint stands open in the own database, while MILL1.DeskDB, where the far side is" in night.out
    )
    [message] = case.ask("next", "--queue", "JobDB.Q")["next"]
    assert message["message_id"] == "57CDC10C-2FD6-065E-9E27-0044A2D5BBA7/initiator/0"


def test_the_log_of_two_databases_with_one_endpoint(restored: tuple[Case, Outcome]) -> None:
    """The first creation decides, and the summary says how many endpoints that are."""
    case, night = restored
    assert "1 endpoint created in several databases by the log: the first creation decides" in night.out
    [database] = [row["database"] for row in case.table("endpoints") if row["instance"] == "SQL1"]
    assert database == CREATED["database"]
