"""The as_of of a night: the latest, one before all data, and how old the data is at it."""

import logging
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.config.errors import ConfigError, InputError
from pipelines.nightly.as_of import find_latest, require_data
from pipelines.nightly.night import describe
from pipelines.storage.batches import CompletedBatches, read_completed_batches
from schemas import TABLES
from tests.support.captures import ID, Captured, capture_lines, write_capture
from tests.support.factories import Row, at, by_source, catalog, endpoint_event, message_event, queue_event
from tests.support.harness import Project
from tests.support.snapshot_views import Server, ready, shown, views

pytestmark = pytest.mark.slow

MOMENT = timedelta(microseconds=1)
ALL_REJECTED = {"max_rejected_share": 1}


def runs(project: Project) -> list[Row]:
    rows = sorted(project.table("runs"), key=itemgetter("started_at"))
    return [{name: row[name] for name in ("as_of", "status", "newest_data")} for row in rows]


def succeeded(as_of: datetime, newest_data: datetime | None) -> Row:
    return {"as_of": as_of, "status": "succeeded", "newest_data": newest_data}


def found_latest(session: SparkSession, project: Project) -> tuple[datetime, datetime | None]:
    """The as_of that `latest` means, and the newest data at it."""
    warehouse = project.warehouse(session)
    completed = read_completed_batches(warehouse)
    as_of = find_latest(warehouse, project.settings(), completed)
    return as_of, require_data(warehouse, completed, as_of)


def arrived(project: Project) -> set[tuple[datetime, str]]:
    return {(row["as_of"], row["message_id"]) for row in project.table("receive_schedule")}


def test_the_latest_of_events_is_a_moment_after_the_last_accepted_one(
    session: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, catalog=catalog(), quality=ALL_REJECTED)
    begun = [endpoint_event(), endpoint_event("DIALOG_CREATED", event_time=at(1))]
    twice = [message_event("SENT", "c1/1", event_time=at(40), message_type=name) for name in ("A", "B")]
    unknown = message_event("OTHER", "c1/2", event_time=at(50))
    project.add(by_source(*begun, message_event("DELIVERED", event_time=at(20)), *twice, unknown))
    project.run(session, "latest")
    assert runs(project) == [succeeded(at(20) + MOMENT, at(20))]
    assert arrived(project) == {(at(20) + MOMENT, "c1/0")}
    assert "as_of is 2026-11-20T12:20:00.000001Z, the latest\n" in capfd.readouterr().err

    # A late event moves nothing back.
    project.add(by_source(message_event("SENT", event_time=at(5))))
    project.take_in(session)
    assert found_latest(session, project) == (at(20) + MOMENT, at(20))


