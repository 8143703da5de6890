"""Whole logs against the model: many random logs in one run, from event tables and through nights."""

from datetime import datetime
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from steps.activation import write_activation
from storage.warehouse import Warehouse
from tests.harness import Project, difference, one_log
from tests.model.activation import activation as expected_rows
from tests.model.catalog import Catalog
from tests.model.endpoints import read_endpoints
from tests.model.messages import read_messages
from tests.model.rules import rule_history
from tests.model.vocabulary import ENDS, Side
from tests.strategies import Log
from tests.strategies.logs import split
from tests.strategies.monitored import AS_OF, TIMINGS, Timing, monitored_logs
from tests.written import warehouse_of

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


def warehouse_of_log(session: SparkSession, folder: Path, log: Log) -> Warehouse:
    """The ledger as one fold would leave it, nothing closed, but written without it."""
    known = read_endpoints(
        log.endpoint_events, read_messages(log.message_events), Catalog(log.catalog), rule_history([])
    )
    ended: dict[Side, datetime] = {}
    for event in log.endpoint_events:
        if event["event_type"] in ENDS:
            side = (event["conversation_id"], event["is_initiator"])
            ended[side] = min(event["event_time"], ended.get(side, event["event_time"]))
    endpoints = [
        {**vars(found), "queue": None, "conversation_group_id": found.first_group_id, "inferred": False}
        | {"ended_at": ended.get(side)}
        for side, found in known.items()
    ]
    counts = {"events": 1, "accepted": 1, "duplicates": 0, "rejected": 0}
    batches = [{"batch": 1, "source": source, **counts, "bindings": ""} for source in log.events]
    return warehouse_of(session, folder, {**log.events, "endpoints": endpoints, "batches": batches})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "timing"),
    [(1, TIMINGS[0]), pytest.param(3, TIMINGS[3], marks=pytest.mark.spark)],
)
def test_the_step_finds_what_the_model_finds(
    session: SparkSession, tmp_path: Path, number: int, timing: Timing
) -> None:
    log = one_log(random_logs(number))
    project = Project(tmp_path, catalog=log.catalog, activation=timing.settings)
    write_activation(warehouse_of_log(session, tmp_path / "warehouse", log), project.settings(), AS_OF)
    require_equal(project, log, timing)


@pytest.mark.slow
def test_three_nights_find_what_the_model_finds(session: SparkSession, tmp_path: Path) -> None:
    log, timing = one_log(random_logs(4)), TIMINGS[1]
    project = Project(tmp_path, catalog=log.catalog, activation=timing.settings)
    for events in split(log.events, 3, Random(4)):
        project.add(events)
        project.take_in(session)
    project.run(session, AS_OF)
    require_equal(project, log, timing)


def require_equal(project: Project, log: Log, timing: Timing) -> None:
    expected = expected_rows(log.events, catalog=log.catalog, as_of=AS_OF, **timing.settings)
    assert len(expected) > LOGS_A_RUN
    found = project.table("activation", expected[0])
    assert difference(found, expected) == []
