"""What stops messages comes first: a broker that is off, monitors that are gone, texts of the server."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.field.running import Case, Outcome, Row
from tests.field.servers import Fleet

pytestmark = pytest.mark.slow

HARMFUL = ("only a reader is missing", "start more readers", "no log says why")
OFF, MONITORS = "field-24-broker-disabled", "field-28-dropped-monitor"
DESK = (
    '"name":"DeskQueue","is_receive_enabled":true,"is_enqueue_enabled":true,"is_activation_enabled":false,'
    '"activation_procedure":null'
)


def without_messages(text: str) -> str:
    """A capture of a broker that is off whose messages are gone, with the counts of views and of all rows."""
    lines = []
    for line in map(json.loads, text.splitlines()):
        is_of_messages = line.get("view") in ("queue", "transmission_queue")
        if is_of_messages and "row" in line:
            continue
        if is_of_messages:
            line["count"] = 0
        if "end" in line:
            line["rows"] -= 6
        lines.append(json.dumps(line, separators=(",", ":")))
    return "\n".join([*lines, ""])


def with_desk(old: str, new: str) -> Callable[[str], str]:
    """A change of the row of a queue in which nothing waits."""

    def changed(text: str) -> str:
        assert DESK in text
        return text.replace(DESK, DESK.replace(old, new))

    return changed


@dataclass(frozen=True)
class Answer:
    """A night of all servers, and what `why` says of them."""

    case: Case
    night: Outcome
    why: Row
    text: str

    def findings(self, server: str, **names: object) -> list[Row]:
        """The findings of a server, with these values."""
        found = [each for each in self.why["findings"] if each["instance"] == server]
        return [each for each in found if names.items() <= each.items()]


@pytest.fixture(scope="module")
def answer(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Answer:
    fleet = Fleet(tmp_path_factory.mktemp("stopped"))
    fleet.add("OFF", OFF)
    fleet.add("MIXED", OFF, "settings-mixed.yaml")
    fleet.add("EMPTY", OFF, change=without_messages)
    fleet.add("TWO", MONITORS)
    fleet.add("DROPPED", MONITORS, "settings-only.yaml")
    fleet.add("NONE", MONITORS, "settings-none.yaml")
    fleet.add("DESKOFF", MONITORS, change=with_desk('receive_enabled":true', 'receive_enabled":false'))
    fleet.add("DESKIDLE", MONITORS, change=with_desk("null", '"[dbo].[RunDesk]"'))
    [newest] = fleet.add("TAKING", MONITORS).iterdir()
    earlier = newest.read_text().replace("2026-11-20T10:00:0", "2026-11-20T09:45:0")
    (newest.parent / "earlier.jsonl").write_text(earlier.replace("D59930", "D59931"))
    fleet.add("TEXTS", "field-32-status-texts")
    fleet.add("NOTICES", "field-38-event-notifications")
    fleet.add("RETAINED", "field-29-retained-rows")
    fleet.add("GROUP", "field-43-one-conversation")
    fleet.add("EXTERNAL", "field-47-external-activation")
    night = fleet.published("latest")
    return Answer(fleet, night, fleet.ask("why"), fleet.job("why").out)


def test_no_reader_is_advised_where_something_else_stops(answer: Answer) -> None:
    findings = [each for each in answer.why["findings"] if each["instance"] != "MIXED"]
    assert [harm for harm in HARMFUL if harm in str(findings)] == []


def test_a_broker_that_is_off(answer: Answer) -> None:
    findings = answer.findings("OFF")
    assert {each["code"] for each in findings} == {"broker_disabled", "transmission_status"}
    off = answer.findings("OFF", code="broker_disabled")
    assert {each["kind"]: each["messages"] for each in off} == {"receive": 4, "transmission": 2}
    said = "Service Broker is off in OFF.PressDB (is_broker_enabled 0"
    assert all(said in each["sentence"] for each in off)
    assert "ALTER DATABASE [PressDB] SET ENABLE_BROKER" in off[0]["action"]


def test_a_database_whose_broker_is_off_is_told_where_nothing_waits(answer: Answer) -> None:
    [finding] = answer.findings("EMPTY")
    place = {"code": "broker_disabled", "kind": "receive", "database": "PressDB", "queue": None}
    assert place.items() <= finding.items()
    assert finding["messages"] == 0
    assert "ALTER DATABASE [PressDB] SET ENABLE_BROKER" in finding["action"]
    said = "Database EMPTY.PressDB: 0 messages wait, and Service Broker is off in EMPTY.PressDB"
    assert said in answer.text.replace("\n- ", ": ")
    columns = ["instance", "code", "database", "queue", "messages"]
    [kept] = [row for row in answer.case.table("findings", columns) if row["instance"] == "EMPTY"]
    assert kept == {name: finding[name] for name in columns}


def test_a_capture_without_a_database_is_named(tmp_path: Path) -> None:
    case = Case.copied(OFF, tmp_path / "case", "settings-default.yaml")
    night = case.nightly("latest")
    assert night.code == 2
    said = "no database is in captures-default/MILL1-20261120T100000Z.jsonl"
    assert said in night.err.replace(f"{tmp_path}/case/", "")


def test_sender_and_receiver_beside_a_database_that_was_left_out(answer: Answer) -> None:
    why = answer.case.job("why", "--instance", "MIXED").out
    assert "from //ink/F to //press/Job" in why
    assert "reader" not in why


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ("TWO", "6 activated tasks run and MAX_QUEUE_READERS is 3; 1 monitor of it in state "),
        ("DROPPED", "whose monitor is DROPPED"),
        ("NONE", "its activation is on, and it has no queue monitor"),
    ],
)
def test_monitors_that_are_gone(answer: Answer, server: str, says: str) -> None:
    assert [each for each in answer.findings(server) if says in each["sentence"]]


@pytest.mark.parametrize(
    ("server", "code", "severity", "says"),
    [
        (
            "DESKOFF",
            "queue_off",
            "stopped",
            "0 messages wait in queue DESKOFF.PressDB.DeskQueue, which was seen off at 2026-11-20T10:00:00Z",
        ),
        (
            "DESKIDLE",
            "not_received",
            "order",
            "activation of DESKIDLE.PressDB.DeskQueue is off, and 0 messages wait there",
        ),
    ],
)
def test_what_is_off_is_told_where_nothing_waits(
    answer: Answer, server: str, code: str, severity: str, says: str
) -> None:
    [finding] = answer.findings(server, queue="DeskQueue")
    assert (finding["code"], finding["severity"], finding["messages"]) == (code, severity, 0)
    assert finding["sentence"] == says
    assert says in answer.text
    kept = answer.case.table("findings", ["instance", "code", "queue", "messages"])
    assert {"instance": server, "code": code, "queue": "DeskQueue", "messages": 0} in kept


def test_the_page_says_no_age_of_what_does_not_wait(answer: Answer, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    answer.case.lines("report", "--out", page)
    assert "has waited 0 s" not in page.read_text(encoding="utf-8")


def test_receives_that_take_nothing(answer: Answer) -> None:
    """The monitor says RECEIVES_OCCURRING, and all messages of one capture stand in the next one."""
    [finding] = answer.findings("TAKING", code="not_received")
    assert (finding["severity"], finding["messages"]) == ("stopped", 9)
    assert [row["reason"] for row in finding["details"]] == ["receives_occurring"]
    assert "the monitor is RECEIVES_OCCURRING, and no message left the queue" in finding["sentence"]


def test_an_application_that_was_notified_and_does_not_receive_comes_first(answer: Answer) -> None:
    first = answer.findings("EXTERNAL")[0]
    assert first["code"] == "not_received"
    assert "the application was notified and did not RECEIVE" in first["sentence"]
    assert first["action"].startswith("look at the external application that was notified")


def test_texts_of_the_server_are_counted_by_kind(answer: Answer) -> None:
    [finding] = answer.findings("TEXTS", code="transmission_status")
    assert [row["messages"] for row in finding["details"]] == [8, 6, 5, 4, 3, 3, 2]
    said = "31 messages wait to be sent, and the server says why (8 of them): Connection attempt"
    assert finding["sentence"].startswith(said)


def test_messages_whose_endpoints_are_gone_have_the_reason_of_the_server(answer: Answer) -> None:
    """Their instance is not known; a message of the server's queue is received next."""
    [finding] = [each for each in answer.why["findings"] if each["instance"] is None]
    assert (finding["code"], finding["messages"]) == ("transmission_status", 300)
    text = "The target service name could not be found."
    said = f"300 messages wait to be sent, and the server says why: {text}"
    assert said in finding["sentence"]
    assert [each["code"] for each in answer.findings("NOTICES")] == ["first_in_line"]
    assert "VIEW DEFINITION" not in answer.night.out + answer.night.err
    assert "all conversation endpoints" not in str(answer.why)