def test_an_event_of_a_clock_that_is_far_ahead_counts(
    session: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is after the clock of this machine, too, which is said and decides nothing."""
    project = Project(tmp_path, catalog=catalog())
    warehouse, settings = project.warehouse(session), project.settings()
    for newest, says in ((datetime(2020, 1, 1, tzinfo=UTC), 0), (datetime(2999, 1, 1, tzinfo=UTC), 1)):
        batch = {"batch": 1, "source": "queue_events", "events": 1, "accepted": 1}
        with caplog.at_level(logging.WARNING):
            completed = CompletedBatches([{**batch, "newest": newest, "newest_data": newest}])
            found = find_latest(warehouse, settings, completed)
        assert found == newest + MOMENT
        assert len(caplog.messages) == says
    assert caplog.messages[0].startswith(
        "--as-of latest: the newest snapshot or event is after the clock, which says 2"
    )


def test_the_latest_of_snapshots_is_the_last_taken_at(session: SparkSession, tmp_path: Path) -> None:
    """The first snapshot shows a message that arrived half an hour earlier."""
    server = Server(tmp_path)
    one = views(conversation_endpoints=[shown(1, False)], dbo_TargetQueue=[ready(1, False, 0)])
    server.snapshot(one, at(0))
    server.project.take_in(session)
    assert found_latest(session, server.project) == (at(0), at(0))
    with pytest.raises(ConfigError, match="the first is of 2026-11-20T12:00:00Z"):
        server.project.run(session, at(0) - MOMENT)

    # A snapshot whose views have no rows is newer data. An event that is newer still counts.
    server.snapshot({"transmission_queue": []}, at(10))
    server.project.add(by_source(queue_event(event_time=at(10))))
    server.project.take_in(session)
    assert found_latest(session, server.project) == (at(10) + MOMENT, at(10))


def test_a_capture_of_no_database_is_no_data(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    (tmp_path / "settings.yaml").write_text("warehouse: warehouse\nsnapshots: [{path: captures}]\n")

    def take_in(number: int, taken_at: datetime, claims: Captured) -> None:
        lines = capture_lines({"Claims": claims}, taken_at=taken_at, id=f"{ID[:-1]}{number}")
        write_capture(tmp_path / "captures" / f"{number}.jsonl", lines)
        project.take_in(session)

    take_in(9, at(60), Captured({}, reason="OFFLINE"))
    with pytest.raises(ConfigError, match=r"no database is in .*captures/9\.jsonl"):
        found_latest(session, project)
    # A database without rows is data; the later capture still is none.
    take_in(8, at(30), Captured({"transmission_queue": []}))
    assert found_latest(session, project) == (at(30), at(30))


def test_what_is_left_out_is_no_data(session: SparkSession, tmp_path: Path) -> None:
    """Claims has a capture at 12:00, its copy one at 13:00, and an event at 14:00."""

    def without(name: str) -> Project:
        entry = {"path": "captures", "leave_out": [f"SQL1.{name}"]}
        return Project(tmp_path, catalog=catalog(), snapshots=[entry])

    for number, database in enumerate(("Claims", "Claims_Test")):
        lines = capture_lines(
            {database: Captured({"transmission_queue": []})},
            taken_at=at(60 * number),
            id=f"{ID[:-1]}{number}",
        )
        write_capture(tmp_path / "captures" / f"{number}.jsonl", lines)
    project = without("Claims_Test")
    project.add(by_source(queue_event(event_time=at(120), instance="SQL1", database="Claims_Test")))
    project.take_in(session)
    assert found_latest(session, project) == (at(0), at(0))
    assert found_latest(session, without("Claims")) == (at(120) + MOMENT, at(120))


def test_there_is_no_latest_without_data(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog(), quality=ALL_REJECTED)
    project.add(by_source(message_event("OTHER")))
    says = "--as-of latest: no snapshot and no event counts yet; add some to the inputs or snapshots of "
    with pytest.raises(ConfigError, match=says):
        project.run(session, "latest")
    with pytest.raises(ConfigError, match=says):
        describe(project.warehouse(session), project.settings(), "latest")
    assert runs(project) == []
    assert len(project.table("rejected_events")) == 1


def test_a_night_that_fails_before_its_as_of_is_known_has_no_row(
    session: SparkSession, tmp_path: Path
) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(by_source(endpoint_event(), message_event("OTHER")))
    with pytest.raises(InputError, match="1 of 2 rows were rejected"):
        project.run(session, "latest")
    assert runs(project) == []


def test_an_as_of_before_all_events_is_refused_and_later_ones_know_their_newest_data(
    session: SparkSession, tmp_path: Path
) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(
        by_source(endpoint_event(), message_event(event_time=at(30)), queue_event(event_time=at(400)))
    )
    says = (
        "--as-of 2026-11-20T12:00:00Z: no snapshot or event counts yet, the first is of "
        "2026-11-20T12:00:00Z; name a later moment, or --as-of latest"
    )
    with pytest.raises(ConfigError) as raised:
        project.run(session, at(0))
    assert (str(raised.value), raised.value.exit_code) == (says, 2)
    with pytest.raises(ConfigError) as raised:
        describe(project.warehouse(session), project.settings(), at(0))
    assert str(raised.value) == says
    assert runs(project) == [{"as_of": at(0), "status": "failed", "newest_data": None}] * 2
    # What was ingested stays.
    assert len(project.table("message_events")) == 1
    warehouse = project.warehouse(session)
    completed = read_completed_batches(warehouse)
    for as_of, newest in ((at(0) + MOMENT, at(0)), (at(500), at(400))):
        assert require_data(warehouse, completed, as_of) == newest
    describe(warehouse, project.settings(), at(60))
    assert runs(project)[-1] == succeeded(at(60), at(30))


def test_without_any_data_a_night_is_empty_and_leaves_every_public_table(
    session: SparkSession, tmp_path: Path
) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.run(session, at(0))
    assert runs(project) == [succeeded(at(0), None)]
    rows = {table.name: len(project.table(table.name)) for table in TABLES.values() if table.public}
    assert rows == {**dict.fromkeys(rows, 0), "runs": 1}
