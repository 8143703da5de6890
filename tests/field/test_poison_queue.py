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
TO_ADD = "with the name of each queue in place of QUEUE_OF_...:"

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


@pytest.fixture(scope="module")
def off(open_case: OpenCase) -> Servers:
    """Three servers with a queue that is off, and a message to a service that no snapshot shows."""
    case = open_case(POISON)
    common = {"event_time": "2026-11-20T09:00:00Z", "instance": "FAR", "database": "FarDB"}
    common |= {"conversation_id": "X"}
    names = {"contract": "C", "local_service": "Lost", "remote_service": "far", "is_initiator": False}
    created = {**common, **names, "conversation_group_id": "G", "event_type": "DIALOG_CREATED"}
    what = {"message_id": "X/0", "message_sequence_number": 0, "message_type": "T"}
    sent = {**common, **what, "sent_by_initiator": True, "event_type": "DELIVERED"}
    case.set_log({"endpoint_events": [created], "message_events": [sent], "queue_events": []})
    forms = {"FULL": lambda snap: None, "EMPTY": empty, "EXTERNAL": with_external_monitor}
    return Servers(case, forms)


def test_a_queue_that_is_off_holds_messages_in_two_places(off: Servers) -> None:
    case, night = off.case, off.night
    assert f"- {OFF}" in night.out.splitlines()
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
    assert f"- {said}" in off.night.out.splitlines()
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
    assert (
        f"Add to a catalog file, which the settings name under catalog, {TO_ADD}"
        in off.night.out.splitlines()
    )
    assert "is there already" not in off.night.out


# --- A queue that a log shows off, and services that the catalog lacks ---

ONE_LATER, LATE = "2026-11-20T11:00:00Z", "2026-11-29T11:00:00Z"
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
LACKED = "24 messages are not matched to a queue: 24 service_not_in_catalog"


def add_messages(folder: Path) -> None:
    """A message to each of the services."""
    with (
        (folder / "endpoint_events" / "b.jsonl").open("w") as endpoints,
        (folder / "message_events" / "b.jsonl").open("w") as messages,
    ):
        for number, (instance, database, service) in enumerate(PLACES):
            common = {"event_id": f"p{number}", "event_time": "2026-11-20T09:00:00Z", "instance": instance}
            common |= {"database": database, "conversation_id": f"X{number}"}
            names = {"contract": "C", "local_service": service, "remote_service": "far"}
            group = {"is_initiator": False, "conversation_group_id": f"G{number}"}
            endpoints.write(json.dumps({**common, **names, **group, "event_type": "DIALOG_CREATED"}) + "\n")
            what = {"message_id": f"X{number}/0", "message_sequence_number": 0, "message_type": "T"}
            sent = {"sent_by_initiator": True, "event_type": "DELIVERED"}
            messages.write(json.dumps({**common, **what, **sent}) + "\n")


@pytest.fixture(scope="module")
def logged(open_case: OpenCase) -> tuple[Case, Outcome]:
    """A queue that a log shows off, and messages to services that the catalog lacks."""
    case = open_case(POISON, settings="settings-log.yaml")
    add_messages(case.folder / "log-log")
    return case, case.nightly(ONE_LATER, "--fail-on", "unresolved")


