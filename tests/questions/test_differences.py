"""What a snapshot shows otherwise than rules, catalog and ledger do: all of it is listed."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.commands.questions import DIFFERENCES
from tests.support.factories import NOON, at, by_source, catalog, create_rule, database, endpoint_event
from tests.support.snapshot_views import Server, conversation, ready, shown, views
from tests.support.view_rows import priority

COMPARED = ("what", "name", "server", "here")


@pytest.mark.slow
def test_nothing_is_silent(embedded: SparkSession, tmp_path: Path, capsys: Any) -> None:
    server = Server(tmp_path)
    held = database("B", "TargetService", "TargetQueue", honor=True, status="off")
    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(catalog({"SQL1": [held]})))
    server.project.set_rules(
        [
            create_rule("Same", 3, database="B", contract="Contract"),
            create_rule("Ours", 4, database="B", remote_service="Far"),
            create_rule("Level", 4, database="B", local_service="TargetService"),
        ]
    )
    server.settings |= {"catalog": "catalog.yaml", "rules": [{"path": "rules.yaml"}]}
    server.project.add(
        by_source(endpoint_event("DIALOG_CREATED", conversation(1), event_time=at(-60), database="B"))
    )
    rules = [
        priority("Same", 3, service_contract_id=7),
        priority("Level", 6, local_service_id=2),
        priority("Theirs", 9),
    ]
    given = views(
        conversation_endpoints=[shown(1, False, priority=9), shown(2, False, priority=8)],
        conversation_priorities=rules,
        databases=[{"name": "B", "is_honor_broker_priority_on": False}],
        dbo_TargetQueue=[ready(7, False, 0)],
    )
    server.snapshot(given, NOON)
    server.project.run(embedded, NOON)
    assert DIFFERENCES(["--config", server.project.config, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    any_but = "contract ANY, local service {}, remote service {}, level {}"
    assert [tuple(row[name] for name in COMPARED) for row in found["rules"]] == [
        (
            "rule",
            "Level",
            any_but.format("'TargetService'", "ANY", 6),
            any_but.format("'TargetService'", "ANY", 4),
        ),
        ("rule", "Ours", None, any_but.format("ANY", "'Far'", 4)),
        ("rule", "Theirs", any_but.format("ANY", "ANY", 9), None),
    ]
    assert [tuple(row[name] for name in COMPARED) for row in found["catalog"]] == [
        ("honor_broker_priority", "", "off", "on"),
        ("queue", "InitiatorQueue", "on", None),
        ("queue", "TargetQueue", "on", "off"),
        ("service", "InitiatorService", "InitiatorQueue", None),
    ]
    levels = {(row["level_source"], row["server"], row["here"], row["endpoints"]) for row in found["levels"]}
    assert levels == {("ladder", 9, 3, 1), ("server", 8, 3, 1)}
    assert found["handles_unknown"] == 1
    assert DIFFERENCES(["--config", server.project.config]) == 0
    assert "Theirs" in capsys.readouterr().out
