"""What is closed is settled: it is neither written nor read again, unless events concern it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
import yaml
from pyspark.sql import SparkSession

from pipelines.ingest import ingest as fold
from pipelines.nightly.night import describe
from pipelines.schedules import orders
from tests.support.factories import (
    INITIATOR,
    TARGET,
    Events,
    at,
    by_source,
    catalog,
    database,
    endpoint_event,
    message_event,
    queue_event,
    short_talk,
)
from tests.support.harness import SOURCES, Project, difference, one_log
from tests.support.model import simulate
from tests.support.nights import nights, stretched
from tests.support.random_logs import PUBLIC, project_of, random_logs, require_equal
from tests.support.strategies import Log
from tests.support.warehouses import changed, closed_files, contents

pytestmark = pytest.mark.long

YEARS = timedelta(days=6 * 365)
FULL = 150
"""So many events on a day that one event of another day is fewer than a hundredth of them."""


def busy_day(day: int) -> Events:
    """Messages that are received at once, in conversations that end, and two that stay."""
    rows = []
    for number in range(FULL // 2):
        name = f"day {day} {number}"
        rows += [
            endpoint_event(conversation=name, event_time=at(1, day=day)),
            message_event("RECEIVED", f"{name}/0", event_time=at(2, day=day)),
        ]
        if number > 1:
            rows += [
                endpoint_event("END_CONVERSATION", name, event_time=at(3, day=day), is_initiator=side)
                for side in (True, False)
            ]
    rows += [
        queue_event("COMMIT", f"commit {day}", event_time=at(2, day=day), transaction_id=f"t{day}"),
        message_event("SENT", f"waits {day}/0", event_time=at(60, day=day)),
    ]
    return by_source(*rows)


def joined(*events: Events) -> Events:
    return {source: [row for each in events for row in each[source]] for source in SOURCES}


def require_model(project: Project, events: Events, as_of: datetime) -> None:
    expected = simulate(events, catalog=catalog(), rules=[], as_of=as_of)
    for table in PUBLIC:
        columns = list(expected[table][0]) if expected[table] else ["as_of"]
        rows = [row for row in project.table(table) if row.get("as_of", as_of) == as_of]
        found = [{name: row[name] for name in columns} for row in rows]
        assert difference(found, expected[table]) == [], table


@contextmanager
def aside(paths: Sequence[str], folder: Path) -> Iterator[None]:
    """Move files away for a while."""
    kept = {Path(path): folder / f"kept {number}" for number, path in enumerate(paths)}
    for path, place in kept.items():
        path.rename(place)
    yield
    for path, place in kept.items():
        place.rename(path)


def test_a_changed_catalog_concerns_open_endpoints_only(session: SparkSession, tmp_path: Path) -> None:
    before = catalog({"SQL1": [database("A", INITIATOR, "OldQueue"), database("B", TARGET, "TargetQueue")]})
    project = Project(tmp_path, catalog=before)
    begun = endpoint_event(conversation="open", event_time=at(0, day=1))
    back = [
        message_event("DELIVERED", "open/0", sent_by_initiator=False, database="A", event_time=at(1, day=1))
    ]
    ended = short_talk("ended", 0, ends=True)
    project.add(joined(ended, by_source(begun, *back)))
    project.run(session, at(60, day=1))
    files = closed_files(project)
    assert {name for name, paths in files.items() if paths} == {
        "endpoints",
        "endpoint_events",
        "message_events",
    }

    (tmp_path / "catalog.yaml").write_text(yaml.safe_dump(catalog()))
    project.run(session, at(60, day=2))
    assert closed_files(project) == files
    queues = {
        row["conversation_id"]: row["queue"] for row in project.table("endpoints") if row["is_initiator"]
    }
    assert queues == {"open": "InitiatorQueue", "ended": "OldQueue"}
    ready = [(row["as_of"].day, row["queue"]) for row in project.table("receive_schedule")]
    assert sorted(ready) == [(21, "OldQueue"), (22, "InitiatorQueue")]


@pytest.mark.parametrize("ahead", [True, False], ids=["years ahead", "years in the past"])
def test_one_stale_clock_touches_nothing_that_is_closed(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: bool
) -> None:
    monkeypatch.setattr(fold, "SMALL_HISTORY", 0)
    project = Project(tmp_path, catalog=catalog())
    first, second = busy_day(0), busy_day(2)
    clock = at(0, day=2) + (YEARS if ahead else -YEARS)
    stale = by_source(
        endpoint_event(conversation="stale", event_time=clock),
        message_event("SENT", "stale/0", event_time=clock),
        queue_event("QUEUE_ALTERED", "stale", event_time=clock, queue_status="ON"),
    )
    off = queue_event("QUEUE_ALTERED", "off", event_time=at(0), queue_status="OFF")
    arrived = message_event("DELIVERED", "day 0 0/1", event_time=at(3))
    first["queue_events"].append(off)
    first["message_events"].append(arrived)
    project.add(first)
    project.run(session, at(90))
    files = closed_files(project)
    assert all(files[source] for source in SOURCES)

    project.add(joined(second, stale))
    # What is not there can't be read; what an old event concerns is looked for in all that was closed since.
    with aside([path for paths in files.values() for path in paths] if ahead else [], tmp_path):
        project.run(session, at(90, day=2))
    found = closed_files(project)
    assert [name for name, paths in files.items() if paths - found[name]] == []
    days = {row["closed_on"] for row in project.table("message_events")}
    assert days == {None, at().date(), at(day=2).date()}
    require_model(project, joined(first, second, stale), at(90, day=2))
    project.run(session, at(90, day=3))
    require_model(project, joined(first, second, stale), at(90, day=3))


def test_queue_events_that_come_for_the_first_time_on_a_later_night(
    session: SparkSession, tmp_path: Path
) -> None:
    """Until then every RECEIVED counted: what was closed by that is open again."""
    log = one_log([log for log in random_logs(30, 51) if log.queue_events][:8])
    project = project_of(tmp_path, log)
    without: Events = {**log.events, "queue_events": []}
    project.add({source: rows for source, rows in without.items() if rows})
    project.run(session, log.as_of)
    expected = simulate(without, **log.settings)["receive_schedule"]
    columns = list(expected[0])
    assert difference(project.table("receive_schedule", columns), expected) == []

    project.add({"queue_events": log.events["queue_events"]})
    project.run(session, log.as_of)
    require_equal(project, log)
    assert difference(project.table("receive_schedule", columns), expected) != []


def third_night(session: SparkSession, folder: Path) -> tuple[Project, Log]:
    """A project that has ingested two of the three nights of a log, with the third one to come."""
    log = stretched(one_log(random_logs(15, 62)), 3)
    project = project_of(folder, log)
    *earlier, last = nights(log.events, Random(62))
    for events in earlier:
        project.add(events)
        project.take_in(session)
    project.add(last)
    return project, log


def test_an_as_of_long_after_the_log_is_described_by_what_the_fold_has_found(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody finds it a second time; a job that does so from the tables writes the same."""
    project, log = third_night(session, tmp_path)
    as_of = log.as_of + timedelta(days=400)

    def again(*_: object, **__: object) -> None:
        raise AssertionError("the state of messages is looked for")

    with monkeypatch.context() as patched:
        patched.setattr(orders, "state_of_messages", again)
        project.run(session, as_of)
        # Nothing is new, so there is no fold that has found it.
        with pytest.raises(AssertionError, match="is looked for"):
            project.run(session, as_of)
    before = contents(project)
    states = {row["state"] for row in project.table("receive_schedule")}
    assert states == {"ready", "group_locked", "queue_off"}
    require_equal(project, replace(log, as_of=as_of))
    describe(project.warehouse(session), project.settings(), as_of)
    assert changed(before, contents(project)) == {}


def test_an_as_of_before_what_earlier_nights_closed(session: SparkSession, tmp_path: Path) -> None:
    """The fold has not read all rows that it needs."""
    project, log = third_night(session, tmp_path)
    closed = [row["closed_on"] for row in project.table("message_events") if row["closed_on"]]
    assert max(closed) > log.as_of.date()
    project.run(session, log.as_of)
    require_equal(project, log)
