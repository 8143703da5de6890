"""The jobs against the naive model, on many random logs at once."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.config.model import Receive, Transmission
from pipelines.schedules.write import write_schedules
from pipelines.storage.batches import read_completed_batches
from tests.support.harness import Project, one_log
from tests.support.random_logs import project_of, random_logs, require_equal
from tests.support.strategies import Log
from tests.support.strategies.logs import split

LOGS_A_RUN = 8
STARVATION = {"after_seconds": 5400, "raise_by": 3}
BLOCKS = {"fragment_bytes": 100, "fragments": 3}


@pytest.fixture(scope="module")
def night(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Log]:
    """One night over many random logs, with the plain settings."""
    log = replace(one_log(random_logs(3 * LOGS_A_RUN, 1)), top=None, starvation=None, blocks=None)
    project = project_of(tmp_path_factory.mktemp("night"), log)
    project.add(log.events)
    project.run(session, log.as_of)
    return project, log


def test_one_night_equals_the_model(night: tuple[Project, Log]) -> None:
    require_equal(*night)


def test_schedules_with_settings_equal_the_model(session: SparkSession, night: tuple[Project, Log]) -> None:
    project, log = night
    changed = replace(
        project.settings(),
        receive=Receive(top=3),
        transmission=Transmission.model_validate({"starvation": STARVATION, "blocks": BLOCKS}),
    )
    warehouse = project.warehouse(session)
    write_schedules(warehouse, changed, log.as_of, read_completed_batches(warehouse))
    require_equal(project, replace(log, top=3, starvation=STARVATION, blocks=BLOCKS))


def test_without_queue_events_every_receive_counts(session: SparkSession, tmp_path: Path) -> None:
    log = replace(one_log(random_logs(LOGS_A_RUN, 6)), queue_events=None)
    project = project_of(tmp_path, log)
    project.add(log.events)
    project.run(session, log.as_of)
    require_equal(project, log)


def test_any_split_over_nights_equals_the_model(session: SparkSession, tmp_path: Path) -> None:
    log = one_log(random_logs(LOGS_A_RUN, 7))
    project = project_of(tmp_path, log)
    *earlier, last = split(log.events, 3, Random(7))
    for piece in earlier:
        project.add(piece)
        project.take_in(session)
    project.add(last)
    project.run(session, log.as_of)
    require_equal(project, log)
