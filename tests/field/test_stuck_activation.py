"""Queues whose readers did not come: what monitors show of it, and what a log says against it."""

from pathlib import Path

import pytest

from tests.field.running import AS_OF, EVENTS, OpenCase, Row, rewrite
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


def of_queue(server: str, queue: str, moment: str, event_type: str, **more: object) -> Row:
    database = "D" if server == "I" else "MillDB"
    place = {"instance": server, "database": database, "queue": queue}
    return {"event_time": f"2026-11-20T{moment}Z", "event_type": event_type, **place, **more}


def unread_log() -> list[list[Row]]:
    """Queue A of instance I has 30 messages; its log has RECEIVE and no RECEIVED."""
    place = {"instance": "I", "database": "D", "conversation_id": "A"}
    names = {"contract": "C", "local_service": "ToA", "remote_service": "From", "conversation_group_id": "GA"}
    created = {"event_type": "DIALOG_CREATED", "is_initiator": False, **names, **place}
    message = {"event_type": "DELIVERED", "sent_by_initiator": True, "message_type": "T", **place}
    messages = [{**message, "message_id": f"A{each}", "message_sequence_number": each} for each in range(30)]
    at_four = {"event_time": "2026-11-20T04:00:00Z"}
    statements = [
        of_queue("I", "A", "08:00:00", "TASK_STARTED", session_id=51),
        of_queue("I", "A", "09:00:00", "RECEIVE", session_id=51, transaction_id="T", row_count=1),
        of_queue("I", "A", "09:00:01", "COMMIT", session_id=51, transaction_id="T"),
        of_queue("I", "A", "09:30:00", "TASK_EXITED", session_id=51),
    ]
    return [[created | at_four], [each | at_four for each in messages], statements]


CATALOG = {
    "name": "I",
    "databases": [
        {
            "name": "D",
            "queues": [{"name": "A", "activation": {"procedure": "p", "max_queue_readers": 1}}],
            "services": [{"name": "ToA", "queue": "A"}],
        }
    ],
}


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


MONITORS: dict[str, Change] = {
    "STUCK": lambda snap: None,
    "a task": alone(with_a_task),
    "no procedure": alone(without_procedure),
    # The log knows of a RECEIVE after the monitor's last activation: its readers came.
    "received": alone(lambda snap: None),
    "received without procedure": alone(without_procedure),
}
"""What a server shows."""


@pytest.fixture(scope="module")
def monitors(open_case: OpenCase) -> Servers:
    """Servers with these monitors, and the log of an instance without one."""
    case = open_case(STUCK)
    endpoints, messages, statements = unread_log()
    statements += [
        of_queue(name, "MillQueue", "09:00:00", "RECEIVE", row_count=1)
        for name in MONITORS
        if name.startswith("received")
    ]
    case.set_log(dict(zip(EVENTS, (endpoints, messages, statements), strict=True)))
    case.set_catalog(CATALOG)
    return Servers(case, MONITORS)


def test_what_a_monitor_shows(monitors: Servers) -> None:
    """`activation` alone knows a monitor without a procedure."""
    found = {
        row["instance"]: row
        for row in monitors.case.table("activation_summary")
        if row["queue"] == "MillQueue"
    }
    assert {name: row["advice"] for name, row in found.items()} == {
        "STUCK": "not_received",
        "a task": "not_received",
        "received": "not_known",
    }
    still = "the procedure was started and did not RECEIVE; 1 activated task runs"
    assert still in found["a task"]["sentence"]
    [shown] = monitors.rows("queue_monitors", "a task")
    assert (shown["queue"], shown["tasks_running"]) == ("MillQueue", 1)
    queue = "[received without procedure].MillDB.MillQueue"
    assert monitors.case.ask("activation", "--as-of", AS_OF, "--queue", queue)["advice"] == "not_known"


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
        "30 messages stand in the queue; the monitor has been NOTIFIED since 2026-11-20T04:00:00 (zone not "
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
