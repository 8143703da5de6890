"""Events that come late, for what is closed by then, change the tables as if they had come in time.

Where early days were pruned, they change the tables as in a warehouse that was never pruned.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from pipelines.ingest import days, ingest as fold
from pipelines.nightly.night import describe
from pipelines.storage.maintain import maintain
from schemas.events import CREATIONS
from schemas.ledger import ENDPOINTS
from tests.support.factories import (
    Events,
    Row,
    at,
    by_source,
    catalog,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import SOURCES, Project, difference, one_log
from tests.support.model import simulate
from tests.support.nights import stretched
from tests.support.random_logs import PUBLIC, project_of, random_logs
from tests.support.strategies import Log
from tests.support.strategies.base import START

LOGS = 8
SHARE_OF_LATE = 0.25
DAYS = 4
FIRST_LEFT = START.date() + timedelta(days=DAYS - 2)
"""The day before the newest one of a log, of which a batch a day was ingested."""
AS_OFS = (START + timedelta(hours=34), START + timedelta(hours=80))
"""Moments of days that are left, from the first one on."""
LEDGER = ENDPOINTS.name, "endpoint_events", "message_events", "queue_events"
Tables = Mapping[str, Sequence[Row]]


def with_ends(log: Log, random: Random) -> Log:
    """DAYS of the log, with an end of both endpoints of most conversations, as random ones seldom end."""
    ends = []
    names = sorted({row["conversation_id"] for row in log.endpoint_events})
    chosen = {name for name in names if random.random() < 0.7}
    for row in log.endpoint_events:
        if row["event_type"] in CREATIONS and row["conversation_id"] in chosen:
            moment = row["event_time"] + timedelta(hours=random.randrange(30))
            for side in (True, False):
                id = f"end {side} {row['event_id']}"
                changes = {"event_type": "END_CONVERSATION", "is_initiator": side, "event_time": moment}
                ends.append({**row, **changes, "event_id": id})
    events = {**log.events, "endpoint_events": [*log.endpoint_events, *ends]}
    last = START.date() + timedelta(days=DAYS - 1)
    return replace(
        log,
        **{name: [row for row in rows if row["event_time"].date() <= last] for name, rows in events.items()},
    )


def dealt(log: Log, random: Random) -> tuple[list[Events], list[Events]]:
    """The events by their UTC day, and two parts of those of days that are left, which come late."""
    in_time: dict[date, Events] = {}
    late: list[Events] = [{source: [] for source in SOURCES} for _ in range(2)]
    for source, rows in log.events.items():
        for row in rows:
            day = row["event_time"].date()
            of_day = in_time.setdefault(day, {source: [] for source in SOURCES})
            is_late = day >= FIRST_LEFT and random.random() < SHARE_OF_LATE
            (random.choice(late) if is_late else of_day)[source].append(row)
    return [in_time[day] for day in sorted(in_time)], late


def tables_of(project: Project, names: Iterable[str]) -> dict[str, list[Row]]:
    return {name: project.table(name) for name in names}


def left(tables: Tables) -> dict[str, list[Row]]:
    """The rows of the ledger's tables that are open or were closed on a day that is left."""
    return {
        name: [row for row in tables[name] if row["closed_on"] is None or row["closed_on"] >= FIRST_LEFT]
        for name in LEDGER
    }


def of_rows_left(late: Events, tables: Tables) -> Events:
    """The late events that refer to no row that was closed on a pruned day."""
    names = ("message_id", "conversation_id", "transaction_id")
    rows = [row for name in LEDGER for row in tables[name] if row["closed_on"]]
    pruned = [row for row in rows if row["closed_on"] < FIRST_LEFT]
    ids = {(name, row[name]) for row in pruned for name in names if row.get(name) is not None}
    return {
        source: [row for row in rows if not ids & {(name, row.get(name)) for name in names}]
        for source, rows in late.items()
    }


def require_same(found: Tables, expected: Tables) -> None:
    for name, rows in expected.items():
        assert difference(found[name], rows) == [], name


def require_model(tables: Tables, log: Log, as_of: datetime) -> None:
    """The model's tables of one as_of; others may be there as well."""
    expected = simulate(log.events, **log.settings | {"as_of": as_of})
    for name in PUBLIC:
        columns = list(expected[name][0]) if expected[name] else ["as_of"]
        rows = [row for row in tables[name] if row.get("as_of", as_of) == as_of]
        found = [{column: row[column] for column in columns} for row in rows]
        assert difference(found, expected[name]) == [], (name, as_of)


@pytest.mark.long
def test_late_events_equal_the_model_and_a_pruned_warehouse(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two batches of late events: closed rows are searched for in reach, then everywhere.

    In reach, no late event finds rows closed before its own day, so pruning changes nothing. Everywhere, they
    find all rows; those that refer to pruned rows are left out.
    """
    log = with_ends(stretched(one_log(random_logs(LOGS, 57)), DAYS), Random(58))
    in_time, (first, second) = dealt(log, Random(57))
    whole = project_of(tmp_path / "whole", log, activation=None)
    for events in in_time:
        whole.add(events)
        whole.take_in(session)
    pruned = whole.copied(tmp_path / "pruned")
    for file in pruned.folder.glob("*_events/*.jsonl"):
        file.unlink()
    root = str(pruned.folder / "warehouse")
    lines = maintain(root, keep_event_days=1, keep_hours=0, spark=session)
    assert [line.partition(": delete ")[0] for line in lines[:4]] == list(LEDGER)
    require_same(tables_of(pruned, LEDGER), left(tables_of(whole, LEDGER)))

    both = (whole, pruned)
    with monkeypatch.context() as patched:
        patched.setattr(fold, "SMALL_HISTORY", 0)
        patched.setattr(days, "FULL_SHARE", 0.1)
        for project in both:
            project.add(first)
            project.take_in(session)
    closed = {row["event_id"] for row in whole.table("message_events") if row["closed_on"]}
    second = of_rows_left(second, tables_of(whole, LEDGER))
    for project in both:
        project.add(second)
        project.run(session, AS_OFS[1])
        describe(project.warehouse(session), project.settings(), AS_OFS[0])

    expected, found = (tables_of(project, {*LEDGER, *PUBLIC}) for project in both)
    require_same(found, expected | left(expected))
    assert pruned.table("rejected_events") == []
    known = {
        source: [row for events in (*in_time, first, second) for row in events[source]] for source in SOURCES
    }
    for as_of in AS_OFS:
        require_model(expected, replace(log, **known), as_of)
    assert closed & {row["event_id"] for row in expected["message_events"] if row["fold"] == 6}


@pytest.mark.slow
def test_a_message_that_comes_back_brings_its_transaction(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was received for good days ago: without its COMMIT it would be in flight, and lock its group."""
    monkeypatch.setattr(fold, "SMALL_HISTORY", 0)
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
    project.take_in(session)
    project.add(
        by_source(
            message_event("SENT", event_time=at(1)),
            message_event("DELIVERED", "c1/1", event_time=at(0, day=3)),
        )
    )
    project.schedule(session, at(60, day=3))
    assert [row["state"] for row in project.table("group_priorities")] == ["ready"]
    assert [row["message_id"] for row in project.table("receive_schedule")] == ["c1/1"]
    closed = {row["event_id"]: row["closed_on"] for row in project.table("message_events")}
    assert {event_id for event_id, day in closed.items() if day} == {"RECEIVED c1/0 True", "SENT c1/0 True"}
    assert len(project.table("queue_events")) == 3


@pytest.mark.slow
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
