"""Queues that are off, the message behind it, and messages that the catalog or the snapshot can't place."""

import json
from pathlib import Path

import pytest
import yaml

from pipelines.config.catalog import Catalog
from pipelines.questions.unresolved import describe_unresolved
from tests.field.running import AS_OF, Case, OpenCase, Outcome, Row, parts_of, rewrite, table_of
from tests.field.servers import Servers, leave_header

pytestmark = pytest.mark.slow

POISON = "field-14-poison-queue"

# --- A queue that a snapshot shows off ---

SEEN_OFF = "the queue was seen off at 2026-11-20T10:00:00Z by a snapshot"
OFF = (
    f"FULL.MillDB.MillQueue: {SEEN_OFF}; 20 messages stand in it and 5 more wait for this queue, in a "
    "transmission queue of FULL; the log has no RECEIVED of them that was rolled back"
)


def empty(snap: Path) -> Row:
    """Nothing stands in the queue, and five messages wait for it."""
    leave_header(snap / "dbo.MillQueue.csv")
    return {"complete": []}


def with_external_monitor(snap: Path) -> None:
    """The queue has no procedure, and only the snapshot knows of its monitor."""
    nothing = {"activation_procedure": "", "is_activation_enabled": "0", "max_readers": ""}
    rewrite(snap / "service_queues.csv", lambda row: row.update(nothing))
    with (snap / "dm_broker_queue_monitors.csv").open("a") as monitors:
        monitors.write("5,245575913,INACTIVE,,,0\n")


def lost(instance: str, database: str) -> dict[str, list[Row]]:
    """A message to a service that nothing shows."""
    common = {"event_time": "2026-11-20T09:00:00Z", "instance": instance, "database": database}
    common |= {"conversation_id": "X"}
    names = {"contract": "C", "local_service": "Lost", "remote_service": "far", "is_initiator": False}
    created = {**common, **names, "conversation_group_id": "G", "event_type": "DIALOG_CREATED"}
    what = {"message_id": "X/0", "message_sequence_number": 0, "message_type": "T"}
    sent = {**common, **what, "sent_by_initiator": True, "event_type": "DELIVERED"}
    return {"endpoint_events": [created], "message_events": [sent]}


@pytest.fixture(scope="module")
def off(open_case: OpenCase) -> Servers:
    """Three servers with a queue that is off, and a message to a service that no snapshot shows."""
    case = open_case(POISON)
    case.set_log({"queue_events": [], **lost("FAR", "FarDB")})
    forms = {"FULL": lambda snap: None, "EMPTY": empty, "EXTERNAL": with_external_monitor}
    return Servers(case, forms)


def test_a_queue_that_is_off_holds_messages_in_two_places(off: Servers) -> None:
    case, night = off.case, off.night
    seen = "which was seen off at 2026-11-20T10:00:00Z."
    assert {
        f"- Stopped. Queue FULL.MillDB.MillQueue: 20 messages wait in queue FULL.MillDB.MillQueue, {seen}",
        f"- Stopped. To be sent by FULL: 5 messages wait for queue FULL.MillDB.MillQueue, {seen}",
    } <= set(night.out.splitlines())
    assert "off since" not in night.out
    assert "0 rollbacks" not in night.out
    # It has a position in the table, and is not what is sent first.
    assert "First rows of transmission_schedule" not in night.out
    columns = ["instance", "off_since", "sentence"]
    [summary] = [row for row in case.table("activation_summary", columns) if row["instance"] == "FULL"]
    assert summary == {
        "instance": "FULL",
        "off_since": None,
        "sentence": "The queue was seen off at 2026-11-20T10:00:00Z by a snapshot. How many rollbacks there "
        "were is not known: the log has no COMMIT and no ROLLBACK of FULL in the window. 20 messages are "
        "left in it. Find what could not be read, then turn the queue on.",
    }
    assert sorted(row["position"] for row in off.rows("transmission_schedule", "FULL")) == [1, 2, 3, 4, 5]
    assert OFF in case.lines("next", "--queue", "FULL.MillDB.MillQueue")
    of_instance = ("next", "--instance", "FULL", "--transmission")
    assert case.lines(*of_instance) == ["Sent next at 2026-11-20T10:00:00Z: FULL: nothing can be sent", OFF]
    found = case.ask(*of_instance)
    assert (found["next"], found["held_back"]) == ([], {"queue_off": 5})
    assert OFF in case.lines("waiting")
    message = ("explain", "--message", "C0000000-0001-4000-8000-0000000001F4/initiator/0")
    explained = case.lines(*message)
    assert (
        "It waits in a transmission queue of FULL, held by MillDB, for FULL.MillDB.MillQueue, which is off."
        in explained
    )
    assert "position 1" not in "\n".join(explained)
    [place] = case.ask(*message)["transmissions"]
    assert (place["position"], place["waits_for"]) == (None, "FULL.MillDB.MillQueue")
    # No catalog file says that the queue is on: a snapshot does not differ from itself.
    assert case.ask("differences")["catalog"] == []


