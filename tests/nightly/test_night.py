"""What `runs` tells of an as_of that is run again, however that run ends."""

import logging
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from pipelines.config.errors import InputError
from pipelines.console.invocation import command_line
from pipelines.nightly import night
from pipelines.nightly.runs import NOT_ENDED, Run, RunFigures, announce, write_run
from pipelines.storage.batches import CompletedBatches
from pipelines.storage.published import published_as_of
from schemas.table import Table
from tests.support.broken_off import BrokenOffError
from tests.support.factories import at, by_source, catalog, endpoint_event, message_event
from tests.support.harness import Project
from tests.support.warehouses import changed, contents


def stopping(error: BaseException) -> Callable[..., dict[str, int]]:
    def stop(*args: object) -> dict[str, int]:
        raise error

    return stop


def told_of_runs(project: Project) -> list[tuple[str, int | None, str | None]]:
    rows = sorted(project.table("runs"), key=itemgetter("started_at"))
    return [(row["status"], row["last_batch"], row["error"]) for row in rows]


def test_the_row_of_a_run_takes_the_place_of_its_announcement(session: SparkSession, tmp_path: Path) -> None:
    """Also of one that was written, but whose write raised."""
    project = Project(tmp_path, catalog=catalog())
    warehouse, settings = project.warehouse(session), project.settings()
    write_run(warehouse, settings, Run.begin(at(60)), "succeeded", RunFigures(last_batch=1))
    second, append = Run.begin(at(60)), warehouse.append

    def append_and_raise(table: Table, rows: DataFrame) -> None:
        append(table, rows)
        raise InputError("the connection was lost")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(warehouse, "append", append_and_raise)
        with pytest.raises(InputError):
            announce(warehouse, settings, second, CompletedBatches([{"batch": 2}]))
    first = ("succeeded", 1, None)
    assert told_of_runs(project) == [first, ("failed", 2, NOT_ENDED)]
    figures = RunFigures(row_counts={"unresolved": 3}, last_batch=2)
    write_run(warehouse, settings, second, "succeeded", figures)
    assert told_of_runs(project) == [first, ("succeeded", 2, None)]
    rows = {row["run_id"]: dict(row["row_counts"]) for row in project.table("runs")}
    assert rows[second.run_id] == {"unresolved": 3}


@pytest.mark.slow
def test_readers_are_told_that_a_second_run_did_not_end(
    session: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    project = Project(tmp_path, catalog=catalog())
    warehouse = project.warehouse(session)
    project.add(by_source(endpoint_event(), message_event(), message_event("DELIVERED", event_time=at(1))))

    def told() -> list[str]:
        """What a reader is told of the as_of."""
        caplog.clear()
        with caplog.at_level(logging.WARNING):
            assert published_as_of(warehouse, project.settings(), None) == at(60)
        return [record.getMessage() for record in caplog.records]

    project.run(session, at(60))
    first = ("succeeded", 1, None)
    assert (told_of_runs(project), told()) == ([first], [])
    before = contents(project)

    def run_again(stopped: str, error: BaseException) -> None:
        """Describe the as_of again, until a step raises an error."""
        with monkeypatch.context() as patched:
            patched.setattr(night, stopped, stopping(error))
            with pytest.raises(type(error)):
                night.describe(warehouse, project.settings(), at(60))

    run_again("write_schedules", BrokenOffError())
    killed = ("failed", 1, NOT_ENDED)
    assert told_of_runs(project) == [first, killed]
    (said,) = told()
    assert said.startswith("the run of 2026-11-20T13:00:00Z that started at ")
    assert (
        f"did not succeed ({NOT_ENDED}): the tables of this as_of may be of it and of the one before" in said
    )
    assert said.endswith(
        f"run {command_line('schedules', '--as-of', '2026-11-20T13:00:00Z', config=project.config)}, which "
        "writes them again"
    )

    run_again("write_schedules", OSError("no room"))
    failed = ("failed", 1, "no room")
    assert told_of_runs(project) == [first, killed, failed]
    assert "did not succeed (no room)" in told()[0]

    project.run(session, at(60))
    assert (told_of_runs(project), told()) == ([first, killed, failed, first], [])
    assert changed(before, contents(project)) == {}

    # A run that fails before it writes leaves the tables as they were.
    run_again("require_good_input", InputError("too much"))
    assert told_of_runs(project) == [first, killed, failed, first, ("failed", None, "too much")]
    assert told() == []
    assert len({row["run_id"] for row in project.table("runs")}) == 5
