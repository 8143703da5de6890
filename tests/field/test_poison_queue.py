"""Queues that are off, the message behind it, and messages that the catalog or the snapshot can't place."""

from pathlib import Path

import pytest
import yaml

from tests.field.running import AS_OF, Case, OpenCase, Outcome, Row, parts_of, rewrite, table_of
from tests.field.servers import leave_header

pytestmark = pytest.mark.slow

POISON = "field-14-poison-queue"
ONE_LATER = "2026-11-20T11:00:00Z"
OFF = (
    "MILL1.MillDB.MillQueue: the queue was seen off at 2026-11-20T10:00:00Z by a snapshot; 20 messages "
    "stand in it and 5 more wait for this queue, in a transmission queue of MILL1; the log has no "
    "RECEIVED of them that was rolled back"
)


@pytest.fixture(scope="module")
def off(open_case: OpenCase) -> tuple[Case, Outcome]:
    """A queue that a snapshot shows off."""
    case = open_case(POISON)
    return case, case.published()


@pytest.fixture(scope="module")
def logged(open_case: OpenCase) -> tuple[Case, Outcome]:
    """A queue that a log shows off."""
    case = open_case(POISON, settings="settings-log.yaml")
    return case, case.published(ONE_LATER)


def test_the_message_behind_five_rollbacks(logged: tuple[Case, Outcome]) -> None:
    case, night = logged
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
    again = "It was received and rolled back 5 times, last at 2026-11-20T09:00:05Z in transaction T4."
    assert again in case.lines("explain", "--message", "m-0")
    found = case.ask("next", "--queue", "EtlQueue")
    assert (found["next"], found["held_back"]) == ([], {"queue_off": 60})
    assert found["queue_off"]["rolled_back"]["message_id"] == "m-0"


def test_a_log_that_ends_long_before(logged: tuple[Case, Outcome]) -> None:
    case, _ = logged
    late = "2026-11-29T11:00:00Z"
    assert (
        "- the newest data is 9 days older than as_of: it is of 2026-11-20T09:19:40Z, as_of is "
        "2026-11-29T11:00:00Z; what happened since is not known"
    ) in case.published(late).out.splitlines()
    leaks = "\n".join(case.lines("leaks", "--as-of", late))
    assert "No endpoint is known to leak at 2026-11-29T11:00:00Z" in leaks
    assert "60 endpoints had no known traffic for 7 days" in leaks
    found = case.ask("leaks", "--as-of", late)
    assert found["endpoints"] == 0
    assert {row["reason"] for row in found["kinds"]} == {"traffic_not_known"}


def test_a_queue_that_is_off_holds_messages_in_two_places(off: tuple[Case, Outcome]) -> None:
    case, night = off
    assert f"- {OFF}" in night.out.splitlines()
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
    assert OFF in case.lines("next", "--queue", "MillQueue")
    of_instance = ("next", "--instance", "MILL1", "--transmission")
    assert case.lines(*of_instance) == [
        "Sent next at 2026-11-20T10:00:00Z: MILL1: nothing can be sent",
        OFF,
    ]
    found = case.ask(*of_instance)
    assert (found["next"], found["held_back"]) == ([], {"queue_off": 5})
    assert OFF in case.lines("waiting")
    message = ("explain", "--message", "C0000000-0000-4000-8000-0000000001F4/initiator/0")
    explained = case.lines(*message)
    assert (
        "It waits in a transmission queue of MILL1, held by MillDB, for MILL1.MillDB.MillQueue, which is off."
        in explained
    )
    assert "position 1" not in "\n".join(explained)
    [place] = case.ask(*message)["transmissions"]
    assert (place["position"], place["waits_for"]) == (None, "MILL1.MillDB.MillQueue")


def test_the_page_counts_messages_that_wait_for_a_queue_that_is_off(off: tuple[Case, Outcome]) -> None:
    """Five wait to be sent, at every place of the page as in the other jobs."""
    case, _ = off
    case.lines("report", "--out", case.folder / "page.html")
    parts = parts_of(case.folder / "page.html")
    [row] = parts["queues_off"]
    shown = ("messages", "waiting", "off_since", "seen_off_at")
    assert [row[name] for name in shown] == [20, 5, None, "2026-11-20T10:00:00Z"]
    assert parts["transmission_top"] == []
    for name in ("transmission_levels", "transmission_places"):
        assert sum(row["messages"] for row in parts[name]) == 5, name


def test_a_snapshot_does_not_differ_from_itself(off: tuple[Case, Outcome]) -> None:
    """No catalog file says that the queue is on: the view alone says that it is off."""
    assert off[0].ask("differences")["catalog"] == []


def test_a_queue_that_is_off_and_empty(open_case: OpenCase) -> None:
    """Nothing stands in it, and five messages wait for it: not "0 messages", and not "nothing waits"."""
    case = open_case(POISON)
    leave_header(case.view("dbo.MillQueue"))
    [snapshot] = yaml.safe_load(Path(case.config).read_text())["snapshots"]
    case.configure(snapshots=[snapshot | {"complete": []}])
    said = (
        "MILL1.MillDB.MillQueue: the queue was seen off at 2026-11-20T10:00:00Z by a snapshot; 5 wait for "
        "this queue, in a transmission queue of MILL1"
    )
    assert f"- {said}" in case.published().out.splitlines()
    assert said in case.lines("next", "--queue", "MillQueue")
    shown = "\n".join(case.lines("activation", "--as-of", AS_OF, "--queue", "MillQueue"))
    assert "5 wait for this queue" in shown
    assert " 0 messages" not in shown