def test_the_page_counts_messages_that_wait_for_a_queue_that_is_off(off: Servers) -> None:
    """Five of each server wait to be sent, at every place of the page as in the other jobs."""
    page = off.case.folder / "page.html"
    off.case.lines("report", "--out", page)
    parts = parts_of(page)
    found = [
        (row["place"], row["messages"], row["details"][0]["since"])
        for row in parts["findings"]
        if "FULL" in row["place"] and row["code"] == "queue_off"
    ]
    assert found == [
        ("Queue FULL.MillDB.MillQueue", 20, "2026-11-20T10:00:00Z"),
        ("To be sent by FULL", 5, "2026-11-20T10:00:00Z"),
    ]
    assert parts["transmission_top"] == []
    for name in ("transmission_levels", "transmission_places"):
        assert sum(row["messages"] for row in parts[name]) == 15, name


def test_a_queue_that_is_off_and_empty(off: Servers) -> None:
    """Not "0 messages", and not "nothing waits"."""
    said = f"EMPTY.MillDB.MillQueue: {SEEN_OFF}; 5 wait for this queue, in a transmission queue of EMPTY"
    found = "To be sent by EMPTY: 5 messages wait for queue EMPTY.MillDB.MillQueue, which was seen off"
    assert f"- Stopped. {found}" in off.night.out
    assert said in off.case.lines("next", "--queue", "EMPTY.MillDB.MillQueue")
    shown = "\n".join(off.case.lines("activation", "--as-of", AS_OF, "--queue", "EMPTY.MillDB.MillQueue"))
    assert "5 wait for this queue" in shown
    assert " 0 messages" not in shown


def test_a_monitor_that_only_a_snapshot_knows_on_a_queue_that_is_off(off: Servers) -> None:
    shown = off.case.lines("activation", "--as-of", AS_OF, "--queue", "EXTERNAL.MillDB.MillQueue")
    assert "The queue is off; 20 messages stand in the queue" in shown
    assert "5 more wait for this queue" in "\n".join(shown)
    assert "No message stands" not in "\n".join(shown)


def test_without_a_catalog_file_it_says_where_to_write_it(off: Servers) -> None:
    said = "Add to a catalog file, which the settings name under catalog, with the name of each queue in"
    assert said in off.night.out
    assert "is there already" not in off.night.out


# --- A queue that a log shows off ---

ONE_LATER = "2026-11-20T11:00:00Z"
LACKED = "1 message is not matched to a queue: 1 service_not_in_catalog"


@pytest.fixture(scope="module")
def logged(open_case: OpenCase) -> tuple[Case, Outcome]:
    """A queue that a log shows off, and a message to a service that the catalog lacks."""
    case = open_case(POISON, settings="settings-log.yaml")
    for name, rows in lost("MILL1", "EtlDB").items():
        lines = [json.dumps({"event_id": "lost", **row}) + "\n" for row in rows]
        (case.folder / "log-log" / name / "b.jsonl").write_text("".join(lines))
    return case, case.nightly(ONE_LATER, "--fail-on", "unresolved")


