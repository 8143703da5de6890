"""What the answers know, what they say they do not know, and what waits that a table alone does not show."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.field.running import Case, table_of
from tests.support.open_case import OpenCase

pytestmark = pytest.mark.slow

ONE_LATER = "2026-11-20T11:00:00Z"
STUCK = (
    "30 messages stand in the queue and nothing has been received since 2026-11-20T04:00:00Z; the monitor is "
    "NOTIFIED: the procedure was started and did not RECEIVE (snapshot of 2026-11-20T10:00:00Z)."
)


def rewrite(path: Path, change: Callable[[dict[str, str]], None]) -> None:
    """Change the rows of a CSV file."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        change(row)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def with_settings(case: Case, **changes: Any) -> None:
    """Change the case's settings."""
    path = Path(case.config)
    path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **changes}))


@pytest.mark.spark
def test_a_monitor_that_is_notified_and_nothing_received(open_case: OpenCase) -> None:
    case = open_case("field-13-activation-stuck")
    night = case.nightly()
    assert night.code == 0
    assert f"- MILL1.MillDB.MillQueue: {STUCK}" in night.out.splitlines()
    assert night.out.index("Look at first") < night.out.index("Waiting at")
    shown = case.job("activation", "--as-of", "2026-11-20T10:00:00Z", "--queue", "MillQueue").out
    assert STUCK in shown.splitlines()
    assert (
        "The monitor at 2026-11-20T10:00:00Z: NOTIFIED; last activated 2026-11-20T04:00:00Z; last empty "
        "RECEIVE 2026-11-20T03:00:00Z; sessions in a RECEIVE 0; activated tasks not known."
    ) in shown
    assert "keep" not in shown
    assert "started  " not in shown
    found = case.job(
        "activation", "--as-of", "2026-11-20T10:00:00Z", "--queue", "MillQueue", "--format", "json"
    )
    assert (found.json["advice"], found.json["sentence"]) == ("not_received", STUCK)
    assert found.json["monitor"] == {
        "taken_at": "2026-11-20T10:00:00Z",
        "state": "NOTIFIED",
        "last_activated_time": "2026-11-20T04:00:00Z",
        "last_empty_rowset_time": "2026-11-20T03:00:00Z",
        "tasks_waiting": 0,
        "tasks_running": None,
    }


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        pytest.param({"state": "RECEIVES_OCCURRING"}, "not_known", id="receiving"),
        pytest.param({"state": "notified "}, "not_received", id="spelling"),
        pytest.param({"last_activated_time": "2026-11-20 09:59:55.000"}, "not_known", id="just started"),
        pytest.param({"last_activated_time": "1900-01-01 00:00:00.000"}, "not_received", id="no time"),
        pytest.param({"last_activated_time": ""}, "not_received", id="null"),
    ],
)
def test_what_a_monitor_shows(open_case: OpenCase, changes: dict[str, str], advice: str) -> None:
    case = open_case("field-13-activation-stuck")
    rewrite(case.folder / "snap/dm_broker_queue_monitors.csv", lambda row: row.update(changes))
    assert case.nightly().code == 0
    [row] = case.table("activation_summary", ["advice", "sentence"])
    assert row["advice"] == advice
    assert "1900" not in row["sentence"]
    assert "keep" not in row["sentence"]


def test_a_task_that_runs_and_does_not_receive(open_case: OpenCase) -> None:
    case = open_case("field-13-activation-stuck")
    (case.folder / "snap/dm_broker_activated_tasks.csv").write_text("spid,queue_id\n53,245575913\n")
    assert case.nightly().code == 0
    [row] = case.table("activation_summary", ["sentence"])
    assert "the procedure was started, is still running, and did not RECEIVE" in row["sentence"]
    [monitor] = case.table("queue_monitors", ["queue", "tasks_running"])
    assert monitor == {"queue": "MillQueue", "tasks_running": 1}


