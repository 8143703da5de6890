"""Leaked conversations, against walking the events in plain Python."""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.commands import leaks as job
from pipelines.questions.leaks import count_leaks, read_leaking, read_leaks, report_leaks
from pipelines.questions.view import print_leaks
from pipelines.storage.collect import collect_rows
from tests.support.factories import Row, at, by_source, catalog, endpoint_event, message_event
from tests.support.harness import Project, difference, one_log
from tests.support.model.vocabulary import ENDS
from tests.support.random_logs import project_of, random_logs

HOURS = 6
"""Random logs span less than a day."""


def naive_leaks(
    endpoints: Sequence[Row], endpoint_events: Sequence[Row], message_events: Sequence[Row], as_of: datetime
) -> list[Row]:
    found = []
    for endpoint in endpoints:
        conversation, side = endpoint["conversation_id"], endpoint["is_initiator"]
        ends = {
            of: [
                event["event_time"]
                for event in endpoint_events
                if event["event_type"] in ENDS
                and (event["conversation_id"], event["is_initiator"]) == (conversation, of)
                and event["event_time"] < as_of
            ]
            for of in (side, not side)
        }
        if endpoint["created_at"] >= as_of or ends[side]:
            continue
        messages = [
            event["event_time"]
            for event in message_events
            if event["conversation_id"] == conversation and event["event_time"] < as_of
        ]
        last = max([endpoint["created_at"], *messages])
        left_alone = as_of - last >= timedelta(hours=HOURS)
        if ends[not side] or left_alone:
            found.append(
                {
                    "conversation_id": conversation,
                    "is_initiator": side,
                    "last_traffic": last,
                    "far_ended_at": min(ends[not side], default=None),
                    "reason": "far_side_ended" if ends[not side] else "no_traffic",
                }
            )
    return found


@pytest.mark.spark
def test_leaks_equal_the_model(session: SparkSession, tmp_path: Path) -> None:
    log = one_log(random_logs(30, 31))
    project = project_of(tmp_path, log)
    project.add(log.events)
    project.run(session, log.as_of)
    found = collect_rows(read_leaks(project.warehouse(session), log.as_of, days=HOURS / 24))
    expected = naive_leaks(project.table("endpoints"), log.endpoint_events, log.message_events, log.as_of)
    assert {row["reason"] for row in expected} == {"far_side_ended", "no_traffic"}
    assert difference([{name: row[name] for name in expected[0]} for row in found], expected) == []
    listed = read_leaking(project.warehouse(session), log.as_of, days=HOURS / 24)
    assert keys(listed) == sorted((row["conversation_id"], row["is_initiator"]) for row in expected)


def keys(leaking: DataFrame) -> list[tuple[Any, ...]]:
    """The endpoints, in order."""
    return sorted((row["conversation_id"], row["is_initiator"]) for row in collect_rows(leaking))


@pytest.fixture(scope="module")
def leaking(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Two talks of which one side ended, one left alone, one lively, one that ended on both sides."""
    project = Project(tmp_path_factory.mktemp("leaking"), catalog=catalog())
    rows = []
    for name, day in (("half", -9), ("half too", -4), ("alone", -8), ("lively", -8), ("over", -8)):
        rows += [
            endpoint_event("BEGIN_DIALOG", name, event_time=at(day=day)),
            endpoint_event("DIALOG_CREATED", name, event_time=at(1, day=day)),
            message_event("SENT", f"{name}/0", event_time=at(day=day)),
            message_event("DELIVERED", f"{name}/0", event_time=at(1, day=day)),
        ]
    for name, sides in (("half", [True]), ("half too", [True]), ("over", [True, False])):
        rows += [
            endpoint_event("END_CONVERSATION", name, event_time=at(2, day=-3), is_initiator=side)
            for side in sides
        ]
    rows.append(message_event("RECEIVED", "lively/0", event_time=at(0, day=-1)))
    project.add(by_source(*rows))
    project.run(session, at(0))
    return project


@pytest.mark.spark
def test_leaks_are_counted_by_kind(session: SparkSession, leaking: Project) -> None:
    found = read_leaks(leaking.warehouse(session), at(0))
    kinds = collect_rows(count_leaks(found, as_of=at(0)).orderBy("reason", "local_service"))
    shown = ("local_service", "reason", "endpoints", "oldest", "oldest_days", "a_day")
    assert [tuple(row[name] for name in shown) for row in kinds] == [
        ("TargetService", "far_side_ended", 2, at(1, day=-9), 9.0, 0.22),
        ("InitiatorService", "no_traffic", 1, at(day=-8), 8.0, 0.13),
        ("TargetService", "no_traffic", 1, at(1, day=-8), 8.0, 0.13),
    ]


def test_the_oldest_come_first_and_the_limit_counts(session: SparkSession, leaking: Project) -> None:
    report = report_leaks(leaking.warehouse(session), as_of=at(0), days=9, limit=1)
    # Nine days without traffic are one too many for the others.
    assert report["endpoints"] == 2
    assert [(row["conversation_id"], row["age_days"]) for row in report["oldest"]] == [("half", 9.0)]
    assert [row["endpoints"] for row in report["kinds"]] == [2]


@pytest.mark.parametrize("days", [0.5, 4, 7, 9, 30])
def test_the_messages_of_the_days_tell_which_endpoints_leak(
    session: SparkSession, leaking: Project, days: float
) -> None:
    warehouse = leaking.warehouse(session)
    found = keys(read_leaking(warehouse, at(0), days=days))
    assert found == keys(read_leaks(warehouse, at(0), days=days))
    assert len(found) == {0.5: 6, 4: 4, 7: 4, 9: 2, 30: 2}[days]


def test_endpoints_of_unknown_traffic_are_listed_too(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(
        by_source(
            endpoint_event(conversation="quiet", event_time=at(day=-8)),
            endpoint_event(conversation="new", event_time=at(-5)),
            message_event("SENT", "new/0", event_time=at(-4)),
        )
    )
    project.run(session, at(0))
    (row,) = collect_rows(read_leaks(project.warehouse(session), at(0)))
    assert (row["conversation_id"], row["reason"]) == ("quiet", "traffic_not_known")
    assert keys(read_leaking(project.warehouse(session), at(0), days=7)) == [("quiet", True)]


def test_the_job_prints_tables_and_json(embedded: SparkSession, leaking: Project, capsys: Any) -> None:
    assert job.main(["--config", leaking.config, "--format", "json", "--limit", "3"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["days"], report["endpoints"]) == (7, 4)
    assert [row["conversation_id"] for row in report["oldest"]] == ["half", "alone", "alone"]
    assert job.main(["--config", leaking.config]) == 0
    shown = capsys.readouterr().out
    assert "4 endpoints leak at 2026-11-20T12:00:00Z" in shown
    assert "handle half too False" in shown


def test_no_leak_is_said(session: SparkSession, tmp_path: Path, capsys: Any) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(by_source(endpoint_event(event_time=at(-1))))
    project.run(session, at(0))
    print_leaks(report_leaks(project.warehouse(session), as_of=at(0), days=7, limit=5))
    assert "No endpoint leaks at 2026-11-20T12:00:00Z." in capsys.readouterr().out
