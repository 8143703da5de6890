"""Conversations and traffic between two nights against the naive model, on many random logs at once."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.changes.read import find_since, read_changes
from tests.support.harness import one_log
from tests.support.model.changes import conversations, traffic
from tests.support.model.moment import Moment
from tests.support.random_logs import project_of, random_logs

HOURS = timedelta(hours=6)


@pytest.mark.long
def test_counts_equal_the_model(session: SparkSession, tmp_path: Path) -> None:
    log = replace(one_log(random_logs(10, 1)), top=None, starvation=None, blocks=None)
    project = project_of(tmp_path, log, activation=None)
    project.add(log.events)
    since = log.as_of - HOURS
    project.run(session, since)
    project.run(session, log.as_of)
    warehouse, settings = project.warehouse(session), project.settings()
    assert find_since(warehouse, settings, None, log.as_of) == since
    found = read_changes(warehouse, settings, since, log.as_of)
    moment = Moment(log.events, **log.settings)
    assert {
        (row["instance"], row["database"]): (row["begun"], row["gone"], row["unread_gone"])
        for row in found["conversations"]
    } == conversations(moment, since)
    moved = {
        (row["instance"], row["database"], row["queue"]): (row["arrived_at_least"], row["received_at_least"])
        for row in found["places"]
        if row["kind"] == "receive" and (row["arrived_at_least"] or row["received_at_least"])
    }
    expected = traffic(moment, since)
    assert moved == expected
    assert len(expected) > 5
    assert any(unread for _, _, unread in conversations(moment, since).values())
