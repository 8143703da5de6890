"""Queues whose readers did not come: what monitors and logs know of it, and what is not known."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.field.running import AS_OF, EVENTS, Case, OpenCase, Outcome, Row, rewrite, table_of
from tests.field.servers import Change, Servers

pytestmark = pytest.mark.slow

STUCK = "field-13-activation-stuck"
NOT_RECEIVED = (
    "30 messages stand in the queue and nothing has been received since 2026-11-20T04:00:00 (zone not "
    "documented); the monitor is NOTIFIED: the procedure was started and did not RECEIVE (snapshot of "
    "2026-11-20T10:00:00Z)."
)
MONITOR = (
    "The monitor at 2026-11-20T10:00:00Z: NOTIFIED; last activated 2026-11-20T04:00:00 (zone not "
    "documented); last empty RECEIVE 2026-11-20T03:00:00 (zone not documented); sessions in a RECEIVE 0; "
    "activated tasks not known."
)

# --- Rows of logs: of queues of database D of instance I, which have one reader each ---


def of_database(moment: str, **more: Any) -> Row:
    return {"event_time": f"2026-11-20T{moment}Z", "instance": "I", "database": "D", **more}


def message(queue: str, number: int, moment: str, event_type: str = "DELIVERED", **more: Any) -> Row:
    names = {"event_type": event_type, "message_id": f"{queue}{number}", "conversation_id": queue}
    own = {"sent_by_initiator": True, "message_sequence_number": number, "message_type": "T"}
    return of_database(moment, **names, **own, **more)


def created(queue: str) -> Row:
    names = {"contract": "C", "local_service": f"To{queue}", "remote_service": "From"}
    own = {"event_type": "DIALOG_CREATED", "conversation_id": queue, "is_initiator": False}
    return of_database("04:00:00", conversation_group_id=f"G{queue}", **names, **own)


def statement(moment: str, event_type: str, **more: Any) -> Row:
    return of_database(moment, queue="A", event_type=event_type, session_id=51, **more)


READ = [
    statement("09:00:00", "RECEIVE", transaction_id="T", conversation_group_id="GA", row_count=1),
    statement("09:00:01", "COMMIT", transaction_id="T"),
]


def catalog_of(*queues: str) -> Row:
    """Instance I as the catalog has it."""
    readers = {"procedure": "p", "max_queue_readers": 1}
    database = {
        "name": "D",
        "queues": [{"name": name, "activation": readers} for name in queues],
        "services": [{"name": f"To{name}", "queue": name} for name in queues],
    }
    return {"name": "I", "databases": [database]}


# --- Forms of the monitor ---


def monitor(**changes: str) -> Change:
    return lambda snap: rewrite(snap / "dm_broker_queue_monitors.csv", lambda row: row.update(changes))


def with_a_task(snap: Path) -> None:
    (snap / "dm_broker_activated_tasks.csv").write_text("spid,queue_id\n53,245575913\n")


def without_procedure(snap: Path) -> None:
    """The queue's monitor is external, and only the snapshot knows of it."""
    nothing = {"activation_procedure": "", "is_activation_enabled": "0", "max_readers": ""}
    rewrite(snap / "service_queues.csv", lambda row: row.update(nothing))


def alone(change: Change) -> Change:
    """A change of a server of which no more views are known than a monitor needs."""

    def changed(snap: Path) -> Row:
        for view in ("conversation_endpoints", "services", "service_contracts", "transmission_queue"):
            (snap / f"{view}.csv").unlink()
        (snap / "conversation_priorities.csv").unlink()
        change(snap)
        return {"complete": ["dbo.MillQueue"]}

    return changed


