"""Whole logs against the model: many random logs in one run, from event tables and through nights."""

from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from pyspark.sql import SparkSession

from pipelines.activation.write import write_activation
from pipelines.ingest import ingest as fold
from pipelines.storage.batches import read_completed_batches
from pipelines.storage.warehouse import Warehouse
from tests.support.factories import message_event
from tests.support.harness import Project, difference, one_log
from tests.support.model.activation import activation as expected_rows
from tests.support.model.catalog import Catalog
from tests.support.model.endpoints import read_endpoints
from tests.support.model.messages import read_messages
from tests.support.model.rules import rule_history
from tests.support.model.vocabulary import ENDS, Side
from tests.support.nights import at_other_times, nights
from tests.support.strategies import Log
from tests.support.strategies.logs import split
from tests.support.strategies.monitored import AS_OF, TIMINGS, Timing, monitored_logs
from tests.support.written import warehouse_of

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
    warehouse = warehouse_of_log(session, tmp_path / "warehouse", log)
    write_activation(warehouse, project.settings(), AS_OF, read_completed_batches(warehouse))
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


OVER_DAYS = 10_000
LATER = AS_OF + timedelta(days=3)
DAYS = (*(AS_OF - timedelta(hours=hours) for hours in (60, 36, 12)), AS_OF, LATER)
"""Ends of nights; nothing of the logs happens in the last one."""
SLOW = Timing(check_seconds=3600, empty_seconds=3000, window_hours=6)


@pytest.mark.slow
def test_nights_of_days_find_what_the_model_finds(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is closed by then has no state in any window, on time or late, as far back as a fold looks."""
    monkeypatch.setattr(fold, "SMALL_HISTORY", 0)
    log = at_other_times(one_log(random_logs(5)), _over_days)
    project = Project(tmp_path, catalog=log.catalog, activation=SLOW.settings)
    for number, (events, day) in enumerate(zip(nights(log.events, Random(5), DAYS), DAYS, strict=True)):
        # It moves the day on which rows close, and it is nothing to a monitor.
        sent = message_event("SENT", f"sent/{number}", event_time=day - timedelta(hours=1))
        project.add({**events, "message_events": [*events["message_events"], sent]})
        project.take_in(session)
    for day in DAYS:
        warehouse = project.warehouse(session)
        write_activation(warehouse, project.settings(), day, read_completed_batches(warehouse))
        require_equal(project, log, SLOW, day, more_than=LOGS_A_RUN / 4)


def _over_days(moment: datetime) -> datetime:
    """The seconds around the window as hours: the events that were in it are days apart."""
    distance = moment - AS_OF
    return AS_OF + distance * (OVER_DAYS if abs(distance) < timedelta(minutes=1) else 1)


def require_equal(
    project: Project, log: Log, timing: Timing, as_of: datetime = AS_OF, more_than: float = LOGS_A_RUN
) -> None:
    expected = expected_rows(log.events, catalog=log.catalog, as_of=as_of, **timing.settings)
    assert len(expected) > more_than
    rows = [row for row in project.table("activation") if row["as_of"] == as_of]
    found = [{name: row[name] for name in expected[0]} for row in rows]
    assert difference(found, expected) == [], as_of
