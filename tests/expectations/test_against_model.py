"""The table `expectations` against the naive model, on many backlogs at once."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import Row
from tests.support.harness import Project
from tests.support.model.expectations import MEASURES, expectations
from tests.support.model.moment import Moment
from tests.support.random_logs import project_of
from tests.support.strategies.backlog_snapshots import joined_backlogs
from tests.support.strategies.backlogs import ACTIVATION
from tests.support.strategies.expectation_entries import random_entries
from tests.support.why_answers import declare_snapshots

COUNT = 150
"""Entries of a run."""


@pytest.mark.slow
def test_the_table_equals_the_model(session: SparkSession, tmp_path: Path) -> None:
    log, snapshots = joined_backlogs(range(320, 330))
    log = replace(log, top=None, starvation={"after_seconds": 3600, "raise_by": 1}, blocks=None)
    moment = Moment(log.events, **log.settings, activation_settings=ACTIVATION, snapshots=snapshots)
    entries = random_entries(moment, COUNT, 320)
    expected = expectations(moment, entries)
    require_variety(entries, expected)

    declared = declare_snapshots(tmp_path, snapshots)
    project = project_of(tmp_path, log, expect=entries, activation=None, snapshots=declared)
    project.add(log.events)
    project.run(session, log.as_of)

    require_same(project, entries, expected)


def require_same(project: Project, entries: list[Row], expected: list[Row]) -> None:
    columns = ("name", "value", "limit", "met", "messages")
    found = {row["name"]: row for row in project.table("expectations", columns)}
    wrong = [
        f"{entry}: {found.get(row['name'])} is not {row}"
        for entry, row in zip(entries, expected, strict=True)
        if found.get(row["name"])
        != {**row, "value": None if row["value"] is None else pytest.approx(row["value"])}
    ]
    assert not wrong, "\n".join(wrong[:10])
    assert len(found) == len(expected)


def require_variety(entries: list[Row], expected: list[Row]) -> None:
    """Require that each measure is met and is not, and that each way to nothing is there."""
    pairs = list(zip(entries, expected, strict=True))
    for measure in MEASURES:
        assert {row["met"] for entry, row in pairs if measure in entry} == {True, False}, measure
    nothing = {row["met"] for entry, row in pairs if row["value"] is None}
    assert nothing == {True, False}
    at_the_limit = [row["met"] for entry, row in pairs if row["value"] == row["limit"] and row["value"]]
    assert len(at_the_limit) > COUNT / 10
    leaks = [row["value"] for entry, row in pairs if "leaked_conversations" in entry and "days" in entry]
    assert len(set(leaks)) > 3