def test_the_message_behind_five_rollbacks(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
    said = (
        "message m-0 of conversation CC000000-0000-4000-8000-000000000000 in group "
        "E2000000-0000-4000-8000-000000000000 was received and rolled back 5 times, last at "
        "2026-11-20T09:00:05Z"
    )
    whole = f"the queue is off since 2026-11-20T09:00:06Z; 60 messages stand in it; {said}"
    assert f"- MILL1.EtlDB.EtlQueue: {whole}" in night.out.splitlines()
    of_queue = ("--as-of", ONE_LATER, "--queue", "EtlQueue")
    assert said in case.job("activation", *of_queue).out
    assert said in case.job("next", *of_queue).out
    waiting = case.lines("waiting", "--as-of", ONE_LATER)
    assert said in "\n".join(waiting)
    assert LACKED in waiting
    again = "It was received and rolled back 5 times, last at 2026-11-20T09:00:05Z in transaction T4."
    assert again in case.lines("explain", "--as-of", ONE_LATER, "--message", "m-0")
    found = case.ask("next", *of_queue)
    assert (found["next"], found["held_back"]) == ([], {"queue_off": 60})
    assert found["queue_off"]["rolled_back"]["message_id"] == "m-0"


def test_fail_on_unresolved_publishes_and_ends_with_6(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
    assert night.code == 6
    assert night.err.splitlines()[-1].startswith(
        "error: --fail-on unresolved: published, but 24 open messages are not matched to a queue at "
        "2026-11-20T11:00:00Z"
    )
    assert table_of(case.folder / "warehouse-log", "runs", ["status"])[0] == {"status": "succeeded"}
    lines = night.out.splitlines()
    assert lines.index(LACKED) < [line.startswith("Tables: ") for line in lines].index(True)
    assert "Nothing waits" not in night.out
    rows = case.ask("waiting", "--as-of", ONE_LATER)["unplaced"]
    shown = ("reason", "instance", "database", "local_service", "messages")
    assert sorted([row[name] for name in shown] for row in rows) == sorted(
        ["service_not_in_catalog", *place, 1] for place in PLACES
    )
    nothing = case.job("next", "--as-of", ONE_LATER, "--queue", "LegacyQueue")
    assert nothing.code == 1
    assert "nothing waits" not in nothing.err
    assert "24 open messages are not matched to a queue" in nothing.err


def merge(there: list[Row], added: list[Row]) -> None:
    """Put into a list of the catalog what is added, as a person does: into what is there already."""
    own = {each["name"]: each for each in there}
    for each in added:
        if each["name"] not in own:
            there.append(each)
            continue
        for name, rows in each.items():
            if name != "name":
                merge(own[each["name"]].setdefault(name, []), rows)


def test_all_of_it_is_printed_and_places_all_messages_nine_days_later(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
    lines = night.out.splitlines()
    first = lines.index("instances:")
    last = next(number for number in range(first + 1, len(lines)) if not lines[number].startswith(" "))
    catalog_file = case.folder / "catalog.yaml"
    assert lines[first - 1] == f"Add to {catalog_file}, {TO_ADD}"
    assert lines[first + 1] == "  - name: MILL1  # is there already"
    assert "      - name: EtlDB  # is there already" in lines
    added = yaml.safe_load("\n".join(lines[first:last]))
    bound = [
        (instance["name"], database["name"], service["name"], service["queue"])
        for instance in added["instances"]
        for database in instance["databases"]
        for service in database["services"]
    ]
    assert sorted(bound) == sorted((*place, f"QUEUE_OF_{place[2]}") for place in PLACES)
    catalog = yaml.safe_load(catalog_file.read_text())
    merge(catalog["instances"], added["instances"])
    catalog_file.write_text(yaml.safe_dump(catalog))
    again = case.nightly(LATE, "--fail-on", "unresolved")
    assert again.code == 0
    assert "are not matched to a queue" not in again.out
    # The log ends long before.
    assert "the newest event of its instance is 9 days older than 2026-11-29T11:00:00Z" in again.out
    leaks = "\n".join(case.lines("leaks", "--as-of", LATE))
    assert "No endpoint is known to leak at 2026-11-29T11:00:00Z" in leaks
    assert "84 endpoints had no known traffic for 7 days" in leaks
    found = case.ask("leaks", "--as-of", LATE)
    assert found["endpoints"] == 0
    assert {row["reason"] for row in found["kinds"]} == {"traffic_not_known"}


LACKING = {
    **{"kind": "receive", "reason": "service_not_in_catalog", "instance": "MILL1", "database": "EtlDB"},
    **{"local_service": "EtlService", "messages": 60},
}


def test_an_instance_that_the_catalog_spells_otherwise() -> None:
    database = {"name": "EtlDB", "queues": [{"name": "EtlQueue"}]}
    database |= {"services": [{"name": "EtlService", "queue": "EtlQueue"}]}
    catalog = Catalog.model_validate({"instances": [{"name": "MIL1", "databases": [database]}]})
    assert list(describe_unresolved([LACKING], catalog, "catalog.yaml")) == [
        "60 messages are not matched to a queue: 60 service_not_in_catalog",
        "  60: the catalog has no service EtlService in MILL1.EtlDB (service_not_in_catalog)",
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