def test_a_receive_since_then_is_an_answer(open_case: OpenCase) -> None:
    """The log knows of a RECEIVE after the monitor's last activation: its readers came."""
    case = open_case("field-13-activation-stuck")
    event = {
        "event_id": "r",
        "event_time": "2026-11-20T09:00:00Z",
        "instance": "MILL1",
        "database": "MillDB",
        "queue": "MillQueue",
        "event_type": "RECEIVE",
        "row_count": 1,
    }
    (case.folder / "log").mkdir()
    (case.folder / "log/a.jsonl").write_text(json.dumps(event) + "\n")
    empty = {name: {"path": name, "format": "json"} for name in ("endpoint_events", "message_events")}
    for name in empty:
        (case.folder / name).mkdir()
    with_settings(case, inputs={**empty, "queue_events": {"path": "log", "format": "json"}})
    assert case.nightly().code == 0
    [row] = case.table("activation_summary", ["advice"])
    assert row["advice"] != "not_received"


def test_without_queue_events_it_is_not_known_what_readers_did(open_case: OpenCase) -> None:
    case = open_case("field-13-activation-stuck", settings="settings-log.yaml")
    night = case.nightly(ONE_LATER)
    said = (
        "What readers did is not known: the log has no queue events of MILL1 in the window. As far as is "
        "known, 60 messages waited at its end."
    )
    assert night.code == 0
    assert f"- MILL1.EtlDB.EtlQueue: {said}" in night.out.splitlines()
    assert "no input has a RECEIVED event" in night.out
    shown = case.job("activation", "--as-of", ONE_LATER, "--queue", "EtlQueue")
    assert said in shown.out.splitlines()
    assert "keep" not in shown.out
    assert "reader started" not in shown.out
    assert "it is no log of what it did" in shown.out


def test_a_log_that_ends_long_before(open_case: OpenCase) -> None:
    case = open_case("field-14-poison-queue", settings="settings-log.yaml")
    night = case.nightly("2026-11-29T11:00:00Z")
    assert (
        "- the newest data is 9 days older than as_of: it is of 2026-11-20T09:19:40Z, as_of is "
        "2026-11-29T11:00:00Z; what happened since is not known"
    ) in night.out.splitlines()
    leaks = case.job("leaks")
    assert leaks.code == 0
    assert "No endpoint is known to leak at 2026-11-29T11:00:00Z" in leaks.out
    assert "60 endpoints had no known traffic for 7 days" in leaks.out
    found = case.job("leaks", "--format", "json").json
    assert found["endpoints"] == 0
    assert {row["reason"] for row in found["kinds"]} == {"traffic_not_known"}


@pytest.mark.spark
def test_the_message_behind_five_rollbacks(open_case: OpenCase) -> None:
    case = open_case("field-14-poison-queue", settings="settings-log.yaml")
    night = case.nightly(ONE_LATER)
    said = (
        "message m-0 of conversation CC000000-0000-4000-8000-000000000000 in group "
        "E2000000-0000-4000-8000-000000000000 was received and rolled back 5 times, last at "
        "2026-11-20T09:00:05Z"
    )
    whole = f"the queue is off since 2026-11-20T09:00:06Z; 60 messages stand in it; {said}"
    assert f"- MILL1.EtlDB.EtlQueue: {whole}" in night.out.splitlines()
    assert said in case.job("activation", "--as-of", ONE_LATER, "--queue", "EtlQueue").out
    assert said in case.job("next", "--queue", "EtlQueue").out
    assert said in case.job("waiting").out
    explained = case.job("explain", "--message", "m-0")
    assert (
        "It was received and rolled back 5 times, last at 2026-11-20T09:00:05Z in transaction T4."
        in explained.out.splitlines()
    )
    found = case.job("next", "--queue", "EtlQueue", "--format", "json").json
    assert (found["next"], found["held_back"], found["queue_off"]["rolled_back"]["message_id"]) == (
        [],
        {"queue_off": 60},
        "m-0",
    )


