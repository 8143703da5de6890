"""Whole logs against the model: many random logs in one run."""

from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.activation.write import write_activation
from pipelines.ingest import ingest as fold
from pipelines.storage.batches import read_completed_batches
from tests.support.factories import message_event
from tests.support.harness import Project, difference, one_log
from tests.support.model.activation import activation as expected_rows
from tests.support.nights import at_other_times, nights
from tests.support.random_logs import drawn
from tests.support.strategies import Log
from tests.support.strategies.monitored import AS_OF, TIMINGS, Timing, monitored_logs

LOGS_A_RUN = 12


@pytest.mark.slow
def test_a_window_of_seconds_is_what_the_model_finds(session: SparkSession, tmp_path: Path) -> None:
    log, timing = one_log(drawn(monitored_logs(), LOGS_A_RUN, 3)), TIMINGS[3]
    project = Project(tmp_path, catalog=log.catalog, activation=timing.settings)
    project.add(log.events)
    project.take_in(session)
    require_equal(session, project, log, timing)


OVER_DAYS = 10_000
LATER = AS_OF + timedelta(days=3)
DAYS = (AS_OF - timedelta(hours=24), AS_OF, LATER)
"""Ends of nights; nothing of the logs happens in the last one."""
SLOW = Timing(check_seconds=3600, empty_seconds=3000, window_hours=6)


@pytest.mark.long
@pytest.mark.slow
def test_nights_of_days_find_what_the_model_finds(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is closed by then has no state in any window, on time or late, as far back as a fold looks."""
    monkeypatch.setattr(fold, "SMALL_HISTORY", 0)
    log = at_other_times(one_log(drawn(monitored_logs(), LOGS_A_RUN, 5)), _over_days)
    project = Project(tmp_path, catalog=log.catalog, activation=SLOW.settings)
    for number, (events, day) in enumerate(zip(nights(log.events, Random(5), DAYS), DAYS, strict=True)):
        # It moves the day on which rows close, and it is nothing to a monitor.
        sent = message_event("SENT", f"sent/{number}", event_time=day - timedelta(hours=1))
        project.add({**events, "message_events": [*events["message_events"], sent]})
        project.take_in(session)
    for day in DAYS:
        require_equal(session, project, log, SLOW, day, more_than=LOGS_A_RUN / 4)


def _over_days(moment: datetime) -> datetime:
    """The seconds around the window as hours: the events that were in it are days apart."""
    distance = moment - AS_OF
    return AS_OF + distance * (OVER_DAYS if abs(distance) < timedelta(minutes=1) else 1)


def require_equal(
    session: SparkSession,
    project: Project,
    log: Log,
    timing: Timing,
    as_of: datetime = AS_OF,
    more_than: float = LOGS_A_RUN,
) -> None:
    warehouse = project.warehouse(session)
    write_activation(warehouse, project.settings(), as_of, read_completed_batches(warehouse))
    expected = expected_rows(log.events, catalog=log.catalog, as_of=as_of, **timing.settings)
    assert len(expected) > more_than
    rows = [row for row in project.table("activation") if row["as_of"] == as_of]
    found = [{name: row[name] for name in expected[0]} for row in rows]
    assert difference(found, expected) == [], as_of
