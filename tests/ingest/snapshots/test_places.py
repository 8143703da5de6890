"""Databases that go by one name: failover partners, and a database that was renamed."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.support.capture_project import CaptureProject
from tests.support.captures import capture_lines
from tests.support.factories import NOON, Row, at, message_event
from tests.support.snapshot_views import conversation, ready, shown, views, waiting

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("session")]
MARKS = "ABC"
ANY_CONVERSATION = conversation(0)[:8]
"""How ids of conversations begin."""
IDS = "{:08}-3C1D-4E0A-9C64-2A5D0D7B11F3"
ENDPOINTS = [shown(number, False) for number in (1, 2)]


def add(
    project: CaptureProject,
    server: str,
    name: str,
    taken_at: datetime,
    messages: list[Row],
    *,
    endpoints: list[Row] = ENDPOINTS,
    **own: Any,
) -> Path:
    """Write a capture of one database with these endpoints, and these messages in its queue."""
    row = {"name": name, "is_honor_broker_priority_on": True, **own}
    given = views(conversation_endpoints=endpoints, dbo_TargetQueue=messages, databases=[row])
    number = len(list(project.captures.iterdir())) + 1
    lines = capture_lines({name: given}, server=server, taken_at=taken_at, id=IDS.format(number))
    return project.add(lines, f"{number}.jsonl")


def places(project: CaptureProject, table: str) -> set[str]:
    return {f"{row['instance']}.{row['database']}" for row in project.table(table)}


@pytest.mark.long
def test_a_failover_is_one_history(tmp_path: Path) -> None:
    """Rows that were taken under a name follow the settings, back as well; the newest capture counts."""
    project = CaptureProject(tmp_path)
    add(project, "MILL1", "PressDB", NOON, [ready(1, False, 0), ready(2, False, 0)])
    logged = message_event("DELIVERED", conversation_id=conversation(2), sent_by_initiator=True)
    place = {"instance": "MILL1", "database": "PressDB", "event_time": at(-0.5).isoformat()}
    project.set_log({"message_events": [logged | place]})
    for minutes, aliases, expected in (
        (0, {}, "MILL1.PressDB"),
        (1, {"PAG": ["MILL1.PressDB"]}, "PAG.PressDB"),
        (2, {}, "MILL1.PressDB"),
    ):
        project.configure(aliases=aliases)
        project.schedule(at(minutes).isoformat())
        for table in ("endpoints", "message_events", "endpoint_events", "queue_events"):
            assert places(project, table) == {expected}, (minutes, table)
        rows = [row for row in project.table("receive_schedule") if row["as_of"] == at(minutes)]
        assert [f"{row['instance']}.{row['database']}" for row in rows] == [expected] * 2

    add(project, "MILL2", "PressDB", at(60), [ready(2, False, 0)])
    [line] = project.refuse(at(60))
    assert "`aliases: {NAME: [MILL1.PressDB, MILL2.PressDB]}`" in line
    project.configure(aliases={"PRESSAG": ["MILL1.PressDB", "MILL2.PressDB"]})
    project.run(at(60))
    found = project.ask("next", "--queue", "PRESSAG.PressDB.TargetQueue")
    assert [row["conversation_id"] for row in found["next"]] == [conversation(2)]
    former = project.job("next", "--queue", "MILL1.PressDB.TargetQueue")
    assert (former.code, "did you mean PRESSAG.PressDB.TargetQueue?" in former.err) == (2, True)


def test_a_renamed_database_has_its_new_name(tmp_path: Path) -> None:
    """Its log and its rules go by the old one; the log's message is that of the new database's queue."""
    log = {
        "event_time": at(-0.5).isoformat(),
        "instance": "SQL1",
        "database": "Old",
        "event_id": "1",
    }
    received = message_event("RECEIVED", conversation_id=conversation(1), **log)
    project = CaptureProject(tmp_path, aliases={"SQL1": ["SQL1.Old", "SQL1.New"]})
    project.set_log({"message_events": [{**received, "sent_by_initiator": True}]})
    rule = {"create": {"name": "Gold", "level": 9}, "database": "Old", "instance": "SQL1"}
    effective = {"effective_from": at(-3600).isoformat()}
    (tmp_path / "rules.yaml").write_text(str([{**effective, **rule}]))
    project.configure(rules=[{"path": "rules.yaml"}])
    add(project, "SQL1", "New", NOON, [ready(1, False, 0), ready(2, False, 0)])
    project.schedule(NOON.isoformat())
    for table in ("message_events", "endpoint_events", "priority_rules", "receive_schedule"):
        assert places(project, table) == {"SQL1.New"}
    [row] = project.table("receive_schedule")
    assert row["conversation_id"] == conversation(2)


def test_the_writable_database_counts_of_two_at_once(tmp_path: Path) -> None:
    """Where no capture says which is writable, two of one moment are refused."""
    project = CaptureProject(tmp_path, aliases={"PRESSAG": ["MILL1.PressDB", "MILL2.PressDB"]})
    both = [ready(1, False, 0), ready(2, False, 0)]
    add(project, "MILL1", "PressDB", NOON, both, updateability="READ_WRITE")
    soon = NOON + timedelta(seconds=59)
    add(project, "MILL2", "PressDB", soon, [ready(1, False, 0)], updateability="READ_ONLY")
    project.schedule(at(1).isoformat())
    assert len(project.table("receive_schedule")) == 2
    add(project, "MILL2", "PressDB", at(2), [ready(2, False, 0)], updateability="READ_ONLY")
    project.schedule(at(2).isoformat())
    [row] = [row for row in project.table("receive_schedule") if row["as_of"] == at(2)]
    assert row["conversation_id"] == conversation(2)
    for server in ("MILL1", "MILL2"):
        add(project, server, "PressDB", at(60), [])
    assert project.refuse() == [
        "error: snapshots: captures/4.jsonl and captures/5.jsonl show PRESSAG.PressDB at "
        "2026-11-20T13:00:00Z, and not which of the two databases is writable; leave one of the two there"
    ]


PARTNERS = {"PRESSAG": ["MILL1.PressDB", "MILL2.PressDB"]}
OF_PARTNERS = {
    1: ("MILL2", at(0), [1, 2], [1, 2], "READ_ONLY"),
    2: ("MILL1", at(0.5), [2, 3], [2, 3], "READ_WRITE"),
    3: ("MILL2", at(10), [2], [2, 3], "READ_ONLY"),
    4: ("MILL2", at(20), [2, 3], [2, 3], "READ_ONLY"),
    5: ("MILL1", at(20), [2], [2, 3], "READ_WRITE"),
    6: ("MILL1", at(0, day=2), [3], [3], "READ_WRITE"),
}
"""Captures by number: server, moment, the conversations of messages and of endpoints, updateability."""


def pairs_of_partners(folder: Path, count: int) -> CaptureProject:
    """A project with this number of pairs of partners; a mark ends the names of each pair."""
    names = {
        f"PRESSAG{mark}": [f"{server}{mark}.PressDB" for server in ("MILL1", "MILL2")]
        for mark in MARKS[:count]
    }
    return CaptureProject(folder, aliases=names)


def add_of_pair(project: CaptureProject, mark: str, server: str, taken_at: datetime, *given: Any) -> None:
    """Write a capture of a server of a pair, whose ids are its own: see `add`."""
    messages, conversations, updateability = given
    rows = [ready(each, False, 0) for each in messages]
    endpoints = [shown(each, False) for each in conversations]
    path = add(
        project, server + mark, "PressDB", taken_at, rows, endpoints=endpoints, updateability=updateability
    )
    path.write_text(of_mark(path.read_text(), mark))


def of_mark(text: str, mark: str) -> str:
    """Ids with the mark of a pair."""
    return text.replace(ANY_CONVERSATION, ANY_CONVERSATION[:-1] + mark)


@pytest.mark.long
def test_the_writable_database_counts_whenever_its_capture_comes(tmp_path: Path) -> None:
    """Also where rows are closed that only the other capture shows. Those of a list come in one night."""
    nights = {
        "A": [[*OF_PARTNERS], [], [], []],
        "B": [[1, 3, 4, 6], [2, 5], [], []],
        "C": [[1, 4], [3, 6], [5], [2]],
    }
    project, as_of = pairs_of_partners(tmp_path, len(nights)), at(0, day=3).isoformat()
    for number in range(4):
        for mark, numbers in nights.items():
            for each in numbers[number]:
                add_of_pair(project, mark, *OF_PARTNERS[each])
        if number < 3:
            assert project.job("fold", "--as-of", as_of).code == 0
    project.schedule(as_of)
    tables = project.comparable() | {"snapshots": views_in(project)}
    for name, rows in tables.items():
        expected = of_pair(rows, "A")
        assert [of_pair(rows, mark) for mark in "BC"] == [expected] * 2, name
    assert all(of_pair(tables[name], "A") for name in ("receive_schedule", "endpoints", "snapshots"))


def of_pair(rows: list[Any], mark: str) -> list[str]:
    """The rows of a pair as text, without its mark."""
    lines = [repr(sorted(row.items(), key=str) if isinstance(row, dict) else row) for row in rows]
    found = [line for line in lines if f"PRESSAG{mark}" in line or re.search(f"MILL[12]{mark}", line)]
    names = re.compile(f"(PRESSAG|MILL[12]|{ANY_CONVERSATION[:-1]}){mark}")
    return sorted(names.sub(r"\1", line) for line in found)


@pytest.mark.long
def test_the_latest_moment_is_of_a_snapshot_that_counts(tmp_path: Path) -> None:
    """The secondary was captured 20 s after the primary, whose capture comes a night later."""
    project = CaptureProject(tmp_path, aliases=PARTNERS)
    soon = NOON + timedelta(seconds=20)
    add(project, "MILL2", "PressDB", soon, [ready(1, False, 0)], updateability="READ_ONLY")
    project.fold()
    add(project, "MILL1", "PressDB", NOON, [ready(2, False, 0)], updateability="READ_WRITE")
    assert "as_of is 2026-11-20T12:00:00Z, the latest" in project.nightly("latest").err
    [run] = project.table("runs")
    assert (run["as_of"], run["newest_data"]) == (NOON, NOON)


def test_a_secondary_of_many_captures_is_replaced(tmp_path: Path) -> None:
    """All captures of a server show the same catalog; the other server's come a night later, or earlier."""
    orders = {"A": ("MILL2", "MILL1"), "B": ("MILL1", "MILL2")}
    project = pairs_of_partners(tmp_path, len(orders))
    for night in range(2):
        for mark, servers in orders.items():
            server = servers[night]
            number, can_write = (1, "READ_WRITE") if server == "MILL1" else (2, "READ_ONLY")
            for hour in range(3):
                taken_at = at(60 * hour + (0 if server == "MILL1" else 0.5))
                add_of_pair(project, mark, server, taken_at, [number], [1, 2], can_write)
        if night == 0:
            assert project.job("fold", "--as-of", at(90).isoformat()).code == 0
    project.schedule(at(90).isoformat())
    assert {instance for _, _, instance in views_in(project)} == {"MILL1A", "MILL1B"}
    waiting = {row["instance"]: row["conversation_id"] for row in project.table("receive_schedule")}
    assert waiting == {f"PRESSAG{mark}": of_mark(conversation(1), mark) for mark in orders}