MONITORS: dict[str, tuple[Change, str]] = {
    "STUCK": (lambda snap: None, "not_received"),
    "receiving": (monitor(state="RECEIVES_OCCURRING"), "not_known"),
    "just started": (monitor(last_activated_time="2026-11-20 09:59:55.000"), "not_known"),
    "no time": (monitor(last_activated_time="1900-01-01 00:00:00.000"), "not_received"),
    "null, spelling": (monitor(last_activated_time="", state="notified "), "not_received"),
    "a task": (with_a_task, "not_received"),
    "no procedure": (without_procedure, "not_received"),
    # The log knows of a RECEIVE after the monitor's last activation: its readers came.
    "received": (lambda snap: None, "not_known"),
    "received without procedure": (without_procedure, "not_known"),
}
"""What a server shows, and the advice."""


@pytest.fixture(scope="module")
def monitors(open_case: OpenCase) -> Servers:
    """Servers with these monitors, and a log that has RECEIVE and no RECEIVED."""
    case = open_case(STUCK)
    receive: Row = {
        "event_time": "2026-11-20T09:00:00Z",
        "database": "MillDB",
        "queue": "MillQueue",
        "event_type": "RECEIVE",
        "row_count": 1,
    }
    read = [receive | {"instance": name} for name in MONITORS if name.startswith("received")]
    messages = [message("A", number, "04:00:00") for number in range(30)]
    exits = [statement("08:00:00", "TASK_STARTED"), statement("09:30:00", "TASK_EXITED")]
    events = ([created("A")], messages, [*READ, *exits, *read])
    case.set_log(dict(zip(EVENTS, events, strict=True)))
    case.set_catalog(catalog_of("A"))
    changes = {name: change for name, (change, _) in MONITORS.items()}
    return Servers(
        case, {name: change if name == "STUCK" else alone(change) for name, change in changes.items()}
    )


def advice_of(monitors: Servers, name: str) -> Row:
    """What is advised for the queue of a server; `activation` alone knows a monitor without a procedure."""
    if name.endswith("procedure"):
        found: Row = monitors.case.ask(
            "activation", "--as-of", AS_OF, "--queue", f"[{name}].MillDB.MillQueue"
        )
        return found
    rows = monitors.case.table("activation_summary")
    [row] = [row for row in rows if (row["instance"], row["queue"]) == (name, "MillQueue")]
    return row


def test_what_a_monitor_shows(monitors: Servers) -> None:
    found = {name: advice_of(monitors, name) for name in MONITORS}
    assert {name: row["advice"] for name, row in found.items()} == {
        name: advice for name, (_, advice) in MONITORS.items()
    }
    for name, row in found.items():
        assert "1900" not in row["sentence"], name
        assert "keep" not in row["sentence"], name
        assert ("did not RECEIVE" in row["sentence"]) is (row["advice"] == "not_received"), name
    still = "the procedure was started, is still running, and did not RECEIVE"
    assert still in found["a task"]["sentence"]
    [shown] = monitors.rows("queue_monitors", "a task")
    assert (shown["queue"], shown["tasks_running"]) == ("MillQueue", 1)


def test_a_monitor_that_is_notified_and_nothing_received(monitors: Servers) -> None:
    case, out = monitors.case, monitors.night.out
    assert f"- STUCK.MillDB.MillQueue: {NOT_RECEIVED}" in out.splitlines()
    assert out.index("Look at first") < out.index("Waiting at")
    of_mill = ("--as-of", AS_OF, "--queue", "STUCK.MillDB.MillQueue")
    shown = case.lines("activation", *of_mill)
    assert NOT_RECEIVED in shown
    assert MONITOR in shown
    assert not [line for line in shown if "keep" in line or "started  " in line]
    found = case.ask("activation", *of_mill)
    assert (found["advice"], found["sentence"]) == ("not_received", NOT_RECEIVED)
    assert found["monitor"] == {
        "taken_at": "2026-11-20T10:00:00Z",
        "state": "NOTIFIED",
        "last_activated_time": "2026-11-20T04:00:00Z",
        "last_empty_rowset_time": "2026-11-20T03:00:00Z",
        "tasks_waiting": 0,
        "dropped": 0,
        "tasks_running": None,
        "utc_offset_minutes": None,
    }


