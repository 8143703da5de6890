"""What stops messages comes first: a broker that is off, monitors that are gone, texts of the server."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case

HARMFUL = ("only a reader is missing", "start more readers", "no log says why")


def test_a_broker_that_is_off_is_the_first_finding(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-24-broker-disabled", tmp_path / "case")
    night = case.published("latest")
    first = night.out.splitlines()[night.out.splitlines().index("Look at first") + 1]
    assert "Service Broker is off in MILL1.PressDB (is_broker_enabled 0" in first
    assert "ALTER DATABASE [PressDB] SET ENABLE_BROKER" in night.out
    why = case.job("why")
    assert [line for text in (night.out, why.out) for line in HARMFUL if line in text] == []
    findings = case.ask("why")["findings"]
    assert {each["code"] for each in findings} == {"broker_disabled", "transmission_status"}
    off = {each["kind"]: each["messages"] for each in findings if each["code"] == "broker_disabled"}
    assert off == {"receive": 4, "transmission": 2}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("settings.yaml", "6 activated tasks run and MAX_QUEUE_READERS is 3; 1 monitor of it in state "),
        ("settings-only.yaml", "whose monitor is DROPPED"),
        ("settings-none.yaml", "its activation is on, and it has no queue monitor"),
    ],
)
def test_monitors_that_are_gone(session: SparkSession, tmp_path: Path, settings: str, says: str) -> None:
    case = Case.copied("field-28-dropped-monitor", tmp_path / "case", settings)
    night = case.published("latest")
    why = case.job("why")
    assert says in night.out
    assert says in why.out
    assert [line for line in HARMFUL if line in why.out] == []


def test_texts_of_the_server_are_counted_by_kind(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-32-status-texts", tmp_path / "case")
    night = case.published("latest")
    [cause] = [each for each in case.ask("why")["causes"] if each["code"] == "transmission_status"]
    assert [row["messages"] for row in cause["details"]] == [8, 6, 5, 4, 3, 3, 2]
    assert "31 messages are still there, and the server says why (8 of them): Connection attempt" in night.out
    assert [line for line in HARMFUL if line in case.job("why").out] == []
    assert "from //press/Desk to //press/Job" in case.job("why").out


def test_messages_whose_endpoints_are_gone_have_the_reason_of_the_server(
    session: SparkSession, tmp_path: Path
) -> None:
    case = Case.copied("field-38-event-notifications", tmp_path / "case")
    night = case.published("latest")
    text = "The target service name could not be found."
    assert f"300 messages are still there, and the server says why: {text}" in night.out
    assert "VIEW DEFINITION" not in night.out + night.err
    why = case.ask("why")
    found = {each["code"]: each["messages"] for each in why["causes"]}
    assert found == {"transmission_status": 300, "first_in_line": 1}
    assert "all conversation endpoints" not in str(why)


def test_rows_of_a_queue_that_do_not_wait_are_counted(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-29-retained-rows", tmp_path / "case")
    night = case.published("latest")
    said = (
        "26 rows: 1 ready, 24 retained (RETENTION: 12 of status 0, 12 of status 3), 1 waits for an earlier "
        "number (status 2, not complete)"
    )
    assert f"MILL1.PressDB.JobQueue: {said}" in night.out
    following = case.job("next", "--queue", "JobQueue")
    assert f"The newest snapshot shows {said}" in following.out
    found = case.ask("next", "--queue", "JobQueue")
    assert len(found["next"]) == 1
    assert {row["status"]: row["rows"] for row in found["statuses"]} == {0: 12, 1: 1, 2: 1, 3: 12}


def test_a_capture_without_a_database_is_named(session: SparkSession, tmp_path: Path) -> None:
    case = Case.copied("field-24-broker-disabled", tmp_path / "case", "settings-default.yaml")
    night = case.job("nightly", "--as-of", "latest")
    assert night.code == 2
    assert "no database is in captures-default/MILL1-20261120T100000Z.jsonl" in night.err.replace(
        f"{tmp_path}/case/", ""
    )


def test_sender_and_receiver_beside_a_database_that_was_left_out(
    session: SparkSession, tmp_path: Path
) -> None:
    case = Case.copied("field-24-broker-disabled", tmp_path / "case", "settings-mixed.yaml")
    case.published("latest")
    why = case.job("why").out
    assert "from //ink/F to //press/Job" in why
    assert "reader" not in why


def test_a_database_whose_broker_is_off_is_told_where_nothing_waits(
    session: SparkSession, tmp_path: Path
) -> None:
    case = Case.copied("field-24-broker-disabled", tmp_path / "case")
    for capture in (case.folder / "captures").glob("*.jsonl"):
        lines = [line for line in capture.read_text().splitlines() if not _is_message(line)]
        capture.write_text("\n".join(map(_without_rows, lines)) + "\n")
    night = case.published("latest").out
    assert "Database MILL1.PressDB: 0 messages wait, and Service Broker is off in MILL1.PressDB" in night
    [finding] = case.ask("why", "--database", "PressDB")["findings"]
    place = {name: finding[name] for name in ("code", "kind", "instance", "database", "queue", "messages")}
    assert place == {
        "code": "broker_disabled",
        "kind": "receive",
        "instance": "MILL1",
        "database": "PressDB",
        "queue": None,
        "messages": 0,
    }
    assert "ALTER DATABASE [PressDB] SET ENABLE_BROKER" in case.job("why").out
    assert case.ask("why", "--transmission")["findings"] == []
    [kept] = case.table("findings", ["code", "database", "queue", "messages"])
    assert kept == {"code": "broker_disabled", "database": "PressDB", "queue": None, "messages": 0}


def _is_message(line: str) -> bool:
    return '"row":' in line and ('"view":"queue"' in line or '"view":"transmission_queue"' in line)


def _without_rows(line: str) -> str:
    """A line of a capture whose messages are gone: the counts of their views and of all rows."""
    read = json.loads(line)
    if read.get("view") in ("queue", "transmission_queue") and "count" in read:
        read["count"] = 0
    if "end" in read:
        read["rows"] -= 6
    return json.dumps(read)


DESK = (
    '"name":"DeskQueue","is_receive_enabled":true,"is_enqueue_enabled":true,"is_activation_enabled":false,'
    '"activation_procedure":null'
)


@pytest.mark.parametrize(
    ("found", "code", "severity", "says", "stopped"),
    [
        (
            DESK.replace('receive_enabled":true', 'receive_enabled":false'),
            "queue_off",
            "stopped",
            "0 messages wait for queue MILL1.PressDB.DeskQueue, which was seen off at 2026-11-20T10:00:00Z",
            True,
        ),
        (
            DESK.replace("null", '"[dbo].[RunDesk]"'),
            "not_received",
            "order",
            "activation of MILL1.PressDB.DeskQueue is off, and 0 messages wait there",
            False,
        ),
    ],
)
def test_what_is_off_is_told_where_nothing_waits(
    session: SparkSession, tmp_path: Path, found: str, code: str, severity: str, says: str, stopped: bool
) -> None:
    case = Case.copied("field-28-dropped-monitor", tmp_path / "case")
    [capture] = (case.folder / "captures").glob("*.jsonl")
    lines = capture.read_text()
    assert DESK in lines
    capture.write_text(lines.replace(DESK, found))
    night = case.published("latest")
    assert ("1 of 5 queues is stopped" in night.out) == stopped
    why = case.ask("why")["findings"]
    [finding] = [each for each in why if each["queue"] == "DeskQueue"]
    assert (finding["code"], finding["severity"], finding["messages"]) == (code, severity, 0)
    assert finding["sentence"] == says
    assert says in case.job("why").out
    page = tmp_path / "page.html"
    assert case.job("report", "--out", page).code == 0
    assert "has waited 0 s" not in page.read_text(encoding="utf-8")
    kept = case.table("findings", ["code", "queue", "messages"])
    assert {"code": code, "queue": "DeskQueue", "messages": 0} in kept


def test_receives_that_take_nothing(session: SparkSession, tmp_path: Path) -> None:
    """The monitor says RECEIVES_OCCURRING, and all messages of one capture stand in the next one."""
    case = Case.copied("field-28-dropped-monitor", tmp_path / "case")
    [newest] = (case.folder / "captures").glob("*.jsonl")
    earlier = (
        newest.read_text().replace("2026-11-20T10:00:0", "2026-11-20T09:45:0").replace("87D59930", "97D59930")
    )
    (case.folder / "captures" / "MILL1-20261120T094500Z.jsonl").write_text(earlier)
    case.published("latest")
    [finding] = [each for each in case.ask("why")["findings"] if each["code"] == "not_received"]
    assert (finding["severity"], finding["messages"]) == ("stopped", 9)
    assert [row["reason"] for row in finding["details"]] == ["receives_occurring"]
    assert "the monitor is RECEIVES_OCCURRING, and no message left the queue" in finding["sentence"]
