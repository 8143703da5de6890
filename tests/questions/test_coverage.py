"""Coverage of rule versions: against the naive model on random logs, and cases that those do not have."""

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.commands import coverage as job
from pipelines.config.load import load_settings
from pipelines.questions.coverage import COLUMNS, count_rule_uses, report_coverage
from pipelines.storage.warehouse import Warehouse
from schemas import TABLES
from schemas.events import MESSAGES
from schemas.ledger import ENDPOINTS
from schemas.outputs import PRIORITY_RULES, RECEIVE_SCHEDULE, RUNS, TRANSMISSION_SCHEDULE
from schemas.reading import as_of_key
from tests.support.factories import Row, at, catalog, message_event, rule
from tests.support.harness import Project, difference, one_log
from tests.support.model import simulate
from tests.support.model.messages import read_messages
from tests.support.plans import SINGLE, operators
from tests.support.random_logs import random_logs
from tests.support.strategies import Log
from tests.support.written import ended_run, endpoint, write

MOMENT = timedelta(microseconds=1)


def expected(log: Log, tables: Mapping[str, list[Row]]) -> list[Row]:
    """The rows, counted one by one from the model's tables."""
    as_of, rules = log.as_of, tables["priority_rules"]
    counted: dict[tuple[Any, ...], Row] = {}

    def row(instance: str, database: str, name: str | None, valid_from: datetime | None, level: int) -> Row:
        key = (instance, database, name, valid_from)
        numbers = {"endpoints": 0, "messages": 0, "open_messages": 0, "conversations": set(), "uses": []}
        return counted.setdefault(key, {"level": level, **numbers})

    of_endpoint = {}
    for version in rules:
        row(version["instance"], version["database"], None, None, 5)
        if version["valid_from"] < as_of:
            row(*[version[name] for name in ("instance", "database", "name", "valid_from", "level")])
    for known in tables["endpoints"]:
        created = known["created_at"]
        if created >= as_of:
            continue
        key: tuple[Any, ...] = (known["instance"], known["database"], None, None, 5)
        for version in rules:
            same = all(version[name] == known[name] for name in ("instance", "database"))
            begun, ended = version["valid_from"] <= created, version["valid_to"] or created + MOMENT
            if same and version["name"] == known["rule_name"] and begun and created < ended:
                key = (*key[:2], version["name"], version["valid_from"], version["level"])
        side = known["conversation_id"], known["is_initiator"]
        of_endpoint[side] = row(*key)
        of_endpoint[side]["endpoints"] += 1
        of_endpoint[side]["conversations"].add(side[0])
        of_endpoint[side]["uses"].append(created)
    open_at = [(each["conversation_id"], each["is_initiator"]) for each in tables["receive_schedule"]]
    open_at += [
        (each["conversation_id"], each["sent_by_initiator"])
        for each in tables["transmission_schedule"]
        if not each["forwarded"]
    ]
    for side in open_at:
        of_endpoint[side]["open_messages"] += 1
    yesterday = (as_of - timedelta(days=1)).date()
    for message in read_messages(log.message_events):
        begun = any(time is not None and time < as_of for time in (message.sent_at, message.arrived_at))
        if begun and message.events[-1]["event_time"].date() >= yesterday and message.receiver in of_endpoint:
            of_endpoint[message.receiver]["messages"] += 1
    return [
        {
            **dict(zip(("instance", "database", "rule_name", "valid_from"), key, strict=True)),
            **{name: numbers[name] for name in ("level", "endpoints", "messages", "open_messages")},
            "first_seen": False,
            "conversations": len(numbers["conversations"]),
            "first_use": min(numbers["uses"], default=None),
            "last_use": max(numbers["uses"], default=None),
        }
        for key, numbers in counted.items()
    ]


def in_warehouse(warehouse: Warehouse, log: Log, tables: Mapping[str, list[Row]]) -> None:
    """Write what the coverage reads, as a night would leave it: half of what is over is closed."""
    of_as_of = {"as_of": log.as_of, "as_of_key": as_of_key(log.as_of)}
    for name in ("receive_schedule", "transmission_schedule"):
        write(warehouse, TABLES[name], [of_as_of | row for row in tables[name]])
    write(warehouse, PRIORITY_RULES, tables["priority_rules"])
    closed = {row["conversation_id"]: log.as_of.date() for row in tables["endpoints"][::2]}
    ledger = {"inferred": False, "first_group_id": "g"}
    rows = [row | ledger | {"closed_on": closed.get(row["conversation_id"])} for row in tables["endpoints"]]
    write(warehouse, ENDPOINTS, rows)
    events = [row | {"closed_on": closed.get(row["conversation_id"])} for row in log.message_events]
    write(warehouse, MESSAGES, events)


@pytest.mark.spark
def test_random_logs_are_covered_as_the_model_says(session: SparkSession, tmp_path: Path) -> None:
    log = replace(one_log(random_logs(25, 11)), blocks=None)
    tables = simulate(log.events, **log.settings)
    warehouse = Warehouse(session, str(tmp_path))
    in_warehouse(warehouse, log, tables)
    rows = expected(log, tables)
    assert difference(report_coverage(warehouse, log.as_of), rows) == []
    # The logs must have what is counted, or nothing is tested.
    seen: dict[tuple[str, bool], int] = defaultdict(int)
    for row in rows:
        for name in ("endpoints", "messages", "open_messages"):
            seen[name, row["rule_name"] is None] += row[name]
        seen["both ends", True] += row["endpoints"] > row["conversations"]
        seen["unused", True] += row["endpoints"] == 0
    assert all(seen.values()), seen
    # An earlier moment, for which no schedule was made.
    earlier = replace(log, as_of=log.as_of - timedelta(hours=3))
    none: dict[str, list[Row]] = {"receive_schedule": [], "transmission_schedule": []}
    rows = expected(earlier, tables | none)
    assert difference(report_coverage(warehouse, earlier.as_of), rows) == []