def test_a_level_of_the_default_is_the_default_today(monitors: Servers) -> None:
    explained = monitors.case.job("explain", "--conversation", "C0000000-0001-4000-8000-000000000064").out
    assert "level 5, the server's own, and the default today, as no rule matches" in explained


def test_a_monitor_that_only_a_snapshot_knows(monitors: Servers) -> None:
    queue = "[no procedure].MillDB.MillQueue"
    sentence = (
        "30 messages stand in the queue; the monitor is NOTIFIED since 2026-11-20T04:00:00 (zone not "
        "documented): the application was notified and did not RECEIVE (snapshot of 2026-11-20T10:00:00Z)"
    )
    assert f"- {queue}: {sentence}" in monitors.night.out.splitlines()
    assert monitors.case.lines("activation", "--as-of", AS_OF, "--queue", queue) == [
        f"{queue} (no monitor in the catalog), 2026-11-19 10:00 to 2026-11-20 10:00",
        sentence,
        MONITOR,
    ]
    found = monitors.case.ask("activation", "--as-of", AS_OF, "--queue", queue)
    assert (found["ready_at_end"], found["mode"], found["runs"]) == (30, None, [])
    assert found["monitor"]["state"] == "NOTIFIED"


def test_receives_without_messages_are_no_slow_readers(monitors: Servers) -> None:
    """The log has RECEIVE and no RECEIVED: what stands in the queue is not known, nor what readers missed."""
    [row] = [row for row in monitors.case.table("activation_summary") if row["instance"] == "I"]
    assert row["advice"] == "not_known"
    assert "the log lacks what they received" in row["sentence"]
    lines = monitors.night.out.splitlines()
    assert lines[lines.index("Note") + 1] == (
        "- no input has a RECEIVED event: messages that were received, but not logged so, count as waiting"
    )


# --- Logs alone ---


@pytest.fixture(scope="module")
def logged(open_case: OpenCase) -> tuple[Case, Outcome]:
    """A log without queue events of MILL1; of instance I queue A is read, and it has no receive of B."""
    case = open_case(STUCK, settings="settings-log.yaml")
    endpoints, messages = (
        [json.loads(line) for line in (case.folder / "log-log" / name / "a.jsonl").open()]
        for name in EVENTS[:2]
    )
    messages += [
        message("A", 0, "09:00:00"),
        message("A", 0, "09:00:00", "RECEIVED", transaction_id="T"),
        *(message("B", number, "04:00:00") for number in range(30)),
    ]
    events = ([*endpoints, created("A"), created("B")], messages, READ)
    case.set_log(dict(zip(EVENTS, events, strict=True)))
    [mill] = yaml.safe_load((case.folder / "catalog.yaml").read_text())["instances"]
    case.set_catalog(mill, catalog_of("A", "B"))
    return case, case.published()


def test_without_queue_events_it_is_not_known_what_readers_did(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
    said = (
        "What readers did is not known: the log has no queue events of MILL1 in the window. As far as is "
        "known, 60 messages waited at its end."
    )
    assert f"- MILL1.EtlDB.EtlQueue: {said}" in night.out.splitlines()
    shown = case.job("activation", "--as-of", AS_OF, "--queue", "EtlQueue").out
    assert said in shown.splitlines()
    assert "keep" not in shown
    assert "reader started" not in shown
    assert "it is no log of what it did" in shown


def test_that_readers_keep_up_needs_receives_of_the_queue(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
    said = (
        "What readers did is not known: one was needed for 6 h 0 min, and the log has no RECEIVED of this "
        "queue in the window; either none came, or the log lacks what they received. As far as is known, 30 "
        "messages waited at its end."
    )
    assert f"- I.D.B: {said}" in night.out.splitlines()
    rows = table_of(case.folder / "warehouse-log", "activation_summary")
    found = {row["queue"]: row["advice"] for row in rows if row["instance"] == "I"}
    assert found == {"A": "keeps_up", "B": "not_known"}
    assert said in case.lines("activation", "--as-of", AS_OF, "--queue", "B")
