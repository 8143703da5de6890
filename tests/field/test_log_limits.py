"""What a log or a snapshot can't know is not claimed, by no job."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.field.running import AS_OF, Case
from tests.support.open_case import OpenCase

pytestmark = pytest.mark.slow

EVENTS = ("endpoint_events", "message_events", "queue_events")


def log_of(folder: Path, rows: dict[str, list[dict[str, Any]]], queues: list[dict[str, Any]]) -> Case:
    """A project with these events, and a catalog of database D of instance I with these queues."""
    for name in EVENTS:
        (folder / name).mkdir()
        lines = [json.dumps({"event_id": f"{number}", **row}) for number, row in enumerate(rows[name])]
        (folder / name / "a.jsonl").write_text("\n".join(lines) + "\n" if lines else "")
    services = [{"name": f"To{queue['name']}", "queue": queue["name"]} for queue in queues]
    database = {"name": "D", "queues": queues, "services": services}
    (folder / "catalog.yaml").write_text(
        yaml.safe_dump({"instances": [{"name": "I", "databases": [database]}]})
    )
    settings = {
        "warehouse": "warehouse",
        "catalog": "catalog.yaml",
        "inputs": {name: {"path": name, "format": "json"} for name in EVENTS},
    }
    (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
    return Case(folder)


def at(moment: str) -> dict[str, str]:
    return {"event_time": f"2026-11-20T{moment}Z", "instance": "I", "database": "D"}


def message(
    queue: str, number: int, moment: str, event_type: str = "DELIVERED", **more: Any
) -> dict[str, Any]:
    return {
        **at(moment),
        "event_type": event_type,
        "message_id": f"{queue}{number}",
        "conversation_id": queue,
        "sent_by_initiator": True,
        "message_sequence_number": number,
        "message_type": "T",
        **more,
    }


def created(queue: str) -> dict[str, Any]:
    return {
        **at("04:00:00"),
        "event_type": "DIALOG_CREATED",
        "conversation_id": queue,
        "is_initiator": False,
        "conversation_group_id": f"G{queue}",
        "contract": "C",
        "local_service": f"To{queue}",
        "remote_service": "From",
    }


def statement(queue: str, moment: str, event_type: str, **more: Any) -> dict[str, Any]:
    return {**at(moment), "queue": queue, "event_type": event_type, "session_id": 51, **more}


READ = [
    statement("A", "09:00:00", "RECEIVE", transaction_id="T", conversation_group_id="GA", row_count=1),
    statement("A", "09:00:01", "COMMIT", transaction_id="T"),
]
MONITORED = [{"name": name, "activation": {"procedure": "p", "max_queue_readers": 1}} for name in ("A", "B")]
STAND = (
    "What readers did is not known: one was needed for 6 h 0 min, and the log has no RECEIVED of this queue "
    "in the window; either none came, or the log lacks what they received. As far as is known, 30 messages "
    "waited at its end."
)


@pytest.mark.spark
def test_that_readers_keep_up_needs_receives_of_the_queue(session: SparkSession, tmp_path: Path) -> None:
    """Queue A is read, and of B the log has no receive at all."""
    rows = {
        "endpoint_events": [created("A"), created("B")],
        "message_events": [
            message("A", 0, "09:00:00"),
            message("A", 0, "09:00:00", "RECEIVED", transaction_id="T"),
            *(message("B", number, "04:00:00") for number in range(30)),
        ],
        "queue_events": READ,
    }
    case = log_of(tmp_path, rows, MONITORED)
    night = case.nightly()
    assert night.code == 0
    assert f"- I.D.B: {STAND}" in night.out.splitlines()
    found = {row["queue"]: row["advice"] for row in case.table("activation_summary", ["queue", "advice"])}
    assert found == {"A": "keeps_up", "B": "not_known"}
    assert STAND in case.job("activation", "--as-of", AS_OF, "--queue", "B").out.splitlines()


def test_receives_without_messages_are_no_slow_readers(session: SparkSession, tmp_path: Path) -> None:
    """The log has RECEIVE and no RECEIVED: what stands in the queue is not known, nor what readers missed."""
    exits = [statement("A", "08:00:00", "TASK_STARTED"), statement("A", "09:30:00", "TASK_EXITED")]
    rows = {
        "endpoint_events": [created("A")],
        "message_events": [message("A", number, "04:00:00") for number in range(30)],
        "queue_events": [*READ, *exits],
    }
    case = log_of(tmp_path, rows, MONITORED[:1])
    night = case.nightly()
    assert night.code == 0
    [row] = case.table("activation_summary", ["advice", "sentence"])
    assert row["advice"] == "not_known"
    assert "the log lacks what they received" in row["sentence"]
    first = night.out.splitlines().index("Note")
    assert night.out.splitlines()[first + 1] == (
        "- no input has a RECEIVED event: messages that were received, but not logged so, count as waiting"
    )


def without_activation(case: Case) -> None:
    """The queue has no procedure: its monitor is external, and only the snapshot knows of it."""
    path = case.folder / "snap/service_queues.csv"
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row.update({"activation_procedure": "", "is_activation_enabled": "0", "max_readers": ""})
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_a_monitor_that_only_a_snapshot_knows(open_case: OpenCase) -> None:
    case = open_case("field-13-activation-stuck")
    without_activation(case)
    sentence = (
        "30 messages stand in the queue; the monitor is NOTIFIED since 2026-11-20T04:00:00Z: the application "
        "was notified and did not RECEIVE (snapshot of 2026-11-20T10:00:00Z)"
    )
    assert f"- MILL1.MillDB.MillQueue: {sentence}" in case.nightly().out.splitlines()
    shown = case.job("activation", "--as-of", AS_OF, "--queue", "MillDB.MillQueue")
    assert shown.code == 0
    assert shown.out.splitlines() == [
        "MILL1.MillDB.MillQueue (no monitor in the catalog), 2026-11-19 10:00 to 2026-11-20 10:00",
        sentence,
        "The monitor at 2026-11-20T10:00:00Z: NOTIFIED; last activated 2026-11-20T04:00:00Z; last empty "
        "RECEIVE 2026-11-20T03:00:00Z; sessions in a RECEIVE 0; activated tasks not known.",
    ]
    found = case.job("activation", "--as-of", AS_OF, "--queue", "MillQueue", "--format", "json").json
    assert (found["advice"], found["ready_at_end"], found["mode"], found["runs"]) == (
        "not_received",
        30,
        None,
        [],
    )
    assert found["monitor"]["state"] == "NOTIFIED"


@pytest.mark.spark
def test_a_receive_since_the_notification_answers_it(open_case: OpenCase) -> None:
    """The log knows of a RECEIVE after the snapshot's monitor was notified."""
    case = open_case("field-13-activation-stuck")
    without_activation(case)
    event = {**at("09:00:00"), "instance": "MILL1", "database": "MillDB", "queue": "MillQueue"}
    for name in EVENTS:
        (case.folder / name).mkdir()
    path = case.folder / "queue_events/a.jsonl"
    path.write_text(json.dumps({**event, "event_id": "r", "event_type": "RECEIVE", "row_count": 1}) + "\n")
    settings = yaml.safe_load(Path(case.config).read_text())
    settings["inputs"] = {name: {"path": name, "format": "json"} for name in EVENTS}
    Path(case.config).write_text(yaml.safe_dump(settings))
    night = case.nightly()
    assert night.code == 0
    assert "did not RECEIVE" not in night.out
    found = case.job("activation", "--as-of", AS_OF, "--queue", "MillQueue", "--format", "json").json
    assert found["advice"] == "not_known"