def test_rows_of_a_queue_that_do_not_wait_are_counted(answer: Answer) -> None:
    said = (
        "26 rows: 1 ready, 24 retained (RETENTION: 12 of status 0, 12 of status 3), 1 waits for an earlier "
        "number (status 2, not complete)"
    )
    of_queue = ("next", "--queue", "RETAINED.PressDB.JobQueue")
    assert f"The newest snapshot shows {said}" in answer.case.job(*of_queue).out
    found = answer.case.ask(*of_queue)
    assert len(found["next"]) == 1
    assert {row["status"]: row["rows"] for row in found["statuses"]} == {0: 12, 1: 1, 2: 1, 3: 12}


def test_one_group_that_a_task_reads_needs_no_further_reader(answer: Answer) -> None:
    assert "GROUP.PressDB.JobQueue: all 400 messages are of one conversation group" in answer.night.out
    of_queue = answer.findings("GROUP", kind="receive")
    [said] = [each["action"] for each in of_queue if "1 activated task runs" in each["action"]]
    assert "and all messages are of one group" in said
    assert "more readers do not help" in said
    [sent] = answer.findings("GROUP", kind="transmission")
    assert sent["code"] == "queue_off"
    assert "USE [PressDB]; ALTER QUEUE [archive].[OldQueue] WITH STATUS = ON" in sent["action"]


def test_the_places_of_a_conversation(answer: Answer) -> None:
    [capture] = (answer.case.folder / "GROUP").iterdir()
    handle = next(
        line.split('"conversation_handle":"')[1][:36]
        for line in capture.read_text().splitlines()
        if '"view":"transmission_queue","row"' in line
    )
    places = answer.case.ask("why", "--conversation", handle.lower())["places"]
    assert [each["kind"] for each in places] == ["transmission"]
    for name in ("", f"{handle[:-1]}?"):
        unknown = answer.case.job("why", "--conversation", name)
        assert (unknown.code, unknown.out) == (1, "")
        assert f"conversation {name!r}: no endpoint has this" in unknown.err
