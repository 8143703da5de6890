"""`why` against the naive model, on many random logs at once."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.support.harness import Row, one_log
from tests.support.model.moment import Moment
from tests.support.model.why import CODES, why
from tests.support.random_logs import project_of, random_logs
from tests.support.strategies import Log
from tests.support.strategies.backlog_snapshots import joined_backlogs
from tests.support.strategies.backlogs import ACTIVATION
from tests.support.why_answers import LIMIT, answer_of, declare_snapshots, require_same_answer

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
    require_same_answer(found, why(moment_of(log, WINDOW), limit=LIMIT))


def test_backlogs_have_every_cause_as_in_the_model(session: SparkSession, tmp_path: Path) -> None:
    """Among them the causes that only snapshots show, and settings that change both orders."""
    log, snapshots = joined_backlogs(range(30, 45))
    log = replace(log, top=2, starvation=AN_HOUR, blocks=TWO_FRAGMENTS)
    project = project_of(
        tmp_path, log, activation=ACTIVATION, snapshots=declare_snapshots(tmp_path, snapshots)
    )
    project.add(log.events)
    project.run(session, log.as_of)
    found = answer_of(project, session, log.as_of)
    of_scenes = {"broker_disabled", "monitor_dropped", "monitor_missing", "too_many_tasks"}
    assert {cause["code"] for cause in found["causes"]} == set(CODES) - of_scenes
    require_same_answer(found, why(moment_of(log, ACTIVATION, snapshots=snapshots), limit=LIMIT))