def test_a_monitor_that_only_a_snapshot_knows_on_a_queue_that_is_off(open_case: OpenCase) -> None:
    case = open_case("field-14-poison-queue")
    without_activation(case)
    monitors = case.folder / "snap/dm_broker_queue_monitors.csv"
    monitors.write_text(monitors.read_text().rstrip("\n") + "\n5,245575913,INACTIVE,,,0\n")
    assert case.nightly().code == 0
    shown = case.job("activation", "--as-of", AS_OF, "--queue", "MillQueue")
    assert shown.code == 0
    assert "The queue is off; 20 messages stand in the queue" in shown.out.splitlines()
    assert "5 more wait for this queue" in shown.out
    assert "No message stands" not in shown.out


def test_a_queue_without_a_monitor_where_no_queue_has_one(open_case: OpenCase) -> None:
    case = open_case("field-18-priority-ignored")
    assert case.nightly().code == 0
    shown = case.job("activation", "--as-of", AS_OF, "--queue", "TargetQueue")
    assert (shown.code, shown.out) == (2, "")
    assert shown.err.endswith(f"has no monitor in {case.folder / 'catalog.yaml'}; no queue has one\n")


def test_a_service_that_no_view_shows_is_no_name(open_case: OpenCase) -> None:
    """Of a queue alone the far service is not known: no rule is for a service of the name ''."""
    case = open_case("field-20-partial-dumps", settings="settings-onlyq.yaml")
    assert case.nightly().code == 0
    lint = case.job("lint_rules", "--format", "json")
    [finding] = lint.json
    assert "remote service not known" in finding["sentence"]
    assert "would get 5 today" in finding["sentence"]
    assert "REMOTE_SERVICE_NAME = ANY" in finding["fix"]
    explained = case.job("explain", "--conversation", "A0000000-0000-4000-8000-000000000001").out
    assert "contract OrderContract, local service MillService, remote service not known" in explained