@pytest.mark.spark
def test_a_queue_that_is_off_holds_messages_in_two_places(open_case: OpenCase, tmp_path: Path) -> None:
    case = open_case("field-14-poison-queue")
    night = case.nightly()
    said = (
        "MILL1.MillDB.MillQueue: the queue was seen off at 2026-11-20T10:00:00Z by a snapshot; 20 messages "
        "stand in it and 5 more wait for this queue, in a transmission queue of MILL1; the log has no "
        "RECEIVED of them that was rolled back"
    )
    assert f"- {said}" in night.out.splitlines()
    assert "off since" not in night.out
    assert "0 rollbacks" not in night.out
    # It has a position in the table, and is not what is sent first.
    assert "First rows of transmission_schedule" not in night.out
    [summary] = case.table("activation_summary", ["off_since", "sentence"])
    assert summary == {
        "off_since": None,
        "sentence": "The queue was seen off at 2026-11-20T10:00:00Z by a snapshot. How many rollbacks there "
        "were is not known: the log has no COMMIT and no ROLLBACK of MILL1 in the window. 20 messages are "
        "left in it. Find what could not be read, then turn the queue on.",
    }
    assert sorted(row["position"] for row in case.table("transmission_schedule")) == [1, 2, 3, 4, 5]
    assert said in case.job("next", "--queue", "MillQueue").out.splitlines()
    sent = case.job("next", "--instance", "MILL1", "--transmission")
    assert sent.out.splitlines() == ["Sent next at 2026-11-20T10:00:00Z: MILL1: nothing can be sent", said]
    found = case.job("next", "--instance", "MILL1", "--transmission", "--format", "json").json
    assert (found["next"], found["held_back"]) == ([], {"queue_off": 5})
    assert said in case.job("waiting").out.splitlines()
    message = "C0000000-0000-4000-8000-0000000001F4/initiator/0"
    explained = case.job("explain", "--message", message)
    assert (
        "It waits in a transmission queue of MILL1, held by MillDB, for MILL1.MillDB.MillQueue, which is off."
        in explained.out.splitlines()
    )
    assert "position 1" not in explained.out
    [place] = case.job("explain", "--message", message, "--format", "json").json["transmissions"]
    assert (place["position"], place["waits_for"]) == (None, "MILL1.MillDB.MillQueue")
    page = tmp_path / "page.html"
    assert case.job("report", "--out", page).code == 0
    parts = parts_of(page)
    [row] = parts["queues_off"]
    assert (row["messages"], row["waiting"], row["off_since"], row["seen_off_at"]) == (
        20,
        5,
        None,
        "2026-11-20T10:00:00Z",
    )
    assert parts["transmission_top"] == []


def test_a_queue_that_is_off_and_empty(open_case: OpenCase) -> None:
    """Nothing stands in it, and five messages wait for it: not "0 messages", and not "nothing waits"."""
    case = open_case("field-14-poison-queue")
    queue = case.folder / "snap/dbo.MillQueue.csv"
    queue.write_text(queue.read_text().splitlines()[0] + "\n")
    with_settings(case, snapshots=[snapshot_without_complete(case)])
    night = case.nightly()
    assert night.code == 0
    said = (
        "MILL1.MillDB.MillQueue: the queue was seen off at 2026-11-20T10:00:00Z by a snapshot; 5 wait for "
        "this queue, in a transmission queue of MILL1"
    )
    assert f"- {said}" in night.out.splitlines()
    assert said in case.job("next", "--queue", "MillQueue").out.splitlines()
    shown = case.job("activation", "--as-of", "2026-11-20T10:00:00Z", "--queue", "MillQueue").out
    assert "5 wait for this queue" in shown
    assert " 0 messages" not in shown


def snapshot_without_complete(case: Case) -> dict[str, Any]:
    [snapshot] = yaml.safe_load(Path(case.config).read_text())["snapshots"]
    return {name: value for name, value in snapshot.items() if name != "complete"}


