"""The vendor's example of two databases, instance DOC1 of the sample, derived by the naive model."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.rules.statements import RuleDefaults, RuleStatement
from pipelines.settings.rule_sources import read_rules
from tests.support.model import simulate

Row = dict[str, Any]

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "samples" / "documentation"
RULE = ("name", "contract", "local_service", "remote_service", "level")


def event(line: str) -> Row:
    row: Row = json.loads(line)
    return row | {"event_time": datetime.fromisoformat(row["event_time"])}


def as_row(statement: RuleStatement) -> Row:
    """A CREATE as the model reads statements."""
    where = {name: getattr(statement, name) for name in ("effective_from", "instance", "database")}
    return {**where, "create": {name: getattr(statement, name) for name in RULE}}


@pytest.fixture(scope="module")
def tables() -> dict[str, list[Row]]:
    new_year, rules = datetime(2026, 1, 1, tzinfo=UTC), ROOT / "conf" / "rules" / "documentation.sql"
    script = read_rules(str(rules), RuleDefaults(instance="DOC1", effective_from=new_year))
    return simulate(
        {
            source: [event(line) for line in (SAMPLE / f"{source}.jsonl").open(encoding="utf-8")]
            for source in ("endpoint_events", "message_events", "queue_events")
        },
        catalog=yaml.safe_load((ROOT / "conf" / "catalog.yaml").read_text(encoding="utf-8")),
        rules=[as_row(statement) for statement in script.statements],
        as_of=datetime(2026, 11, 21, tzinfo=UTC),
    )


def in_order(rows: list[Row], queue: str, *columns: str) -> list[tuple[Any, ...]]:
    """These columns of a queue's rows by position; of ids the last character."""
    of_queue = sorted((row for row in rows if row["queue"] == queue), key=lambda row: row["position"])
    return [
        tuple(row[name][-1] if name.endswith("_id") else row[name] for name in columns) for row in of_queue
    ]


def test_misspelt_rule_never_matches(tables: dict[str, list[Row]]) -> None:
    columns = ("is_initiator", "rule_name", "ladder_step", "priority")
    found = {tuple(row[name] for name in columns) for row in tables["endpoints"]}
    assert found == {(True, None, None, 5), (False, "TargetToInitiatorPriority", 1, 3)}
    assert len(tables["endpoints"]) == 8


def test_groups_and_receive_order(tables: dict[str, list[Row]]) -> None:
    columns = ("position", "priority", "conversation_group_id")
    assert in_order(tables["group_priorities"], "TargetQueue", *columns) == [(1, 3, "2"), (2, 3, "3")]
    columns = ("receive_number", "conversation_id", "message_sequence_number")
    received = in_order(tables["receive_schedule"], "TargetQueue", *columns, "arrived_at")
    assert [(*row[:3], f"{row[3]:%H:%M}") for row in received] == [
        (1, "2", 0, "10:00"),
        (1, "2", 1, "10:02"),
        (2, "3", 0, "10:01"),
        (2, "3", 1, "10:04"),
    ]
    reply = in_order(tables["receive_schedule"], "InitiatorQueue", "group_priority", "message_type")
    assert reply == [(5, "ReplyMessage")]
    assert tables["transmission_schedule"] == tables["unresolved"] == []
