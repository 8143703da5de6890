"""Logs that servers write: what nights take of a trace, and what they count alone."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case
from tests.field.test_own_tables import CREATIONS, INSTANCE

AS_OF = "2026-11-20T12:00:00Z"
CONVERSATION = "0A1B2C3D-0000-0000-0000-000000000001"
HANDLE = "0A1B2C3D-0000-0000-0000-0000000000AA"
TRACE = (
    "EventClass,EventSubClass,StartTime,ServerName,DatabaseID,ObjectID,ObjectName,RoleName,GUID,MethodName,"
    "LineNumber,EventSequence,IntegerData\n"
    f"124,2,2026-11-20 10:00:00.123,sql1,5,,{HANDLE.lower()},Target,{CONVERSATION},,5,1,\n"
    "163,1 - Started,2026-11-20 10:00:01.000,SQL1,5,77,,,,,,2,3\n"
    "Broker:Activation,Ended,2026-11-20 10:00:02.000,SQL1,5,77,,,,,,3,2\n"
    "Broker:Queue Disabled,0,2026-11-20 10:00:03.000,SQL1,5,77,,,,,,4,\n"
    "163,1,2026-11-20 10:00:04.000,SQL1,6,77,,,,,,5,3\n"
    "140,0,2026-11-20 10:00:04.000,SQL1,5,,,,,,,6,\n"
    "12,0,2026-11-20 10:00:04.000,SQL1,5,,,,,,,7,\n"
)


@pytest.fixture(scope="module")
def server(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    folder = tmp_path_factory.mktemp("trace")
    for name in ("endpoints", "trace"):
        (folder / name).mkdir()
    (folder / "endpoints" / "1.csv").write_text(CREATIONS)
    (folder / "trace" / "1.csv").write_text(TRACE)
    server = Case(folder)
    server.set_catalog(INSTANCE)
    server.configure(inputs=inputs())
    server.publish(AS_OF)
    return server


def inputs(**changes: Any) -> dict[str, Any]:
    """Endpoint events, and a trace with these changes."""
    trace = {
        "name": "trace",
        "path": "trace",
        "format": "csv",
        "mapping": "sql-trace",
        "offset": "+01:00",
        "databases": {5: "Claims"},
        "queues": {77: "Intake"},
    }
    kept = {key: value for key, value in (trace | changes).items() if value is not None}
    return {"endpoint_events": {"path": "endpoints", "format": "csv"}, "logs": [kept]}


def test_a_trace_gives_events_of_several_tables(server: Case) -> None:
    [end] = [row for row in server.table("endpoint_events") if row["event_type"] == "END_CONVERSATION"]
    assert end["event_time"].isoformat() == "2026-11-20T09:00:00.123000+00:00"
    assert (end["instance"], end["database"], end["is_initiator"]) == ("SQL1", "Claims", False)
    assert (end["conversation_id"], end["conversation_handle"]) == (CONVERSATION, HANDLE)
    rows = server.table("queue_events")
    found = {
        (row["event_type"], row["queue"], row["queue_status"], row["session_id"], row["running_tasks"])
        for row in rows
    }
    assert found == {
        ("TASK_STARTED", "Intake", None, None, 3),
        ("TASK_EXITED", "Intake", None, None, 2),
        ("QUEUE_ALTERED", "Intake", "OFF", None, None),
    }


def test_batches_count_a_log_once_and_its_incomplete_rows_by_class(server: Case) -> None:
    [row] = [row for row in server.table("batches") if row["source"] == "logs/trace"]
    counts = tuple(row[name] for name in ("events", "accepted", "duplicates", "rejected", "pending"))
    assert counts == (4, 4, 0, 0, 0)
    assert dict(row["counts"]) == {"incomplete_163_1": 1, "forwarding_dropped": 1, "other_events": 1}
    assert {row["source"] for row in server.table("files")} == {"endpoint_events", "logs/trace"}


def test_check_shows_three_rows_of_a_log_and_prints_its_mapping(server: Case) -> None:
    found = server.job("check")
    told = [line for line in found.out.splitlines() if "logs/trace" in line]
    assert told[0].startswith("inputs    ok    logs/trace: 1 file with the columns of the mapping")
    assert len(told) == 4
    assert '"event_type": "END_CONVERSATION"' in told[1]
    printed = server.job("check", "--mapping", "sql-trace").out
    assert "\nrows:\n" in printed


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"offset": None}, "whose times are local; add zone: Europe/Berlin, or offset: '+02:00'"),
        ({"databases": None}, "has databases by number, and no capture names them"),
        ({"queues": None}, "has queues by number, and no capture names them"),
        ({"mapping": "sql-trase"}, "sql-trace"),
        ({"zone": "Europe/Berlin"}, "has zone and offset; write one of them"),
    ],
)
def test_what_a_log_lacks_is_exit_code_2(server: Case, changes: dict[str, Any], said: str) -> None:
    server.configure(inputs=inputs(**changes))
    found = server.nightly("latest")
    server.configure(inputs=inputs())
    assert found.code == 2
    assert said in found.err


def test_a_file_without_the_class_of_events_is_exit_code_3(session: SparkSession, tmp_path: Path) -> None:
    server = Case(tmp_path)
    for name in ("endpoints", "trace"):
        (tmp_path / name).mkdir()
    (tmp_path / "trace" / "1.csv").write_text(TRACE.replace("EventClass,", "EventClas,"))
    server.set_catalog(INSTANCE)
    server.configure(inputs=inputs())
    found = server.nightly("latest")
    assert found.code == 3
    assert "1.csv: column EventClass of the mapping is not there; did you mean 'EventClas'?" in found.err
