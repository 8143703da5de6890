"""The sample of `make snapshot-run` shows what the documentation's example is at that moment."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.nightly.night import night
from pipelines.storage.warehouse import Warehouse
from tests.support.harness import Project, difference
from tests.support.model import simulate
from tests.support.model.messages import read_messages
from tests.support.server import message_id

ROOT = Path(__file__).parents[3]
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


@pytest.mark.spark
def test_the_schedules_are_those_of_the_log(session: SparkSession, tmp_path: Path) -> None:
    events = {}
    for source in ("endpoint_events", "message_events", "queue_events"):
        lines = (ROOT / "samples" / "documentation" / f"{source}.jsonl").read_text().splitlines()
        rows = [json.loads(line) for line in lines]
        events[source] = [{**row, "event_time": datetime.fromisoformat(row["event_time"])} for row in rows]
    catalog = yaml.safe_load((ROOT / "conf" / "catalog.yaml").read_text())
    expected = simulate(events, catalog=catalog, rules=[RULE], as_of=AS_OF)
    project = Project(tmp_path, catalog={"instances": []}, queue_events=False)
    settings = yaml.safe_load((ROOT / "conf" / "snapshot.yaml").read_text())
    for snapshot in settings["snapshots"]:
        snapshot["path"] = str((ROOT / "conf" / snapshot["path"]).resolve())
        snapshot["taken_at"] = AS_OF.isoformat()
    (tmp_path / "settings.yaml").write_text(yaml.safe_dump({**settings, "warehouse": "warehouse"}))
    night(Warehouse(session, project.settings().warehouse), project.settings(), AS_OF)

    names = {each.message_id: message_id(each, AS_OF) for each in read_messages(events["message_events"])}
    schedule = [{**row, "message_id": names[row["message_id"]]} for row in expected["receive_schedule"]]
    assert difference(project.table("receive_schedule", schedule[0]), schedule) == []
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
