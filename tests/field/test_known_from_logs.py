"""A server over a change of clocks, told by logs, by captures, and by both: what each can know is true."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.field.running import Case, Row
from tests.support.capture_project import CaptureProject
from tests.support.captures import Captured, capture_lines
from tests.support.snapshot_views import conversation, handle, ready, shown, views

pytestmark = pytest.mark.slow

BERLIN = ZoneInfo("Europe/Berlin")
INITIATOR, TARGET = "InitiatorService", "TargetService"
LEVEL = 9


def at(hour: int, minute: int = 0) -> datetime:
    """A moment of the night of 2026-10-25, UTC, by its hour; clocks go back at 01:00."""
    return datetime(2026, 10, 25, tzinfo=UTC) + timedelta(hours=hour, minutes=minute)


@dataclass(frozen=True)
class Message:
    """A message of the initiator: when it arrived and was received; None if it never was."""

    number: int
    arrived: datetime
    received: datetime | None

    def waits(self, moment: datetime) -> bool:
        return self.arrived < moment and (self.received is None or self.received >= moment)

    @property
    def id(self) -> str:
        return f"{conversation(1)}/initiator/{self.number}"


TRUTH = [
    Message(0, at(-1), at(-1, 30)),
    Message(1, at(-1, 50), at(0, 30)),
    # Local times of the doubled hour say 00:30 and 01:30 with one text.
    Message(2, at(0, 20), at(1, 30)),
    Message(3, at(1, 40), at(2, 35)),
    Message(4, at(2, 31), None),
]
OFF, ON = at(2, 5), at(2, 30)
BEGUN, RULE = at(-10), at(-20)
ASKED = (at(2, 20), at(3))


def local(moment: datetime) -> str:
    """What the server's clock shows."""
    return f"{moment.astimezone(BERLIN):%Y-%m-%d %H:%M:%S}.000"


def write_logs(folder: Path) -> Row:
    """Write the server's logs; gives the sections of settings that name them."""
    (folder / "audit").mkdir()
    (folder / "trace").mkdir()
    rows = [
        (each.number, direction, handle(1, direction == "OUT"), moment)
        for each in TRUTH
        for direction, moment in (("OUT", each.arrived), ("IN", each.received))
        if moment is not None
    ]
    lines = [f"{number},{direction},{of},{local(moment)}\n" for number, direction, of, moment in rows]
    (folder / "audit" / "1.csv").write_text("SeqNo,Direction,Handle,At\n" + "".join(lines))
    sides = [
        f"124,{subclass},{local(BEGUN)},SQL1,5,{role},{handle(1, side)},{conversation(1)},"
        f"{shown(1, side)['conversation_group_id']},Contract,{INITIATOR},{TARGET},{LEVEL}\n"
        for subclass, role, side in ((11, "initiator", True), (12, "target", False))
    ]
    header = (
        "EventClass,EventSubClass,StartTime,ServerName,DatabaseID,RoleName,ObjectName,GUID,MethodName,"
        "TargetLoginName,TargetUserName,FileName,LineNumber\n"
    )
    (folder / "trace" / "1.csv").write_text(header + "".join(sides))
    statements = [
        (RULE, f"CREATE BROKER PRIORITY Gold FOR CONVERSATION SET (PRIORITY_LEVEL = {LEVEL})"),
        (OFF, "ALTER QUEUE TargetQueue WITH STATUS = OFF"),
        (ON, "ALTER QUEUE TargetQueue WITH STATUS = ON"),
    ]
    log = [
        {"PostTime": local(moment), "ServerName": "SQL1", "DatabaseName": "B", "CommandText": text}
        for moment, text in statements
    ]
    (folder / "ddl.jsonl").write_text("".join(json.dumps(row) + "\n" for row in log))
    of_audit = {
        "event_time": "At",
        "event_type": {"from": "Direction", "values": {"IN": "RECEIVED", "OUT": "SENT"}},
        "instance": {"value": "SQL1"},
        "database": {"value": "B"},
        "conversation_handle": "Handle",
        "message_type": {"value": "Order"},
        "message_sequence_number": "SeqNo",
    }
    zone = {"zone": "Europe/Berlin"}
    trace = {"name": "trace", "path": "trace", "format": "csv", "mapping": "sql-trace", **zone}
    names = {"databases": {5: "B"}, "queues": {12: "TargetQueue"}}
    return {
        "inputs": {
            "message_events": {"path": "audit", "format": "csv", "columns": of_audit, **zone},
            "logs": [{**trace, **names}],
        },
        "rules": [{"path": "ddl.jsonl", "format": "ddl-log", **zone}],
    }