def test_rules_that_the_history_has_no_more_stay_visible(session: SparkSession, tmp_path: Path) -> None:
    # Renamed   [----- R -----)[-- R --...   in the history of today
    # created  x               y               x is older than any version that is left
    decided = [("Gone", 3), ("R", 1), ("R", 5), (None, 6)]
    endpoints = [
        endpoint(str(number), rule_name=name, created_at=at(minute))
        for number, (name, minute) in enumerate(decided)
    ]
    warehouse = Warehouse(session, str(tmp_path))
    write(warehouse, ENDPOINTS, endpoints)
    write(
        warehouse,
        PRIORITY_RULES,
        [rule("R", 7, valid_from=at(2), valid_to=at(8)), rule("R", 8, valid_from=at(8))],
    )
    found = {
        (row["rule_name"] or "", row["level"] or 0, row["endpoints"], row["first_use"])
        for row in report_coverage(warehouse, at(9))
    }
    assert found == {
        ("", 5, 1, at(6)),
        ("Gone", 0, 1, at(3)),
        ("R", 0, 1, at(1)),
        ("R", 7, 1, at(5)),
        ("R", 8, 0, None),
    }


def test_levels_of_the_server_count_by_themselves(session: SparkSession, tmp_path: Path) -> None:
    # R        [--- 8 ---)[--- 7 ---...   as_of: minute 9; c7 is created later
    warehouse = Warehouse(session, str(tmp_path))
    of_the_server = {"level_source": "server", "created_by": "lifetime", "database": "A"}
    endpoints = [
        endpoint("c1", level_source="ladder"),
        endpoint("c2"),
        endpoint("c3", priority=8, created_at=at(1), **of_the_server),
        endpoint("c4", priority=3, created_at=at(2), **of_the_server),
        endpoint("c4", False, priority=5, created_at=at(3), **of_the_server),
        endpoint("c5", priority=7, created_at=at(4), rule_name="R", ladder_step=8, **of_the_server),
        endpoint("c6", False, priority=2, **of_the_server | {"database": "B"}),
        endpoint("c7", priority=2, created_at=at(20), **of_the_server),
    ]
    write(warehouse, ENDPOINTS, endpoints)
    write(warehouse, MESSAGES, [message_event("SENT", "c4/0", sent_by_initiator=False, database="A")])
    rules = [rule("R", 8, valid_from=at(2), valid_to=at(9)), rule("R", 7, valid_from=at(9))]
    write(warehouse, PRIORITY_RULES, rules)
    found = [
        (row["database"], *[row[name] for name in ("rule_name", "valid_from", "level", "endpoints")])
        for row in report_coverage(warehouse, at(9))
    ]
    assert found == [
        ("A", None, None, 5, 2),
        ("A", None, None, None, 3),
        ("A", "R", at(2), 8, 0),
        ("A", "R", at(9), 7, 1),
        ("B", None, None, 5, 0),
        ("B", None, None, None, 1),
    ]
    server = report_coverage(warehouse, at(9))[1]
    assert [server[name] for name in ("conversations", "messages", "first_use", "last_use")] == [
        2,
        1,
        at(1),
        at(3),
    ]


def test_the_command_prints_what_was_published(
    embedded: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, catalog=catalog())
    warehouse = Warehouse(embedded, load_settings(project.config).warehouse)
    write(warehouse, ENDPOINTS, [endpoint(rule_name="R"), endpoint("c2")])
    write(warehouse, PRIORITY_RULES, [rule("R", 7)])
    write(warehouse, RUNS, [ended_run("r", at(9))])
    assert job.main(["--config", project.config, "--format", "json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["as_of"] == "2026-11-20T12:09:00Z"
    assert [list(row) for row in printed["coverage"]] == [list(COLUMNS)] * 2
    assert [(row["rule_name"], row["level"], row["endpoints"]) for row in printed["coverage"]] == [
        (None, 5, 1),
        ("R", 7, 1),
    ]
    assert job.main(["--config", project.config, "--as-of", "2026-11-20T12:09:00Z"]) == 0
    assert "What each rule version decides, 2026-11-20T12:09:00Z" in capsys.readouterr().out


@pytest.mark.spark
def test_the_plan_joins_by_hash_and_has_no_step_of_one_task(spark: SparkSession) -> None:
    tables = [ENDPOINTS, MESSAGES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, PRIORITY_RULES]
    # Rows that the optimizer can't see through; without any, it plans nothing at all.
    frames = [spark.createDataFrame(spark.sparkContext.emptyRDD(), table.struct) for table in tables]
    found = operators(count_rule_uses(*frames, as_of=at(9)))
    assert found["BroadcastHashJoin"] >= 1
    assert SINGLE not in found
    assert set(found) <= {"BroadcastHashJoin", "SortMergeJoin", "ShuffledHashJoin"}