def test_the_message_behind_five_rollbacks(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
    said = (
        "message m-0 of conversation CC000000-0000-4000-8000-000000000000 in group "
        "E2000000-0000-4000-8000-000000000000 was received and rolled back 5 times, last at "
        "2026-11-20T09:00:05Z"
    )
    assert (
        "- Stopped. Queue MILL1.EtlDB.EtlQueue: 60 messages wait in queue MILL1.EtlDB.EtlQueue, "
        "which has been off since 2026-11-20T09:00:06Z; message m-0 was rolled back five times or more."
    ) in night.out.splitlines()
    assert said in case.job("activation", "--as-of", ONE_LATER, "--queue", "EtlQueue").out
    assert said in case.job("next", "--queue", "EtlQueue").out
    waiting = case.lines("waiting")
    assert said in "\n".join(waiting)
    assert LACKED in waiting
    again = "It was received and rolled back 5 times, last at 2026-11-20T09:00:05Z in transaction T4."
    assert again in case.lines("explain", "--message", "m-0")
    found = case.ask("next", "--queue", "EtlQueue")
    assert (found["next"], found["held_back"]) == ([], {"queue_off": 60})
    assert found["queue_off"]["rolled_back"]["message_id"] == "m-0"


def test_fail_on_unresolved_publishes_and_ends_with_6(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
    assert night.code == 6
    assert night.err.splitlines()[-1].startswith(
        "error: --fail-on unresolved: published, but 1 open message is not matched to a queue at "
        "2026-11-20T11:00:00Z"
    )
    assert table_of(case.folder / "warehouse-log", "runs", ["status"])[0] == {"status": "succeeded"}
    lines = night.out.splitlines()
    assert LACKED in lines
    assert "Nothing waits" not in night.out
    [row] = case.ask("waiting")["unplaced"]
    shown = ("reason", "instance", "database", "local_service", "messages")
    assert [row[name] for name in shown] == ["service_not_in_catalog", "MILL1", "EtlDB", "Lost", 1]
    nothing = case.job("next", "--queue", "LegacyQueue")
    assert nothing.code == 1
    assert "nothing waits" not in nothing.err
    assert "1 open message is not matched to a queue" in nothing.err


# --- What to add to the catalog ---

NAMES = [
    *("//a/b: c", "on", "#x", "été", "it's", 'q"q', "null", "1.5", "a,b", "{x}", "- z", "a\\b", "~", "@at"),
    *("tab\tin", " lead", "trail ", "line\u2028end", "next\u0085line", "zero\u200bwidth", "tag\U000e0001"),
    *("music\U0001d173", "\U0001f600", "k: v #c"),
]
PLACES = [
    (("MILL1", "on: x")[number % 2], ("EtlDB", "#db", "yes")[number % 3], name)
    for number, name in enumerate(NAMES)
]
"""Instance, database and service of what the catalog lacks: some within what it has, some not."""


def lacking(instance: str, database: str, service: str) -> Row:
    place = {"instance": instance, "database": database, "local_service": service}
    return {"kind": "receive", "reason": "service_not_in_catalog", "messages": 1, **place}


def catalog_of(instance: str) -> Catalog:
    database = {"name": "EtlDB", "queues": [{"name": "EtlQueue"}]}
    database |= {"services": [{"name": "EtlService", "queue": "EtlQueue"}]}
    return Catalog.model_validate({"instances": [{"name": instance, "databases": [database]}]})


def test_names_of_any_form_are_printed_as_a_catalog() -> None:
    rows = [lacking(*place) for place in PLACES]
    lines = list(describe_unresolved(rows, catalog_of("MILL1"), "catalog.yaml"))
    first = lines.index("instances:")
    assert lines[first - 1] == "Add to catalog.yaml, with the name of each queue in place of QUEUE_OF_...:"
    assert lines[first + 1] == "  - name: MILL1  # is there already"
    assert "      - name: EtlDB  # is there already" in lines
    bound = [
        (instance["name"], database["name"], service["name"], service["queue"])
        for instance in yaml.safe_load("\n".join(lines[first:]))["instances"]
        for database in instance["databases"]
        for service in database["services"]
    ]
    assert sorted(bound) == sorted((*place, f"QUEUE_OF_{place[2]}") for place in PLACES)


def test_an_instance_that_the_catalog_spells_otherwise() -> None:
    row = lacking("MILL1", "EtlDB", "EtlService")
    assert list(describe_unresolved([row], catalog_of("MIL1"), "catalog.yaml")) == [
        "1 message is not matched to a queue: 1 service_not_in_catalog",
        "  1: the catalog has no service EtlService in MILL1.EtlDB (service_not_in_catalog)",
        "The catalog has these services in MIL1.EtlDB: if that is MILL1.EtlDB, correct its name there.",
        "Add to catalog.yaml:",
        "instances:",
        "  - name: MILL1",
        "    databases:",
        "      - name: EtlDB",
        "        queues:",
        "          - {name: EtlQueue}",
        "        services:",
        "          - {name: EtlService, queue: EtlQueue}",
    ]
