"""Events that come late, for what is closed by then, change the tables as if they had come in time."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.ingest import days, ingest as fold, late_events as late
from pipelines.nightly.night import describe
from tests.support.factories import Events, at, by_source, catalog, endpoint_event, message_event, queue_event
from tests.support.harness import SOURCES, Project, difference, one_log
from tests.support.model import simulate
from tests.support.nights import at_other_times, stretched
from tests.support.random_logs import PUBLIC, project_of, random_logs
from tests.support.strategies import Log
from tests.support.strategies.base import START

pytestmark = pytest.mark.long

LOGS = 8
LATER = timedelta(days=10)
OF_THE_FIRST = START + timedelta(hours=40)
SHARE_OF_LATE = 0.15


WAYS_BACK = {
    "all history": (late.SMALL_HISTORY, days.FULL_SHARE),
    "in reach, on days of few events": (0, 0.1),
}


@pytest.fixture(params=WAYS_BACK)
def way_back(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How closed rows are found, and which days are full."""
    history, share = WAYS_BACK[request.param]
    monkeypatch.setattr(fold, "SMALL_HISTORY", history)
    monkeypatch.setattr(days, "FULL_SHARE", share)


def require_equal_at(project: Project, log: Log, as_of: datetime) -> None:
    """The model's tables of one as_of; others may be there as well."""
    expected = simulate(log.events, **log.settings | {"as_of": as_of})
    for table in PUBLIC:
        columns = list(expected[table][0]) if expected[table] else ["as_of"]
        rows = [row for row in project.table(table) if row.get("as_of", as_of) == as_of]
        found = [{name: row[name] for name in columns} for row in rows]
        assert difference(found, expected[table]) == [], (table, as_of)


def dealt(events: Events, random: Random) -> tuple[Events, Events]:
    """The events in time, and those that come late."""
    in_time: Events = {source: [] for source in SOURCES}
    late: Events = {source: [] for source in SOURCES}
    for source, rows in events.items():
        for row in rows:
            (late if random.random() < SHARE_OF_LATE else in_time)[source].append(row)
    return in_time, late


@pytest.mark.usefixtures("way_back")
def test_late_events_equal_the_model(session: SparkSession, tmp_path: Path) -> None:
    """Three days in the first night but for every seventh event, which comes with a log of days later."""
    both = one_log(random_logs(2 * LOGS, 41))
    first = stretched(_part(both, lambda mark: mark < LOGS), 3)
    second = at_other_times(_part(both, lambda mark: mark >= LOGS), lambda moment: moment + LATER)
    log = replace(
        both,
        rules=[*first.rules, *second.rules],
        **{source: [*first.events[source], *second.events[source]] for source in SOURCES},
        top=None,
        starvation=None,
        blocks=None,
    )
    in_time, late = dealt(first.events, Random(41))
    project = project_of(tmp_path, log)
    project.add(in_time)
    project.take_in(session)
    project.add({source: [*late[source], *second.events[source]] for source in SOURCES})
    project.run(session, second_as_of := START + LATER + timedelta(hours=15))
    assert any(row["closed_on"] and row["fold"] == 1 for row in project.table("message_events"))
    moved = [row for row in project.table("message_events") if row["batch"] == 1 and row["fold"] == 2]
    assert {row["closed_on"] is None for row in moved} == {True, False}
    require_equal_at(project, log, second_as_of)
    describe(project.warehouse(session), project.settings(), OF_THE_FIRST)
    require_equal_at(project, log, OF_THE_FIRST)
    for source in SOURCES:
        columns = list(log.events[source][0])
        assert difference(project.table(source, columns), log.events[source]) == [], source


def _part(log: Log, belongs: Callable[[int], bool]) -> Log:
    """The logs of `one_log` whose marks belong; with the catalog of all."""
    parts = {
        name: [row for row in rows if belongs(int(row["instance"][:2]))]
        for name, rows in {**log.events, "rules": log.rules}.items()
    }
    return replace(log, **parts)


def test_a_message_that_comes_back_brings_its_transaction(session: SparkSession, tmp_path: Path) -> None:
    """It was received for good days ago: without its COMMIT it would be in flight, and lock its group."""
    project = Project(tmp_path, catalog=catalog())
    project.add(
        by_source(
            endpoint_event(),
            endpoint_event("DIALOG_CREATED", event_time=at(1)),
            message_event("RECEIVED", event_time=at(3), transaction_id="t"),
            queue_event("COMMIT", event_time=at(4), transaction_id="t"),
            # Receives with a transaction and without: what moves is the transaction's.
            queue_event("RECEIVE", event_time=at(3), transaction_id="t", row_count=1),
            queue_event("RECEIVE", "at once", event_time=at(3), row_count=1),
            message_event("SENT", "c9/0", event_time=at(0, day=1)),
        )
    )
    project.run(session, at(60, day=1))
    project.add(
        by_source(
            message_event("SENT", event_time=at(1)),
            message_event("DELIVERED", "c1/1", event_time=at(0, day=3)),
        )
    )
    project.run(session, at(60, day=3))
    assert [row["state"] for row in project.table("group_priorities")] == ["ready"]
    assert [row["message_id"] for row in project.table("receive_schedule")] == ["c1/1"]
    closed = {row["event_id"]: row["closed_on"] for row in project.table("message_events")}
    assert {event_id for event_id, day in closed.items() if day} == {"RECEIVED c1/0 True", "SENT c1/0 True"}
    assert len(project.table("queue_events")) == 3


def test_rows_out_of_reach_stay_when_others_of_their_message_come_back(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message is closed on the first day, again on the third, and an event of the third comes late."""
    monkeypatch.setattr(fold, "SMALL_HISTORY", 0)
    project = Project(tmp_path, catalog=catalog())
    for day, event_type in ((0, "RECEIVED"), (2, "FORWARDED"), (2, "SENT")):
        project.add(
            by_source(
                message_event(event_type, event_time=at(day, day=day)),
                message_event("SENT", f"other/{project.nights}", event_time=at(60, day=day)),
            )
        )
        project.take_in(session)
    found = [row["event_id"] for row in project.table("message_events") if row["message_id"] == "c1/0"]
    assert sorted(found) == ["FORWARDED c1/0 True", "RECEIVED c1/0 True", "SENT c1/0 True"]
