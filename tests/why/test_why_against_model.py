"""`why` and `expectations` against the naive model, on many random logs at once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from pyspark.sql import SparkSession

from schemas.outputs import FINDINGS, WAITS
from tests.support.harness import Project, Row, difference, one_log
from tests.support.model.expectations import MEASURES, expectations
from tests.support.model.moment import Moment
from tests.support.model.why import CODES, waits, why
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies.expectation_entries import random_entries
from tests.support.strategies.shown import as_shown
from tests.support.why_answers import answer_of, declare_snapshots, require_same_answer

pytestmark = pytest.mark.long

LOGS, EXPECTATIONS = 24, 100
WINDOW = {"check_seconds": 600, "empty_seconds": 5, "window_hours": 24}
STARVATION = {"after_seconds": 3600, "raise_by": 1}
BLOCKS = {"fragment_bytes": 100, "fragments": 2}
OF_SCENES = {
    *("broker_disabled", "broker_changed", "conversations_gone"),
    *("monitor_dropped", "monitor_missing", "too_many_tasks"),
}
"""Causes that no random log has."""
MOST_RARE = 3
"""So many other causes may be missing."""


@dataclass(frozen=True)
class Night:
    """A night, what the model says of its as_of, and what its settings expect."""

    project: Project
    moment: Moment
    entries: Sequence[Row]


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Night:
    """Random logs beside snapshots, with settings that change both orders."""
    folder = tmp_path_factory.mktemp("night")
    log, snapshots = as_shown(one_log(random_logs(LOGS, 5)), 1)
    log = replace(log, top=2, starvation=STARVATION, blocks=BLOCKS)
    moment = Moment(log.events, **log.settings, activation_settings=WINDOW, snapshots=snapshots)
    entries = random_entries(moment, EXPECTATIONS, 2)
    declared = declare_snapshots(folder, snapshots)
    project = project_of(folder, log, activation=WINDOW, snapshots=declared, expect=entries)
    project.add(log.events)
    project.run(session, log.as_of)
    return Night(project, moment, entries)


def test_the_answer_equals_the_model(session: SparkSession, night: Night) -> None:
    """With the causes that only snapshots show; and the night kept all findings and the waits."""
    project, moment = night.project, night.moment
    found = answer_of(project, session, moment.as_of)
    # What Hypothesis draws depends on the modules that are loaded.
    rare = set(CODES) - OF_SCENES - {cause["code"] for cause in found["causes"]}
    assert len(rare) <= MOST_RARE, rare
    expected = why(moment)
    require_same_answer(found, expected)
    tables = {
        table.name: project.table(table.name, [*table.names[2:], "as_of"]) for table in (FINDINGS, WAITS)
    }
    at = {"as_of": moment.as_of}
    counted = [{name: row[name] for name in FINDINGS.names[2:]} | at for row in expected["findings"]]
    assert difference(tables["findings"], counted) == []
    assert difference(tables["waits"], [{**row, **at} for row in waits(moment)]) == []
    [run] = project.table("runs")
    counts = dict(run["row_counts"])
    assert {name: counts[name] for name in tables} == {name: len(rows) for name, rows in tables.items()}
    assert all(tables.values())


def test_expectations_equal_the_model(night: Night) -> None:
    expected = expectations(night.moment, night.entries)
    require_variety(night.entries, expected)
    columns = ("name", "value", "limit", "met", "messages")
    found = {row["name"]: row for row in night.project.table("expectations", columns)}
    assert len(found) == len(expected)
    for entry, row in zip(night.entries, expected, strict=True):
        value = None if row["value"] is None else pytest.approx(row["value"])
        assert found[row["name"]] == {**row, "value": value}, entry


def require_variety(entries: Sequence[Row], expected: Sequence[Row]) -> None:
    """Require that nearly each measure is met and is not, values at their limits, and nothing to measure."""
    pairs = list(zip(entries, expected, strict=True))
    of_measures = [{row["met"] for entry, row in pairs if measure in entry} for measure in MEASURES]
    assert of_measures.count({True, False}) >= len(MEASURES) - 1
    assert any(row["value"] is None for row in expected)
    at_the_limit = [row for row in expected if row["value"] == row["limit"] and row["value"]]
    assert len(at_the_limit) > EXPECTATIONS / 20