def test_a_monitor_that_only_a_snapshot_knows_on_a_queue_that_is_off(open_case: OpenCase) -> None:
    case = open_case(POISON)
    nothing = {"activation_procedure": "", "is_activation_enabled": "0", "max_readers": ""}
    rewrite(case.view("service_queues"), lambda row: row.update(nothing))
    with case.view("dm_broker_queue_monitors").open("a") as monitors:
        monitors.write("5,245575913,INACTIVE,,,0\n")
    case.publish()
    shown = case.lines("activation", "--as-of", AS_OF, "--queue", "MillQueue")
    assert "The queue is off; 20 messages stand in the queue" in shown
    assert "5 more wait for this queue" in "\n".join(shown)
    assert "No message stands" not in "\n".join(shown)


# --- Services that the catalog lacks ---


@pytest.fixture(scope="module")
def renamed(open_case: OpenCase) -> tuple[Case, Outcome]:
    """A catalog in which the instance has another name, and that lacks nothing else."""
    case = open_case(POISON, settings="settings-log.yaml")
    catalog = case.folder / "catalog.yaml"
    catalog.write_text(catalog.read_text().replace("MILL1", "MIL1"))
    return case, case.nightly(ONE_LATER, "--fail-on", "unresolved")


def test_fail_on_unresolved_publishes_and_ends_with_6(renamed: tuple[Case, Outcome]) -> None:
    case, night = renamed
    assert night.code == 6
    assert night.err.splitlines()[-1].startswith(
        "error: --fail-on unresolved: published, but 60 open messages can't be placed at 2026-11-20T11:00:00Z"
    )
    assert table_of(case.folder / "warehouse-log", "runs", ["status"]) == [{"status": "succeeded"}]


def test_an_instance_that_the_catalog_spells_otherwise(renamed: tuple[Case, Outcome]) -> None:
    case, night = renamed
    lines = night.out.splitlines()
    first = lines.index("60 messages can't be placed: 60 service_not_in_catalog")
    assert first < lines.index("Events so far")
    assert lines[first + 1 : first + 12] == [
        "  60: the catalog has no service EtlService in MILL1.EtlDB (service_not_in_catalog)",
        "The catalog has these services in MIL1.EtlDB: if that is MILL1.EtlDB, correct its name there.",
        f"Add to {case.folder / 'catalog.yaml'}:",
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
    assert "60 messages can't be placed: 60 service_not_in_catalog" in case.lines("waiting")
    [row] = case.ask("waiting")["unplaced"]
    shown = ("reason", "instance", "local_service", "messages")
    assert [row[name] for name in shown] == ["service_not_in_catalog", "MILL1", "EtlService", 60]
    nothing = case.job("next", "--queue", "EtlQueue")
    assert nothing.code == 1
    assert "nothing waits" not in nothing.err
    assert "60 open messages can't be placed" in nothing.err


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
TO_ADD = "with the name of each queue in place of QUEUE_OF_...:"


def add_log(case: Case) -> None:
    """A message to each of the services."""
    events: dict[str, list[Row]] = {"endpoint_events": [], "message_events": [], "queue_events": []}
    for number, (instance, database, service) in enumerate(PLACES):
        common = {"event_time": "2026-11-20T09:00:00Z", "instance": instance, "database": database}
        common |= {"conversation_id": f"X{number}"}
        names = {"contract": "C", "local_service": service, "remote_service": "far"}
        group = {"is_initiator": False, "conversation_group_id": f"G{number}"}
        events["endpoint_events"].append({**common, **names, **group, "event_type": "DIALOG_CREATED"})
        what = {"message_id": f"X{number}/0", "message_sequence_number": 0, "message_type": "T"}
        sent = {"sent_by_initiator": True, "event_type": "DELIVERED"}
        events["message_events"].append({**common, **what, **sent})
    case.set_log(events)


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


def test_all_of_it_is_printed_and_places_all_messages(open_case: OpenCase) -> None:
    case = open_case(POISON, settings="settings-log.yaml")
    add_log(case)
    lines = case.published(ONE_LATER).out.splitlines()
    first, last = lines.index("instances:"), lines.index("Look at first")
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
    again = case.nightly(ONE_LATER, "--fail-on", "unresolved")
    assert again.code == 0
    assert "can't be placed" not in again.out


def test_without_a_catalog_file_it_says_where_to_write_it(session: object, tmp_path: Path) -> None:
    case = Case(tmp_path)
    add_log(case)
    (tmp_path / "snap").mkdir()
    case.view("databases").write_text(
        "name,database_id,is_broker_enabled,is_honor_broker_priority_on\nEtlDB,5,1,1\n"
    )
    snapshot = {"path": "snap", "instance": "MILL1", "database": "EtlDB", "format": "csv"}
    case.configure(snapshots=[{**snapshot, "taken_at": "2026-11-20T10:00:00Z"}])
    night = case.published(ONE_LATER)
    assert f"Add to a catalog file, which the settings name under catalog, {TO_ADD}" in night.out.splitlines()
    assert "is there already" not in night.out