@pytest.mark.spark
def test_what_the_server_says_stands_first(open_case: OpenCase, tmp_path: Path) -> None:
    case = open_case("field-16-stuck-transmission")
    night = case.nightly()
    assert night.code == 0
    texts = [
        "Connecting failed: '10060(no answer, within the time, from the other host)'.",
        'Dropped: no service of the name "Warehouse", said the transport.',
        "Reading from the peer failed: '10054(the other side closed the connection)'.",
        "The broker of the sending database is off.",
        "The service named in TO is not known here: check its spelling, and the routes.",
    ]
    lines = night.out.splitlines()
    assert lines[0] == "Why messages still wait to be sent, as the server says"
    assert [line.split(" (oldest")[0] for line in lines[1:7]] == [
        *(f"  1 message: {text}" for text in texts),
        "  1 message: (no transmission_status: not tried yet, or no snapshot shows the message)",
    ]
    sent = case.job("next", "--instance", "MILL1", "--transmission")
    assert f"position 2, the server says: {texts[4]}" in sent.out.splitlines()
    found = case.job("next", "--instance", "MILL1", "--transmission", "--format", "json").json["next"]
    assert [row["why_still_here"] for row in found] == [
        None,
        texts[4],
        texts[1],
        texts[2],
        texts[0],
        texts[3],
    ]
    message = "C0000000-0000-4000-8000-0000000002BD/initiator/0"
    explained = case.job("explain", "--message", message).out
    assert f"Why it is still here, as the server says: {texts[4]}" in explained.splitlines()
    [place] = case.job("explain", "--message", message, "--format", "json").json["transmissions"]
    assert place["why_still_here"] == texts[4]
    assert case.job("waiting").out.startswith("Why messages still wait to be sent, as the server says\n")
    page = tmp_path / "page.html"
    assert case.job("report", "--out", page).code == 0
    rows = parts_of(page)["transmission_status"]
    assert [(row["messages"], row["why_still_here"]) for row in rows] == [
        *((1, text) for text in texts),
        (1, None),
    ]


@pytest.mark.spark
def test_closed_endpoints_that_the_server_keeps(open_case: OpenCase) -> None:
    case = open_case("field-16-stuck-transmission")
    # The last one was begun twenty minutes before the snapshot.
    late = "2094-12-08 12:54:07.000"
    states = iter([("CD", ""), ("ER", ""), ("DI", ""), ("CD", ""), ("CO", ""), ("CD", late)])

    def change(row: dict[str, str]) -> None:
        state, lifetime = next(states)
        row.update({"state": state, "lifetime": lifetime or row["lifetime"]})

    rewrite(case.folder / "snap/conversation_endpoints.csv", change)
    assert case.nightly().code == 0
    found = case.job("leaks", "--format", "json").json
    assert [(row["reason"], row["endpoints"]) for row in found["kinds"]] == [
        ("closed", 2),
        ("far_side_ended", 1),
    ]
    assert found["endpoints"] == 3
    said = {
        "BC": "CLOSED (CD): both sides have ended, and the server still keeps it.",
        "BD": "ERROR (ER): an error has come to it, and it can neither send nor receive more messages.",
        "BE": "DISCONNECTED_INBOUND (DI): the far side has ended, and this one has not.",
    }
    for ending, text in said.items():
        out = case.job("explain", "--conversation", f"C0000000-0000-4000-8000-0000000002{ending}").out
        assert f"The snapshot of 2026-11-20T10:00:00Z shows it {text}" in out.splitlines()
    out = case.job("explain", "--conversation", "C0000000-0000-4000-8000-0000000002C0").out
    assert "The snapshot of" not in out
    assert "not known to have ended" in out
    # Days later the newest snapshot is still the same: what it shows closed may be there.
    assert case.nightly("2026-11-23T10:00:00Z").code == 0
    found = case.job("leaks", "--as-of", "2026-11-23T10:00:00Z", "--format", "json").json
    assert [(row["reason"], row["endpoints"]) for row in found["kinds"]] == [
        ("closed", 2),
        ("far_side_ended", 1),
    ]


