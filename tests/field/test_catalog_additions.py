"""The YAML that is printed for services which the catalog lacks is whole, valid, and places messages."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.field.running import Case
from tests.support.open_case import OpenCase

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ONE_LATER = "2026-11-20T11:00:00Z"
NAMES = [
    "//a/b: c",
    "on",
    "#x",
    "été",
    "it's",
    'q"q',
    "null",
    "1.5",
    "a,b",
    "{x}",
    "- z",
    "a\\b",
    "~",
    "@at",
    "tab\tin",
    " lead",
    "trail ",
    "line\u2028end",
    "next\u0085line",
    "zero\u200bwidth",
    "tag\U000e0001",
    "music\U0001d173",
    "\U0001f600",
    "k: v #c",
]


def places() -> list[tuple[str, str, str]]:
    """Instance, database and service of what the catalog lacks: some within what it has, some not."""
    return [
        (("MILL1", "on: x")[number % 2], ("EtlDB", "#db", "yes")[number % 3], name)
        for number, name in enumerate(NAMES)
    ]


def add_log(case: Case) -> None:
    """A message to each of the services."""
    events: dict[str, list[dict[str, Any]]] = {"endpoint_events": [], "message_events": []}
    for number, (instance, database, service) in enumerate(places()):
        common = {
            "event_id": f"more{number}",
            "event_time": "2026-11-20T09:00:00Z",
            "instance": instance,
            "database": database,
            "conversation_id": f"X{number}",
        }
        names = {"contract": "C", "local_service": service, "remote_service": "far"}
        group = {"is_initiator": False, "conversation_group_id": f"G{number}"}
        events["endpoint_events"].append({**common, **names, **group, "event_type": "DIALOG_CREATED"})
        what = {"message_id": f"X{number}/0", "message_sequence_number": 0, "message_type": "T"}
        events["message_events"].append(
            {**common, **what, "sent_by_initiator": True, "event_type": "DELIVERED"}
        )
    for name, rows in events.items():
        folder = case.folder / "log-log" / name
        [first] = folder.iterdir()
        (folder / f"more{first.suffix}").write_text("".join(json.dumps(row) + "\n" for row in rows))


def merge(catalog: dict[str, Any], added: dict[str, Any]) -> None:
    """Put into the catalog what is added, as a person does: into what is there already."""
    for instance in added["instances"]:
        there = next((each for each in catalog["instances"] if each["name"] == instance["name"]), None)
        if there is None:
            catalog["instances"].append(instance)
            continue
        for database in instance["databases"]:
            own = next((each for each in there["databases"] if each["name"] == database["name"]), None)
            if own is None:
                there["databases"].append(database)
                continue
            own["queues"] += database["queues"]
            own["services"] += database["services"]


def test_all_of_it_is_printed_and_places_all_messages(open_case: OpenCase) -> None:
    case = open_case("field-14-poison-queue", settings="settings-log.yaml")
    add_log(case)
    night = case.nightly(ONE_LATER)
    assert night.code == 0, night.err
    lines = night.out.splitlines()
    first, last = lines.index("instances:"), lines.index("Look at first")
    catalog_file = case.folder / "catalog.yaml"
    assert lines[first - 1] == (
        f"Add to {catalog_file}, with the name of each queue in place of QUEUE_OF_...:"
    )
    assert lines[first + 1] == "  - name: MILL1  # is there already"
    assert "      - name: EtlDB  # is there already" in lines
    added = yaml.safe_load("\n".join(lines[first:last]))
    bound = [
        (instance["name"], database["name"], service["name"], service["queue"])
        for instance in added["instances"]
        for database in instance["databases"]
        for service in database["services"]
    ]
    assert sorted(bound) == sorted((*place, f"QUEUE_OF_{place[2]}") for place in places())
    catalog = yaml.safe_load(catalog_file.read_text())
    merge(catalog, added)
    catalog_file.write_text(yaml.safe_dump(catalog))
    again = case.nightly(ONE_LATER, "--fail-on", "unresolved")
    assert again.code == 0
    assert "can't be placed" not in again.out


def test_without_a_catalog_file_it_says_where_to_write_it(session: SparkSession, tmp_path: Path) -> None:
    for name in ("endpoint_events", "message_events"):
        (tmp_path / "log-log" / name).mkdir(parents=True)
        (tmp_path / "log-log" / name / "a.jsonl").write_text("")
    case = Case(tmp_path)
    add_log(case)
    (tmp_path / "snap").mkdir()
    (tmp_path / "snap/databases.csv").write_text(
        "name,database_id,is_broker_enabled,is_honor_broker_priority_on\nEtlDB,5,1,1\n"
    )
    snapshot = {"path": "snap", "instance": "MILL1", "database": "EtlDB", "format": "csv"}
    settings = {
        "warehouse": "warehouse",
        "inputs": {
            name: {"path": f"log-log/{name}", "format": "json"}
            for name in ("endpoint_events", "message_events")
        },
        "snapshots": [{**snapshot, "taken_at": "2026-11-20T10:00:00Z"}],
    }
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump(settings))
    night = case.nightly(ONE_LATER)
    assert night.code == 0
    assert (
        "Add to a catalog file, which the settings name under catalog, with the name of each queue in place "
        "of QUEUE_OF_...:"
    ) in night.out.splitlines()
    assert "is there already" not in night.out