def test_a_level_of_the_default_is_the_default_today(open_case: OpenCase) -> None:
    case = open_case("field-13-activation-stuck")
    assert case.nightly().code == 0
    explained = case.job("explain", "--conversation", "C0000000-0000-4000-8000-000000000064").out
    assert "level 5, the server's own, and the default today, as no rule matches" in explained


def test_a_snapshot_does_not_differ_from_itself(open_case: OpenCase) -> None:
    """No catalog file says that the queue is on: the view alone says that it is off."""
    case = open_case("field-14-poison-queue")
    assert case.nightly().code == 0
    assert case.job("differences", "--format", "json").json["catalog"] == []


def test_nothing_waits_is_an_answer(open_case: OpenCase) -> None:
    case = open_case("field-16-stuck-transmission")
    assert case.nightly().code == 0
    idle = case.job("next", "--queue", "MillQueue")
    assert (idle.code, idle.out) == (
        0,
        "Received next at 2026-11-20T10:00:00Z: MILL1.MillDB.MillQueue: nothing waits there\n",
    )
    found = case.job("next", "--queue", "MillQueue", "--format", "json").json
    assert (found["next"], found["held_back"], found["queue_off"]) == ([], {}, None)


def test_locks_of_a_queue_without_events_are_not_known(open_case: OpenCase) -> None:
    """The log has queue events, and none of this queue: a deviation there is not one without a lock."""
    case = open_case("field-18-priority-ignored")
    path = case.folder / "log/queue_events/a.jsonl"
    path.write_text(path.read_text().replace("TargetQueue", "Other"))
    assert case.nightly().code == 0
    said = case.job("conformance").out
    assert (
        "took group G04 of MILL1.MillDB.TargetQueue at level 3 while 1 group up to level 9 was there" in said
    )
    assert "unexplained; locks and WHERE are not known" in said
    assert "no lock, no WHERE" not in said


def test_the_page_counts_messages_that_wait_for_a_queue_that_is_off(open_case: OpenCase) -> None:
    """Five wait to be sent, at every place of the page as in the other jobs."""
    case = open_case("field-14-poison-queue")
    assert case.nightly().code == 0
    page = case.folder / "page.html"
    assert case.job("report", "--out", page).code == 0
    text = page.read_text(encoding="utf-8")
    parts = json.loads(text.split('id="data">')[1].split("</script>")[0])["parts"]
    for name in ("transmission_levels", "transmission_places"):
        messages = parts[name]["columns"].index("messages")
        assert sum(row[messages] for row in parts[name]["rows"]) == 5, name
