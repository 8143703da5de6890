"""Logs that servers write: what a fold takes of a trace, and what they count alone."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case
from tests.field.test_own_tables import CONVERSATION, CREATIONS, INSTANCE

pytestmark = pytest.mark.slow

SECOND = "0A1B2C3D-0000-0000-0000-000000000002"
TRACE = (Path(__file__).parents[2] / "samples" / "logs" / "sql-trace.csv").read_text()
COLUMNS = TRACE.splitlines()[0].split(",")


def trace(*rows: dict[str, Any]) -> str:
    """A file of a trace with these rows, of SQL1 and database 5."""
    known = {"ServerName": "SQL1", "DatabaseID": 5}
    lines = [",".join(str((known | row).get(name, "")) for name in COLUMNS) for row in rows]
    return "\n".join([TRACE.splitlines()[0], *lines, ""])


def server_in(folder: Path, *traces: str, instance: dict[str, Any] = INSTANCE) -> Case:
    """A server with endpoint events, and these files of a trace."""
    for name in ("endpoints", "trace"):
        (folder / name).mkdir()
    (folder / "endpoints" / "1.csv").write_text(CREATIONS)
    for number, text in enumerate(traces, start=1):
        (folder / "trace" / f"{number}.csv").write_text(text)
    server = Case(folder)
    server.set_catalog(instance)
    server.configure(inputs=inputs())
    return server


@pytest.fixture(scope="module")
def server(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Case:
    server = server_in(tmp_path_factory.mktemp("trace"), TRACE)
    server.fold()
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


def events(server: Case, table: str, *columns: str) -> set[tuple[Any, ...]]:
    """The values of columns of the events that the trace gave."""
    rows = [row for row in server.table(table) if row["event_id"] != "e1"]
    return {tuple(row[name] for name in columns) for row in rows}


def test_a_trace_gives_events_of_several_tables(server: Case) -> None:
    found = events(server, "endpoint_events", "event_type", "conversation_id", "is_initiator", "contract")
    assert found == {
        ("END_CONVERSATION", CONVERSATION, False, None),
        ("BEGIN_DIALOG", SECOND, True, "//claims/Contract"),
        ("DIALOG_CREATED", SECOND, False, "//claims/Contract"),
    }
    [begin] = [row for row in server.table("endpoint_events") if row["event_type"] == "BEGIN_DIALOG"]
    assert begin["event_time"].isoformat() == "2026-11-20T09:00:01+00:00"
    assert (begin["local_service"], begin["remote_service"]) == ("//acme/Portal", "//claims/Intake")
    assert (begin["database"], begin["logged_priority"]) == ("Claims", 7)
    columns = ("event_type", "queue", "queue_status", "session_id", "running_tasks")
    assert events(server, "queue_events", *columns) == {
        ("TASK_STARTED", "Intake", None, None, 3),
        ("TASK_EXITED", "Intake", None, None, 2),
        ("QUEUE_ALTERED", "Intake", "OFF", None, None),
    }
    assert events(server, "message_events", "event_type", "message_id", "message_type") == {
        ("FORWARDED", "0A1B2C3D-0000-0000-0000-000000000005/initiator/4", "ClaimRequest")
    }


def test_acknowledgements_that_go_with_messages_say_when_these_were_sent(server: Case) -> None:
    rows = server.table("sends")
    shared = ("instance", "database", "conversation_id", "sent_by_initiator", "level", "honor")
    assert {tuple(row[name] for name in shared) for row in rows} == {
        ("SQL1", "Claims", SECOND, True, 7, True)
    }
    own = ("message_sequence_number", "fragment", "elevated")
    assert {(*(row[name] for name in own), row["sent_at"].second) for row in rows} == {
        (1, 0, False, 10),
        (2, 0, True, 11),
    }
    acknowledged = {row["message_sequence_number"]: row["acknowledged_at"] for row in rows}
    assert (acknowledged[1].second, acknowledged[2]) == (12, None)


def counts(server: Case, batch: int) -> tuple[Any, ...]:
    """What a batch counted of the trace."""
    names = ("events", "accepted", "duplicates", "rejected", "pending")
    [row] = [row for row in server.table("batches") if (row["source"], row["batch"]) == ("logs/trace", batch)]
    return tuple(row[name] for name in names), dict(row["counts"] or {})


def test_batches_count_a_log_once_and_its_incomplete_rows_by_class(server: Case) -> None:
    assert counts(server, 1) == (
        (10, 9, 0, 0, 1),
        {
            "incomplete_124_1": 1,
            "incomplete_124_11": 1,
            "incomplete_124_6": 1,
            "incomplete_139_0": 1,
            "incomplete_163_1": 1,
            "forwarding_dropped": 1,
            "other_events": 2,
            "outcomes": 3,
            "rolled_back": 1,
        },
    )
    assert {row["source"] for row in server.table("files")} == {"endpoint_events", "logs/trace"}
    [pending] = server.table("pending_events")
    assert (pending["source"], pending["reason"]) == ("logs/trace", "no_outcome")
    assert '"event_type":"END_CONVERSATION_WITH_CLEANUP"' in pending["payload"]


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
        ({"offset": None}, "has local times, and no capture shows their offset; add zone"),
        ({"databases": None}, "has databases by number, and no capture names them"),
        ({"queues": None}, "has queues by number, and no capture names them"),
        ({"mapping": "sql-trase"}, "sql-trace"),
    ],
)
def test_what_a_log_lacks_is_exit_code_2(server: Case, changes: dict[str, Any], said: str) -> None:
    server.configure(inputs=inputs(**changes))
    found = server.nightly("latest")
    server.configure(inputs=inputs())
    assert found.code == 2
    assert said in found.err


def test_a_file_without_the_class_of_events_is_exit_code_3(session: SparkSession, tmp_path: Path) -> None:
    server = server_in(tmp_path, trace({}).replace("EventClass,", "EventClas,"))
    found = server.nightly("latest")
    assert found.code == 3
    assert "1.csv: column EventClass of the mapping is not there; did you mean 'EventClas'?" in found.err


def test_check_says_what_a_night_does_with_odd_rows(session: SparkSession, tmp_path: Path) -> None:
    begin = {"EventClass": 124, "EventSubClass": 11, "RoleName": "initiator", "GUID": SECOND}
    late = begin | {"StartTime": "99999-01-01T00:00:00Z"}
    server = server_in(tmp_path, trace(begin | {"StartTime": "2026-11-20 10:00:00"}, late))
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "1.csv").write_text("at,handle\n2026-11-20 10:00:00,H1\n,H1\n")
    constants = {"instance": "SQL1", "database": "Claims", "event_type": "SENT", "message_type": "T"}
    columns: dict[str, Any] = {name: {"value": value} for name, value in constants.items()}
    columns |= {"event_time": "at", "conversation_handle": "handle", "message_sequence_number": {"value": 0}}
    own = {"path": "own", "format": "csv", "columns": columns}
    server.configure(inputs=inputs() | {"message_events": own})
    found = server.job("check").out
    assert "logs/trace: no row says how a transaction ended, so rows of all transactions count" in found
    told = [line for line in found.splitlines() if ": row " in line]
    assert [line.rpartition("; ")[2] for line in told] == [
        "the endpoint of its handle says the rest",
        "rejected: missing_event_time",
        "incomplete unless another input shows conversation_group_id, contract, local_service, "
        "remote_service",
        "rejected: missing_conversation_group_id,missing_contract,missing_local_service,"
        "missing_remote_service,event_time_out_of_range",
    ]


@pytest.mark.long
def test_rows_of_transactions_wait_for_their_end(session: SparkSession, tmp_path: Path) -> None:
    """The end of one row comes with it, that of another a night later; it is one of the whole server.

    A row whose end an earlier night has read waits, and is rejected after 31 days.
    """
    ended = {"EventClass": 124, "EventSubClass": 2, "GUID": CONVERSATION, "RoleName": "target"}
    commit = {"EventClass": 50, "EventSubClass": 1}
    at = "2026-11-20 10:00:0{}".format
    nights = [
        [
            ended | {"StartTime": at(0), "TransactionID": 901},
            commit | {"StartTime": at(1), "TransactionID": 901},
            ended | {"StartTime": at(2), "TransactionID": 902},
            commit | {"StartTime": at(5), "TransactionID": 903},
        ],
        [
            commit | {"StartTime": at(3), "TransactionID": 902},
            ended | {"StartTime": at(4), "TransactionID": 903},
        ],
        [{"EventClass": 143, "ObjectID": 77, "StartTime": "2026-12-21 10:30:00"}],
    ]
    server = server_in(tmp_path, instance=INSTANCE | {"name": "CLAIMSAG"})
    server.configure(aliases={"CLAIMSAG": ["SQL1.Claims", "SQL2.Claims"]}, quality={"max_rejected_share": 1})
    found = []
    for number, lines in enumerate(nights, start=1):
        (tmp_path / "trace" / f"{number}.csv").write_text(trace(*lines))
        server.fold()
        ends = [row for row in server.table("endpoint_events") if row["event_type"] == "END_CONVERSATION"]
        found.append((len(ends), {row["instance"] for row in ends}, counts(server, number)[0]))
    assert found == [
        (1, {"CLAIMSAG"}, (2, 1, 0, 0, 1)),
        (2, {"CLAIMSAG"}, (2, 1, 0, 0, 1)),
        (2, {"CLAIMSAG"}, (2, 1, 0, 1, 0)),
    ]
    assert [each["reason"] for each in server.table("rejected_events")] == ["no_outcome"]
