"""What a user sees of one queue's window, and what a run writes, on warehouses of a few rows."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.activation.report import activation_of_queue, find_queue
from pipelines.activation.view import draw_runs, print_activation
from pipelines.activation.write import write_activation
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.storage.batches import CompletedBatches
from schemas.outputs import ACTIVATION
from tests.support.factories import Row, at, database, queue_event
from tests.support.harness import Project
from tests.support.report_warehouse import OF_AS_OF, monitored
from tests.support.written import warehouse_of

AS_OF = at(60)
RUN = {
    **{"ordinal": 1, "first_check": at(0), "last_check": at(55), "until": at(60), "checks": 2},
    **{"trigger": "arrival", "reason": "arrival_on_empty_queue", "ready_messages": 1, "running_tasks": 0},
    **{"occurs": False, "suppressed_by": "max_queue_readers"},
}
SECOND = {**RUN, "ordinal": 2, "first_check": at(57), "last_check": at(57)}
NO_BATCHES = CompletedBatches([])


def project_in(folder: Path, **settings: object) -> Project:
    """A catalog with the queues Watched, which has a monitor, and Unwatched."""
    watched = {"name": "Watched", "activation": {"max_queue_readers": 1}}
    place = {**database("A", "I", "Unwatched"), "queues": [{"name": "Unwatched"}, watched]}
    return Project(folder, catalog={"instances": [{"name": "SQL1", "databases": [place]}]}, **settings)


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A window of which only the queues Watched and Forgotten have a summary."""
    found = project_in(tmp_path_factory.mktemp("report"))
    place = {**OF_AS_OF, "instance": "SQL1", "database": "A", "queue": "Watched", "mode": "internal"}
    summaries = [
        monitored("Watched", "raise_max_queue_readers", 3600.0),
        monitored("Forgotten", "not_in_catalog", 0.0),
    ]
    tables: dict[str, list[Row]] = {
        "activation": [{**place, **SECOND}, {**place, **RUN}],
        "activation_summary": summaries,
        "group_priorities": [],
        "queue_events": [],
    }
    warehouse_of(session, found.folder / "warehouse", tables)
    return found


def test_a_queue_with_its_runs_in_order(
    session: SparkSession, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    found = activation_of_queue(project.warehouse(session), AS_OF, ("SQL1", "A", "Watched"))
    assert (found["queue"], found["advice"]) == ("Watched", "raise_max_queue_readers")
    assert found["runs"] == [RUN, SECOND]
    print_activation(found, AS_OF - timedelta(hours=2), AS_OF)
    text = capsys.readouterr().out
    assert "SQL1.A.Watched (internal), 2026-11-20 11:00 to 2026-11-20 13:00" in text
    # The first half of the window is quiet.
    assert f"[{' ' * 48}{'#' * 48}]" in text
    assert "max_queue_readers" in text
    with pytest.raises(PipelineError, match="--as-of 2026-11-21T13:00:00Z: its window was not replayed yet"):
        activation_of_queue(project.warehouse(session), AS_OF + timedelta(days=1), ("SQL1", "A", "Watched"))


def test_a_short_run_is_drawn_where_it_is() -> None:
    run = {"first_check": at(30), "until": at(30), "suppressed_by": None}
    assert draw_runs([run], at(0), at(60)) == " " * 48 + "+" + " " * 47


def test_queues_by_name(session: SparkSession, project: Project) -> None:
    def found(name: str) -> tuple[str, str, str]:
        return find_queue(project.settings(), project.warehouse(session), AS_OF, name)

    names = ("Watched", "dbo.Watched", "A.Watched", "[SQL1].[A].[dbo].[Watched]")
    assert {found(name) for name in names} == {("SQL1", "A", "Watched")}
    # Queue events name it, and the catalog does not.
    assert found("SQL1.A.Forgotten") == ("SQL1", "A", "Forgotten")
    with pytest.raises(ConfigError, match="--queue Unwatched has no monitor in"):
        found("Unwatched")
    with pytest.raises(
        ConfigError, match=r"--queue Wached: there is no such queue; did you mean SQL1\.A\.Watched"
    ):
        found("Wached")


def test_activation_left_out(session: SparkSession, tmp_path: Path) -> None:
    """Nothing is created; rows of an as_of that had it go, and those of others stay."""
    project = project_in(tmp_path, activation=None)
    empty = project.warehouse(session)
    assert write_activation(empty, project.settings(), AS_OF, NO_BATCHES) == "left out by the settings"
    assert not empty.exists(ACTIVATION)
    window = project_in(tmp_path)
    for as_of in (AS_OF, AS_OF + timedelta(minutes=1)):
        said = write_activation(window.warehouse(session), window.settings(), as_of, NO_BATCHES)
        assert said == "24 hours of 1 queue"
    assert len(window.table("activation_summary")) == 2
    project = project_in(tmp_path, activation=None)
    write_activation(project.warehouse(session), project.settings(), AS_OF, NO_BATCHES)
    [row] = project.table("activation_summary", ["as_of", "queue"])
    assert row == {"as_of": AS_OF + timedelta(minutes=1), "queue": "Watched"}


def test_a_window_that_begins_before_all_time(session: SparkSession, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    start = datetime(1, 1, 1, 1, tzinfo=UTC)
    write_activation(project.warehouse(session), project.settings(), start, NO_BATCHES)
    assert project.table("activation_summary", ["queue", "advice"]) == [
        {"queue": "Watched", "advice": "not_known"}
    ]


def test_a_catalog_without_monitors(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog={"instances": []})
    events = {"queue_events": [queue_event(queue="Forgotten", event_time=at(1))]}
    warehouse = warehouse_of(session, tmp_path / "warehouse", events)
    assert write_activation(warehouse, project.settings(), AS_OF, NO_BATCHES) == "no queue has a monitor"
    assert project.table("activation") == []
    assert project.table("activation_summary", ["queue", "advice"]) == [
        {"queue": "Forgotten", "advice": "not_in_catalog"}
    ]
