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
    """Many random logs with the plain settings: the events of a third come over three nights, all others in
    the last one."""
    logs = random_logs(3 * LOGS_A_RUN, 1)
    log = replace(one_log(logs), top=None, starvation=None, blocks=None)
    split_up = tuple(f"{number:02d}." for number in range(LOGS_A_RUN))
    over_nights, at_once = (
        {
            source: [row for row in rows if is_split == row["instance"].startswith(split_up)]
            for source, rows in log.events.items()
        }
        for is_split in (True, False)
    )
    *earlier, last = split(over_nights, 3, Random(7))
    project = project_of(tmp_path_factory.mktemp("night"), log)
    for piece in earlier:
        project.add(piece)
        project.take_in(session)
    project.add({source: [*rows, *at_once[source]] for source, rows in last.items()})
    project.run(session, log.as_of)
    return project, log


def test_nights_equal_the_model(night: tuple[Project, Log]) -> None:
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
    """All events come in the first night."""
    log = replace(one_log(random_logs(LOGS_A_RUN, 6)), queue_events=None)
    project = project_of(tmp_path, log)
    project.add(log.events)
    project.run(session, log.as_of)
    require_equal(project, log)
