"""The captures of `make capture-run` show what the documentation's example is, and why gold claims wait."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from tests.support.capture_project import CaptureProject
from tests.support.harness import difference
from tests.support.model import simulate
from tests.support.model.messages import read_messages
from tests.support.server import message_id

ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "pipelines" / "capture" / "sample"
AS_OF = datetime(2026, 11, 21, tzinfo=UTC)
RULE = {
    "effective_from": datetime(2026, 1, 1, tzinfo=UTC),
    "instance": "DOC1",
    "database": "TargetDB",
    "create": {
        "name": "TargetToInitiatorPriority",
        "contract": "SimpleContract",
        "local_service": "TargetService",
        "remote_service": "InitiatorService",
        "level": 3,
    },
}


@pytest.mark.usefixtures("session")
def test_the_schedules_are_those_of_the_log(tmp_path: Path) -> None:
    events = {}
    for source in ("endpoint_events", "message_events", "queue_events"):
        lines = (ROOT / "samples" / "documentation" / f"{source}.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        events[source] = [{**row, "event_time": datetime.fromisoformat(row["event_time"])} for row in rows]
    catalog = yaml.safe_load((ROOT / "conf" / "catalog.yaml").read_text())
    expected = simulate(events, catalog=catalog, rules=[RULE], as_of=AS_OF)
    project = CaptureProject(tmp_path, snapshots=[{"path": str(SAMPLES / "DOC1-20261121T000000Z.jsonl")}])
    project.run(AS_OF)

    names = {each.message_id: message_id(each, AS_OF) for each in read_messages(events["message_events"])}
    schedule = [{**row, "message_id": names[row["message_id"]]} for row in expected["receive_schedule"]]
    assert difference(project.table("receive_schedule", list(schedule[0])), schedule) == []
    assert project.table("transmission_schedule") == expected["transmission_schedule"] == []
    found = {(row["is_initiator"], row["priority"], row["rule_name"]) for row in project.table("endpoints")}
    assert found == {(True, 5, None), (False, 3, "TargetToInitiatorPriority")}
    assert {row["created_by"] for row in project.table("endpoints")} == {"lifetime"}
    # The times that the lifetimes give are those of the log.
    begun = {
        (row["conversation_id"], row["is_initiator"]): row["created_at"] for row in expected["endpoints"]
    }
    for row in project.table("endpoints"):
        assert row["created_at"] == begun[row["conversation_id"], row["is_initiator"]]


@pytest.mark.slow
@pytest.mark.usefixtures("session")
def test_gold_claims_wait_behind_the_feed(tmp_path: Path) -> None:
    """Its dialogs are older than the gold rule, so they stay at 5; the feed's messages at 6 go first."""
    project = CaptureProject(tmp_path, snapshots=[{"path": str(SAMPLES)}])
    monday, tuesday = (datetime(2026, 11, day, 7, 30, tzinfo=UTC) for day in (23, 24))
    for as_of in (monday, tuesday):
        project.run(as_of)
    endpoints = {
        row["conversation_handle"]: row
        for row in project.table("endpoints")
        if row["instance"] == "SQL1" and not row["is_initiator"]
    }
    pool = [row for row in endpoints.values() if row["remote_service"] == "//acme/portal/Gold"]
    assert len(pool) == 40
    assert {(row["priority"], row["created_by"]) for row in pool} == {(5, "lifetime")}
    assert max(row["created_at"] for row in pool) < monday
    rules = {row["name"]: row for row in project.table("priority_rules") if row["instance"] == "SQL1"}
    assert {name: (row["level"], row["valid_from"]) for name, row in rules.items()} == {
        "NightlyFeed": (6, monday),
        "GoldClaims": (9, tuesday),
    }
    waiting = [
        row
        for row in project.table("receive_schedule")
        if row["as_of"] == tuesday and row["queue"] == "ClaimIntakeQueue"
    ]
    in_order = sorted(waiting, key=lambda row: row["position"])
    senders = [endpoints[row["conversation_handle"]]["remote_service"] for row in in_order]
    assert len(senders) == 168
    assert set(senders[:90]) == {"//acme/feed/Nightly"}
    assert senders[90:].count("//acme/portal/Gold") == 64