@pytest.fixture
def renamed(open_case: OpenCase) -> Case:
    """A catalog in which the instance has another name, and that lacks nothing else."""
    case = open_case("field-14-poison-queue", settings="settings-log.yaml")
    catalog = case.folder / "catalog.yaml"
    catalog.write_text(catalog.read_text().replace("MILL1", "MIL1"))
    return case


def test_an_instance_that_the_catalog_spells_otherwise(renamed: Case) -> None:
    night = renamed.nightly(ONE_LATER)
    assert night.code == 0
    lines = night.out.splitlines()
    first = lines.index("60 messages can't be placed: 60 service_not_in_catalog")
    assert first < lines.index("Events so far")
    assert lines[first + 1 : first + 12] == [
        "  60: the catalog has no service EtlService in MILL1.EtlDB (service_not_in_catalog)",
        "The catalog has these services in MIL1.EtlDB: if that is MILL1.EtlDB, correct its name there.",
        f"Add to {renamed.folder / 'catalog.yaml'}:",
        "instances:",
        "  - name: MILL1",
        "    databases:",
        "      - name: EtlDB",
        "        queues:",
        "          - {name: EtlQueue}",
        "        services:",
        "          - {name: EtlService, queue: EtlQueue}",
    ]
    assert "Nothing waits" not in night.out
    waiting = renamed.job("waiting")
    assert "60 messages can't be placed: 60 service_not_in_catalog" in waiting.out.splitlines()
    [row] = renamed.job("waiting", "--format", "json").json["unplaced"]
    assert (row["reason"], row["instance"], row["local_service"], row["messages"]) == (
        "service_not_in_catalog",
        "MILL1",
        "EtlService",
        60,
    )
    nothing = renamed.job("next", "--queue", "EtlQueue")
    assert nothing.code == 1
    assert "nothing waits" not in nothing.err
    assert "60 open messages can't be placed" in nothing.err


def test_the_yaml_to_add_places_them(renamed: Case) -> None:
    lines = renamed.nightly(ONE_LATER).out.splitlines()
    first = lines.index("instances:")
    added = yaml.safe_load("\n".join(lines[first : first + 8]))
    (renamed.folder / "catalog.yaml").write_text(yaml.safe_dump(added))
    again = renamed.nightly(ONE_LATER, "--fail-on", "unresolved")
    assert again.code == 0
    assert "can't be placed" not in again.out


def test_fail_on_unresolved_publishes_and_ends_with_6(renamed: Case) -> None:
    night = renamed.nightly(ONE_LATER, "--fail-on", "unresolved")
    assert night.code == 6
    assert night.err.splitlines()[-1].startswith(
        "error: --fail-on unresolved: published, but 60 open messages can't be placed at 2026-11-20T11:00:00Z"
    )
    [run] = table_of(renamed.folder / "warehouse-log", "runs", ["status"])
    assert run == {"status": "succeeded"}


def test_messages_that_no_endpoint_has_are_not_nothing(open_case: OpenCase) -> None:
    case = open_case("field-20-partial-dumps", settings="settings-onlyx.yaml")
    # Only what the view must have: nothing says whose the handle is.
    (case.folder / "onlyx" / "transmission_queue.csv").write_text(
        "enqueue_time,conversation_handle,message_sequence_number,message_type_name,is_conversation_error,"
        "is_end_of_dialog\n"
        "2026-11-20 09:05:00.000,A0000000-0000-4000-8000-000000000004,0,StockRequest,0,0\n"
    )
    night = case.nightly()
    assert night.code == 0
    assert "1 message can't be placed: 1 handle_unknown" in night.out
    assert "Nothing waits" not in night.out


def parts_of(page: Path) -> dict[str, list[dict[str, Any]]]:
    """The tables of a page, as rows by column."""
    text = page.read_text(encoding="utf-8")
    data = text.split('<script type="application/json" id="data">')[1].split("</script>")[0]
    parts = json.loads(data)["parts"]
    return {
        name: [dict(zip(part["columns"], row, strict=True)) for row in part["rows"]]
        for name, part in parts.items()
    }
