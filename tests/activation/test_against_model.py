"""The job on whole logs against the model: many random logs in one run, in one night and in several."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from jobs import activation, ingest, ledger, rules
from jobs.publish import Run
from pipelines.settings.load import load_settings
from tests.harness import Project, difference, one_log
from tests.model.activation import activation as expected_rows
from tests.strategies import Log
from tests.strategies.logs import split
from tests.strategies.monitored import AS_OF, TIMINGS, Timing, monitored_logs

LOGS_A_RUN = 40


def random_logs(number: int) -> list[Log]:
    found: list[Log] = []

    @seed(number)
    @settings(
        max_examples=LOGS_A_RUN,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(monitored_logs())
    def collect(log: Log) -> None:
        found.append(log)

    collect()
    return found


def project_of(folder: Path, log: Log, timing: Timing) -> Project:
    return Project(folder, catalog=log.catalog, activation=timing.settings)


def run(spark: SparkSession, project: Project, nights: Sequence[dict[str, Any]]) -> None:
    declared = load_settings(project.config)
    rules.run(spark, declared)
    for night in nights:
        project.add(night)
        begun = Run.begin(AS_OF)
        ingest.run(spark, declared, run_id=begun.run_id, started_at=begun.started_at)
        ledger.run(spark, declared)
    activation.run(spark, declared, AS_OF)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "timing", "nights"),
    [(1, TIMINGS[0], 1), (2, TIMINGS[1], 3)],
    ids=["one night", "three nights"],
)
def test_the_job_finds_what_the_model_finds(
    spark: SparkSession, tmp_path: Path, number: int, timing: Timing, nights: int
) -> None:
    log = one_log(random_logs(number))
    project = project_of(tmp_path, log, timing)
    run(spark, project, [log.events] if nights == 1 else split(log.events, nights, Random(number)))
    expected = expected_rows(log.events, catalog=log.catalog, as_of=AS_OF, **timing.settings)
    assert len(expected) > LOGS_A_RUN
    found = project.table("activation", expected[0])
    assert difference(found, expected) == []
