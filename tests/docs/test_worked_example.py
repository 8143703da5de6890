"""The numbers of the vendor's example in docs/order.md, derived again by the naive model."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.config.rules.read import read_rules
from pipelines.config.rules.statements import RuleStatement, StatementType
from tests.support.model import simulate

Row = dict[str, Any]

ROOT = Path(__file__).parents[2]
CRITERIA = ("contract", "local_service", "remote_service")
SOURCES = ("endpoint_events", "message_events", "queue_events")


def event(line: str) -> Row:
    row: Row = json.loads(line)
    return row | {"event_time": datetime.fromisoformat(row["event_time"])}


def as_row(statement: RuleStatement) -> Row:
    """A CREATE that says everything, as the model reads statements."""
    assert statement.kind is StatementType.CREATE
    rule = {name: getattr(statement, name) for name in ("name", *CRITERIA, "level")}
    where = {name: getattr(statement, name) for name in ("effective_from", "instance", "database")}
    return {**where, "create": rule}


@pytest.fixture(scope="module")
def tables() -> dict[str, list[Row]]:
    folder = ROOT / "samples" / "documentation"
    script = read_rules(
        str(ROOT / "conf" / "rules" / "documentation.sql"),
        instance="DOC1",
        effective_from=datetime(2026, 1, 1, tzinfo=UTC),
    )
    return simulate(
        {source: list(map(event, (folder / f"{source}.jsonl").open(encoding="utf-8"))) for source in SOURCES},
        catalog=yaml.safe_load((ROOT / "conf" / "catalog.yaml").read_text(encoding="utf-8")),
        rules=[as_row(statement) for statement in script.statements],
        as_of=datetime(2026, 11, 21, tzinfo=UTC),
    )


def in_order(tables: dict[str, list[Row]], name: str, queue: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = [row for row in tables[name] if row["queue"] == queue]
    rows.sort(key=lambda row: row["position"])
    return [tuple(row[column] for column in columns) for row in rows]


def test_misspelt_rule_never_matches(tables: dict[str, list[Row]]) -> None:
    found = {
        (row["is_initiator"], row["rule_name"], row["ladder_step"], row["priority"])
        for row in tables["endpoints"]
    }
    assert found == {(True, None, None, 5), (False, "TargetToInitiatorPriority", 1, 3)}
    assert len(tables["endpoints"]) == 8


def test_groups_and_receive_order(tables: dict[str, list[Row]]) -> None:
    groups = [
        (position, priority, group[-1])
        for position, priority, group in in_order(
            tables, "group_priorities", "TargetQueue", "position", "priority", "conversation_group_id"
        )
    ]
    assert groups == [(1, 3, "2"), (2, 3, "3")]
    columns = ("receive_number", "conversation_id", "message_sequence_number", "arrived_at")
    received = [
        (number, conversation[-1], sequence, f"{arrived:%H:%M}")
        for number, conversation, sequence, arrived in in_order(
            tables, "receive_schedule", "TargetQueue", *columns
        )
    ]
    assert received == [
        (1, "2", 0, "10:00"),
        (1, "2", 1, "10:02"),
        (2, "3", 0, "10:01"),
        (2, "3", 1, "10:04"),
    ]
    (reply,) = in_order(tables, "receive_schedule", "InitiatorQueue", "group_priority", "message_type")
    assert reply == (5, "ReplyMessage")


def test_nothing_waits_and_nothing_is_unplaced(tables: dict[str, list[Row]]) -> None:
    assert tables["transmission_schedule"] == []
    assert tables["unresolved"] == []