def capture(moment: datetime) -> list[str]:
    """What the server shows at a moment."""
    clock = moment.astimezone(BERLIN).utcoffset()
    assert clock is not None
    is_on = not OFF <= moment < ON
    queues = [
        {"object_id": 11 + number, "name": name, "is_receive_enabled": on, "is_enqueue_enabled": on}
        for number, (name, on) in enumerate((("InitiatorQueue", True), ("TargetQueue", is_on)))
    ]
    waiting = [
        ready(
            1,
            False,
            each.number,
            queuing_order=each.number,
            message_enqueue_time=each.arrived,
            priority=LEVEL,
        )
        for each in TRUTH
        if each.waits(moment)
    ]
    given = views(
        conversation_endpoints=[shown(1, side, priority=LEVEL) for side in (True, False)],
        service_queues=queues,
        dbo_TargetQueue=waiting,
    )
    offset = int(clock.total_seconds()) // 60
    return capture_lines({"B": Captured(given)}, taken_at=moment, id=f"{moment}", utc_offset_minutes=offset)


def project_of(folder: Path, told_by: str) -> Case:
    """A project of logs, of captures, or of both, with a night at each moment."""
    if told_by == "logs":
        folder.mkdir()
        case = Case(folder)
        queues = [{"name": "InitiatorQueue"}, {"name": "TargetQueue"}]
        services = [{"name": INITIATOR, "queue": "InitiatorQueue"}, {"name": TARGET, "queue": "TargetQueue"}]
        case.set_catalog(
            {"name": "SQL1", "databases": [{"name": "B", "queues": queues, "services": services}]}
        )
        case.configure(**write_logs(folder))
    else:
        case = CaptureProject(folder)
        for moment in (at(0), *ASKED):
            case.add(capture(moment), f"{moment:%H%M}.jsonl")
        if told_by == "both":
            settings = yaml.safe_load((folder / case.settings).read_text())
            (folder / case.settings).write_text(yaml.safe_dump({**settings, **write_logs(folder)}))
    for moment in ASKED:
        case.publish(moment.isoformat())
    return case


@pytest.fixture(scope="module", params=["logs", "captures", "both"])
def told(
    session: SparkSession, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[str, Case]:
    return request.param, project_of(tmp_path_factory.mktemp(request.param) / "project", request.param)


def test_what_was_not_received_is_known_at_each_moment(told: tuple[str, Case]) -> None:
    """Logs alone know that a message was sent, and not that it arrived."""
    told_by, case = told
    tables = ("receive_schedule", "transmission_schedule")
    queued, on_their_way = (
        {(row["as_of"], row["message_id"]) for row in case.table(table)} for table in tables
    )
    truth = {(moment, each.id) for moment in ASKED for each in TRUTH if each.waits(moment)}
    assert (queued, on_their_way) == ((set(), truth) if told_by == "logs" else (truth, set()))


def test_receives_have_their_moment_or_the_bounds_of_it(told: tuple[str, Case]) -> None:
    """In the doubled hour the earlier instant counts, which is counted."""
    told_by, case = told
    received = {each.number: each.received for each in TRUTH if each.received is not None}
    found: dict[int, Any] = {
        row["message_sequence_number"]: row
        for row in case.table("message_events")
        if row["event_type"] == "RECEIVED"
    }
    if told_by == "captures":
        # What came and went between two captures is not seen.
        assert found.keys() == {1, 3}
        assert all(row["not_before"] < received[number] <= row["event_time"] for number, row in found.items())
        return
    assert {number: row["event_time"] for number, row in found.items()} == received | {2: at(0, 30)}
    counts = [dict(row["counts"]) for row in case.table("batches") if row["source"] == "message_events"]
    assert {"ambiguous_time": 4} in counts


def test_the_state_of_the_queue_has_the_moment_of_its_source(told: tuple[str, Case]) -> None:
    told_by, case = told
    if told_by == "logs":
        waits = {(row["waits_for"], row["waits_since"]) for row in case.table("transmission_schedule")}
        assert waits == {("SQL1.B.TargetQueue", OFF), (None, None)}
        return
    rows = case.table("receive_schedule")
    states = {row["as_of"]: (row["state"], row["held_since"], row["held_source"]) for row in rows}
    off = (OFF, "log") if told_by == "both" else (ASKED[0], "snapshot")
    assert states == {ASKED[0]: ("queue_off", *off), ASKED[1]: ("ready", None, None)}


def test_levels_are_those_of_the_rule_or_of_the_server(told: tuple[str, Case]) -> None:
    told_by, case = told
    [row] = [row for row in case.table("endpoints") if not row["is_initiator"]]
    assert row["priority"] == LEVEL
    assert row["rule_name"] == (None if told_by == "captures" else "Gold")
    assert row["conversation_handle"] == handle(1, False)
