"""`why` against the naive model, on many random logs at once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from schemas.outputs import FINDINGS, WAITS
from tests.support.harness import Project, Row, difference, one_log
from tests.support.model.moment import Moment
from tests.support.model.why import CODES, causes_by_message, waits, why
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies import Log
from tests.support.strategies.backlog_snapshots import joined_backlogs
from tests.support.strategies.backlog_ways import BACKLOGS, WAYS, ways_of
from tests.support.strategies.backlogs import ACTIVATION
from tests.support.why_answers import answer_of, declare_snapshots, require_same_answer

WINDOW = {"check_seconds": 300, "empty_seconds": 5, "window_hours": 24}
AN_HOUR = {"after_seconds": 3600, "raise_by": 1}
TWO_FRAGMENTS = {"fragment_bytes": 100, "fragments": 2}


def moment_of(log: Log, activation: Row, **more: Any) -> Moment:
    """The model's tables."""
    return Moment(log.events, **log.settings, activation_settings=activation, **more)


def test_the_answer_equals_the_model(session: SparkSession, tmp_path: Path) -> None:
    """Random logs, with the plain settings."""
    log = replace(one_log(random_logs(20, 1)), top=None, starvation=None, blocks=None)
    project = project_of(tmp_path, log, activation=WINDOW)
    project.add(log.events)
    project.run(session, log.as_of)
    found = answer_of(project, session, log.as_of)
    moment = moment_of(log, WINDOW)
    expected = why(moment)
    require_same_answer(found, expected)
    require_same_tables(project, expected, moment)


def test_backlogs_have_every_cause_as_in_the_model(session: SparkSession, tmp_path: Path) -> None:
    """Among them the causes that only snapshots show, and settings that change both orders."""
    log, snapshots = joined_backlogs(BACKLOGS)
    log = replace(log, top=2, starvation=AN_HOUR, blocks=TWO_FRAGMENTS)
    project = project_of(
        tmp_path, log, activation=ACTIVATION, snapshots=declare_snapshots(tmp_path, snapshots)
    )
    project.add(log.events)
    project.run(session, log.as_of)
    found = answer_of(project, session, log.as_of)
    of_scenes = {
        "broker_disabled",
        "broker_changed",
        "conversations_gone",
        "monitor_dropped",
        "monitor_missing",
        "too_many_tasks",
    }
    assert {cause["code"] for cause in found["causes"]} == set(CODES) - of_scenes
    moment = moment_of(log, ACTIVATION, snapshots=snapshots)
    assert WAYS - ways_of(causes_by_message(moment)) == set()
    expected = why(moment)
    require_same_answer(found, expected)
    require_same_tables(project, expected, moment)


def require_same_tables(project: Project, answer: Row, moment: Moment) -> None:
    """Require that a night kept all findings of the answer, and the waits."""
    found = {
        table.name: project.table(table.name, [*table.names[2:], "as_of"]) for table in (FINDINGS, WAITS)
    }
    at = {"as_of": moment.as_of}
    counted = [{name: row[name] for name in FINDINGS.names[2:]} | at for row in answer["findings"]]
    assert difference(found["findings"], counted) == []
    assert difference(found["waits"], [{**row, **at} for row in waits(moment)]) == []
    [run] = project.table("runs")
    counts = dict(run["row_counts"])
    assert {name: counts[name] for name in found} == {name: len(rows) for name, rows in found.items()}
    assert all(found.values())