def views_in(project: CaptureProject) -> list[tuple[datetime, str, str]]:
    """The views of snapshots that the warehouse has: moment, view, instance."""
    return sorted((row["taken_at"], row["view"], row["instance"]) for row in project.table("snapshots"))


def test_a_destination_that_several_databases_could_be(tmp_path: Path) -> None:
    """The dialog is not bound yet, and three databases have the service; the queue of one is off."""
    project = CaptureProject(tmp_path)
    desk = views(conversation_endpoints=[shown(1, True)], transmission_queue=[waiting(1)])
    desk["services"] = [row for row in desk["services"] if row["name"] == "InitiatorService"]
    jobs = {f"JobDB{number}": views() for number in (1, 2, 3)}
    off = [{**row, "is_receive_enabled": False} for row in jobs["JobDB1"]["service_queues"]]
    jobs["JobDB1"]["service_queues"] = off
    project.add(capture_lines({"DeskDB": desk, **jobs}))
    project.run()
    [line] = project.ask("next", "--transmission", "--instance", "SQL1")["next"]
    assert line["destination_of"] == "one of JobDB1, JobDB2, JobDB3"
    told = project.job("next", "--transmission", "--instance", "SQL1", "--wide")
    assert "TargetService (in one of JobDB1, JobDB2, JobDB3)" in told.out
    [row] = project.table("transmission_schedule")
    assert (row["destination_instance"], row["destination_database"], row["waits_for"]) == (None,) * 3
    assert (row["database"], row["position"]) == ("DeskDB", 1)
    told = project.job("explain", "--message", row["message_id"])
    assert "held by DeskDB, to one of JobDB1, JobDB2, JobDB3" in told.out
    assert "queue_off" not in {each["code"] for each in project.ask("why", "--transmission")["causes"]}
