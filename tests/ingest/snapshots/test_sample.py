"""The captures of `make capture-run` show what the documentation's example is, and why gold claims wait."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.support.capture_project import CaptureProject
from tests.support.factories import Row, create_rule
from tests.support.harness import difference
from tests.support.model import simulate
from tests.support.model.messages import read_messages
from tests.support.server import message_id

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]
SAMPLES = ROOT / "pipelines" / "capture" / "sample"
AS_OF = datetime(2026, 11, 21, tzinfo=UTC)
MONDAY, TUESDAY = (datetime(2026, 11, day, 7, 30, tzinfo=UTC) for day in (23, 24))
RULE = create_rule(
    "TargetToInitiatorPriority",
    3,
    instance="DOC1",
    database="TargetDB",
    contract="SimpleContract",
    local_service="TargetService",
    remote_service="InitiatorService",
)


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> CaptureProject:
    """Schedules of the documentation's example, and of the morning after the gold rule was made."""
    project = CaptureProject(tmp_path_factory.mktemp("p") / "p", snapshots=[{"path": str(SAMPLES)}])
    for as_of in (AS_OF, TUESDAY):
        project.schedule(as_of.isoformat())
    return project


def rows_of(project: CaptureProject, table: str, instance: str) -> list[Row]:
    return [row for row in project.table(table) if row["instance"] == instance]


def test_the_schedules_are_those_of_the_log(project: CaptureProject) -> None:
    events = {}
    for source in ("endpoint_events", "message_events", "queue_events"):
        lines = (ROOT / "samples" / "documentation" / f"{source}.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        events[source] = [{**row, "event_time": datetime.fromisoformat(row["event_time"])} for row in rows]
    catalog = yaml.safe_load((ROOT / "conf" / "catalog.yaml").read_text())
    expected = simulate(events, catalog=catalog, rules=[RULE], as_of=AS_OF)

    names = {each.message_id: message_id(each, AS_OF) for each in read_messages(events["message_events"])}
    schedule = [{**row, "message_id": names[row["message_id"]]} for row in expected["receive_schedule"]]
    found = [row for row in project.table("receive_schedule", schedule[0]) if row["as_of"] == AS_OF]
    assert difference(found, schedule) == []
    assert rows_of(project, "transmission_schedule", "DOC1") == expected["transmission_schedule"] == []
    # The lifetimes give the times of the log; its ended endpoints are in no view.
    columns = ("conversation_id", "is_initiator", "priority", "rule_name", "created_at")
    endpoints = [{name: row[name] for name in columns} for row in rows_of(project, "endpoints", "DOC1")]
    shown = {row["conversation_id"] for row in endpoints}
    of_log = [
        {name: row[name] for name in columns}
        for row in expected["endpoints"]
        if row["conversation_id"] in shown
    ]
    assert difference(endpoints, of_log) == []


def test_gold_claims_wait_behind_the_feed(project: CaptureProject) -> None:
    """Its dialogs are older than the gold rule, so they stay at 5; the feed's messages at 6 go first."""
    endpoints = {
        row["conversation_handle"]: row
        for row in rows_of(project, "endpoints", "SQL1")
        if not row["is_initiator"]
    }
    pool = [row for row in endpoints.values() if row["remote_service"] == "//acme/portal/Gold"]
    assert len(pool) == 40
    assert {(row["priority"], row["created_by"]) for row in pool} == {(5, "lifetime")}
    assert max(row["created_at"] for row in pool) < MONDAY
    rules = {row["name"]: row for row in rows_of(project, "priority_rules", "SQL1")}
    assert {name: (row["level"], row["valid_from"]) for name, row in rules.items()} == {
        "NightlyFeed": (6, MONDAY),
        "GoldClaims": (9, TUESDAY),
    }
    waiting = [
        row
        for row in project.table("receive_schedule")
        if row["as_of"] == TUESDAY and row["queue"] == "ClaimIntakeQueue"
    ]
    in_order = sorted(waiting, key=lambda row: row["position"])
    senders = [endpoints[row["conversation_handle"]]["remote_service"] for row in in_order]
    assert len(senders) == 168
    assert set(senders[:90]) == {"//acme/feed/Nightly"}
    assert senders[90:].count("//acme/portal/Gold") == 64
