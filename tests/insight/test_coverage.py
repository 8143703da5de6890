"""Coverage of rule versions: against the naive model on random logs, and cases that those do not have."""

from collections import defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.coverage import run
from pipelines.insight.coverage import rule_coverage
from pipelines.insight.rule_uses import rule_uses
from pipelines.settings.load import load_settings
from schemas.ledger import ENDPOINTS, MESSAGES
from schemas.outputs import PRIORITY_RULES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE
from storage.small_frame import empty_frame
from tests.factories import Row, at, rule
from tests.harness import difference, one_log
from tests.model import simulate
from tests.model.messages import read_messages
from tests.plans import operators
from tests.strategies import Log
from tests.test_against_model import project_of, random_logs

MOMENT = timedelta(microseconds=1)


def expected(log: Log) -> list[Row]:
    """The table, counted one by one from the model's tables."""
    tables = simulate(log.events, **(log.settings | {"blocks": None}))
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
    for endpoint in tables["endpoints"]:
        created = endpoint["created_at"]
        if created >= as_of:
            continue
        key: tuple[Any, ...] = (endpoint["instance"], endpoint["database"], None, None, 5)
        for version in rules:
            same = all(version[name] == endpoint[name] for name in ("instance", "database"))
            begun, ended = version["valid_from"] <= created, version["valid_to"] or created + MOMENT
            if same and version["name"] == endpoint["rule_name"] and begun and created < ended:
                key = (*key[:2], version["name"], version["valid_from"], version["level"])
        side = endpoint["conversation_id"], endpoint["is_initiator"]
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
            "as_of": as_of,
            "conversations": len(numbers["conversations"]),
            "first_use": min(numbers["uses"], default=None),
            "last_use": max(numbers["uses"], default=None),
        }
        for key, numbers in counted.items()
    ]


def test_random_logs_are_covered_as_the_model_says(spark: SparkSession, tmp_path: Path) -> None:
    log = one_log(random_logs(25, 11))
    project = project_of(tmp_path, log)
    project.add(log.events)
    project.run(spark, log.as_of)
    rows = expected(log)
    assert difference(project.table("rule_coverage"), rows) == []
    # The logs must have what is counted, or nothing is tested.
    seen = defaultdict(int)
    for row in rows:
        for name in ("endpoints", "messages", "open_messages"):
            seen[name, row["rule_name"] is None] += row[name]
        seen["both ends", True] += row["endpoints"] > row["conversations"]
        seen["unused", True] += row["endpoints"] == 0
    assert all(seen.values()), seen
    # Another as_of beside it, the first one again: a run replaces its own rows.
    settings = load_settings(project.config)
    earlier = log.as_of - timedelta(hours=30)
    run(spark, settings, earlier)
    run(spark, settings, log.as_of)
    by_as_of = defaultdict(list)
    for row in project.table("rule_coverage"):
        by_as_of[row["as_of"]].append(row)
    assert difference(by_as_of[log.as_of], rows) == []
    assert set(by_as_of) <= {log.as_of, earlier}


def test_rules_that_the_history_has_no_more_stay_visible(spark: SparkSession) -> None:
    # Renamed   [----- R -----)[-- R --...   in the history of today
    # created  x               y               x is older than any version that is left
    def endpoint(conversation: str, rule_name: str | None, minute: int) -> Row:
        return {
            "conversation_id": conversation,
            "is_initiator": True,
            "instance": "SQL1",
            "database": "A",
            "rule_name": rule_name,
            "created_at": at(minute),
            "closed_on": None,
        }

    rows = [endpoint("1", "Gone", 3), endpoint("2", "R", 1), endpoint("3", "R", 5), endpoint("4", None, 6)]
    columns = "conversation_id string, is_initiator boolean, instance string, database string, "
    endpoints = spark.createDataFrame(
        rows, columns + "rule_name string, created_at timestamp, closed_on date"
    )
    rules = [rule("R", 7, valid_from=at(2), valid_to=at(8)), rule("R", 8, valid_from=at(8))]
    versions = spark.createDataFrame(rules, PRIORITY_RULES.struct)
    found = rule_coverage(
        rule_uses(endpoints, versions),
        endpoints,
        empty_frame(spark, MESSAGES.struct),
        empty_frame(spark, RECEIVE_SCHEDULE.struct),
        empty_frame(spark, TRANSMISSION_SCHEDULE.struct),
        versions,
        as_of=at(9),
    )
    assert sorted(
        (row.rule_name or "", row.level or 0, row.endpoints, row.first_use and row.first_use.minute)
        for row in found.collect()
    ) == [("", 5, 1, 6), ("Gone", 0, 1, 3), ("R", 0, 1, 1), ("R", 7, 1, 5), ("R", 8, 0, None)]


def test_the_plan_joins_by_hash_and_has_no_step_of_one_task(spark: SparkSession) -> None:
    tables = [ENDPOINTS, MESSAGES, RECEIVE_SCHEDULE, TRANSMISSION_SCHEDULE, PRIORITY_RULES]
    # Rows that the optimizer can't see through; without any, it plans nothing at all.
    frames = [spark.createDataFrame(spark.sparkContext.emptyRDD(), table.struct) for table in tables]
    joins = operators(rule_coverage(rule_uses(frames[0], frames[-1]), *frames, as_of=at(9)))
    assert joins["BroadcastHashJoin"] == 2
    assert set(joins) <= {"BroadcastHashJoin", "SortMergeJoin", "ShuffledHashJoin"}
