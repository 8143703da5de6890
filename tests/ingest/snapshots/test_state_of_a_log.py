"""Snapshots of the state that a log gives: their schedules are its own, but for what no view can show."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from tests.support.factories import Row
from tests.support.harness import Project, difference, one_log
from tests.support.model import simulate
from tests.support.model.messages import read_messages
from tests.support.random_logs import random_logs
from tests.support.server import message_id, server_views, snapshots, state_of
from tests.support.strategies import Log

SCHEDULES = ("group_priorities", "receive_schedule", "transmission_schedule")
UNKNOWN = {"conversation_handle"}
"""The server has a handle where the log has none."""


def as_the_server_names_it(log: Log) -> Log:
    """The log without what no view shows, its ids in upper case, its messages named as snapshots do."""

    def id_of(text: str | None) -> str | None:
        return None if text is None else text.encode().hex().upper()

    events: Row = {
        source: [
            {**row, **{name: id_of(row.get(name)) for name in ("conversation_id", "conversation_group_id")}}
            for row in rows
        ]
        for source, rows in (("endpoint_events", log.endpoint_events), ("message_events", log.message_events))
    }
    kept = [row for row in events["message_events"] if "FORWARD" not in row["event_type"]]
    messages = read_messages(kept)
    new = {message.message_id: message_id(message, log.as_of) for message in messages}
    once = {old for old, name in new.items() if list(new.values()).count(name) == 1}
    events["message_events"] = [
        {**row, "message_id": new[row["message_id"]]} for row in kept if row["message_id"] in once
    ]
    return replace(log, **events, queue_events=None)


def project_with(folder: Path, log: Log, declared: list[Row], **more: Any) -> Project:
    """A project of snapshots alone; events, catalog and rules only where they are named."""
    project = Project(folder, catalog=log.catalog, rules=log.rules, queue_events=False)
    settings = {
        "warehouse": "warehouse",
        "snapshots": declared,
        "receive": {"top": log.top},
        "transmission": {"starvation": log.starvation, "blocks": log.blocks},
        **more,
    }
    (folder / "settings.yaml").write_text(yaml.safe_dump(settings))
    return project


def rows_of(rows: list[Row]) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in UNKNOWN} for row in rows]


def require_schedules(project: Project, expected: dict[str, list[Row]]) -> None:
    for table in SCHEDULES:
        assert expected[table], table
        columns = expected[table][0].keys() - UNKNOWN
        found = difference(project.table(table, columns), rows_of(expected[table]))
        assert found == [], "\n".join([table, *found])


@pytest.mark.long
def test_a_snapshot_alone_gives_the_schedules_of_the_log(session: SparkSession, tmp_path: Path) -> None:
    """One server, whose databases were exported in different formats."""
    log = as_the_server_names_it(one_log(random_logs(12, 11)))
    # The embedded engine opens no Delta table whose folder has a blank in its name.
    log = replace(log, catalog=json.loads(json.dumps(log.catalog).replace('"Queue "', '"Queue_"')))
    expected = simulate(log.events, **log.settings)
    state = state_of(log.events, log.catalog, log.rules, log.as_of)
    declared = snapshots(tmp_path, server_views(state), log.as_of, "csv", "parquet", "delta")
    project = project_with(tmp_path, log, declared)
    project.run(session, log.as_of)
    require_schedules(project, expected)
    assert project.table("unresolved") == []
    endpoints = project.table("endpoints")
    assert {row["level_source"] for row in endpoints} == {"server"}
    assert {row["created_by"] for row in endpoints} == {"lifetime", "snapshot"}
