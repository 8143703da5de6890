"""Queues whose stories a person can follow: the documentation's example, and one queue per advice."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.activation.report import activation_of_queue, find_queue
from pipelines.activation.view import draw_runs, print_activation
from pipelines.activation.write import write_activation
from pipelines.config.errors import ConfigError, PipelineError
from pipelines.storage.batches import read_completed_batches
from schemas.outputs import ACTIVATION
from tests.support.factories import Row, at, by_source, endpoint_event, message_event, queue_event
from tests.support.harness import Project

pytestmark = pytest.mark.slow

AS_OF = at(60)
WINDOW_HOURS = 2
MONITORS: dict[str, Row] = {
    "Documented": {"activation": {"max_queue_readers": 5}},
    "Short": {"activation": {"max_queue_readers": 1}},
    "Off": {"activation": {"max_queue_readers": 1}},
    "Late": {"event_notification": {"timeout_seconds": 600}},
    "Hasty": {"activation": {"max_queue_readers": 2}},
    "Quick": {"activation": {"max_queue_readers": 1}},
    "Silent": {"activation": {"max_queue_readers": 1}},
    "Odd": {"activation": {"max_queue_readers": 1}},
    "Unwatched": {},
}


def catalog() -> Row:
    queues = [{"name": name, **monitor} for name, monitor in MONITORS.items()]
    services = [{"name": f"{name}Service", "queue": name} for name in MONITORS]
    databases = [
        {"name": "A", "queues": [{"name": "Q"}], "services": [{"name": "I", "queue": "Q"}]},
        {"name": "B", "queues": queues, "services": services},
    ]
    return {"instances": [{"name": "SQL1", "databases": databases}]}


def conversation(queue: str, name: str) -> list[Row]:
    """Both endpoints of a conversation with a queue's service, from half an hour before noon."""
    services = {"local_service": "I", "remote_service": f"{queue}Service"}
    swapped = {"local_service": services["remote_service"], "remote_service": "I"}
    return [
        endpoint_event("BEGIN_DIALOG", name, event_time=at(-30), **services),
        endpoint_event("DIALOG_CREATED", name, event_time=at(-30), **swapped),
    ]


def delivered(name: str, count: int, minute: float = 0) -> list[Row]:
    return [message_event("DELIVERED", f"{name}/{n}", event_time=at(minute)) for n in range(count)]


def received(message: str, minute: float, transaction: str | None = None) -> Row:
    event_id = f"RECEIVED {message} {minute}"
    return message_event(
        "RECEIVED", message, event_id=event_id, event_time=at(minute), transaction_id=transaction
    )


def on(queue: str, event_type: str, minute: float, **changes: Any) -> Row:
    event_id = f"{queue} {event_type} {minute} {changes.get('session_id')}"
    return queue_event(event_type, event_id, queue=queue, event_time=at(minute), **changes)


def stories() -> list[Row]:
    documented = [
        *conversation("Documented", "d"),
        *delivered("d", 50),
        on("Documented", "TASK_STARTED", 0.01, session_id=51),
        on("Documented", "RECEIVE", 0.02, session_id=51, row_count=1, transaction_id="d1"),
        # Falling behind: a second reader starts. All is one conversation, so it waits.
        on("Documented", "TASK_STARTED", 0.1, session_id=52),
        on("Documented", "WAIT_STARTED", 0.11, session_id=52),
    ]
    short = [
        *(row for n in range(3) for row in (*conversation("Short", f"s{n}"), *delivered(f"s{n}", 1))),
        on("Short", "TASK_STARTED", 0.01, session_id=51),
        on("Short", "RECEIVE", 10, row_count=1, transaction_id="s"),
        received("s0/0", 10, "s"),
    ]
    off = [
        *conversation("Off", "o"),
        *delivered("o", 2),
        *(received("o/0", 1 + n, f"o{n}") for n in range(5)),
        *(on("Off", "ROLLBACK", 1.5 + n, transaction_id=f"o{n}") for n in range(5)),
        on("Off", "QUEUE_ALTERED", 5.6, queue_status="OFF"),
    ]
    late = [
        *conversation("Late", "l"),
        *delivered("l", 1),
        on("Late", "RECEIVE", 25, row_count=1),
        received("l/0", 25),
    ]
    hasty = [
        *(row for n in range(2) for row in (*conversation("Hasty", f"h{n}"), *delivered(f"h{n}", 1))),
        on("Hasty", "TASK_STARTED", 0.01, session_id=51),
        on("Hasty", "TASK_EXITED", 0.02, session_id=51),
        received("h0/0", 20),
        received("h1/0", 20),
    ]
    quick = [
        *conversation("Quick", "q"),
        *delivered("q", 1),
        on("Quick", "TASK_STARTED", 0.001, session_id=51),
        on("Quick", "RECEIVE", 0.01, session_id=51, row_count=1),
        received("q/0", 0.01),
    ]
    odd = [
        *conversation("Odd", "x"),
        *delivered("x", 1),
        received("x/0", 0.01),
        received("x/0", 0.02),
        on("Odd", "TASK_EXITED", 1, session_id=51),
        on("Odd", "WAIT_ENDED", 1, session_id=51),
        on("Odd", "RECEIVE", 1, row_count=-1),
        on("Odd", "WAIT_STARTED", -90, session_id=52),
    ]
    others = [
        *conversation("Unwatched", "u"),
        *delivered("u", 1),
        on("Unwatched", "RECEIVE", 1, row_count=0),
        on("Forgotten", "RECEIVE", 1),
        on("Forgotten", "COMMIT", 2, transaction_id="f"),
        # Before the window.
        on("Forgotten", "COMMIT", -70, transaction_id="g"),
    ]
    return [*documented, *short, *off, *late, *hasty, *quick, *odd, *others]


@pytest.fixture(scope="module")
def project(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(
        tmp_path_factory.mktemp("stories"),
        catalog=catalog(),
        activation={"window_hours": WINDOW_HOURS, "check_seconds": 5},
    )
    project.add(by_source(*stories()))
    project.run(session, AS_OF)
    return project


def runs_of(project: Project, queue: str) -> list[tuple[Any, ...]]:
    columns = ("ordinal", "trigger", "reason", "checks", "running_tasks", "suppressed_by")
    rows = [row for row in project.table("activation") if row["queue"] == queue]
    return [tuple(row[c] for c in columns) for row in sorted(rows, key=lambda row: row["ordinal"])]


def summary_of(project: Project, queue: str) -> Row:
    (row,) = (row for row in project.table("activation_summary") if row["queue"] == queue)
    return row


@pytest.mark.spark
def test_the_example_of_the_documentation(project: Project) -> None:
    # 50 arrivals at noon, the timer at noon, the RECEIVE of the first reader, the timer 5 s after noon;
    # then the second reader runs, and from 6.6 s after noon on it waits.
    assert runs_of(project, "Documented") == [
        (1, "arrival", "arrival_on_empty_queue", 1, 0, None),
        (2, "arrival", "readers_falling_behind", 50, 0, None),
        (3, "receive", "readers_falling_behind", 2, 1, None),
    ]
    summary = summary_of(project, "Documented")
    assert summary["advice"] == "more_readers_wont_help"
    assert summary["sentence"] == (
        "More readers won't help: of 50 ready messages, the most at any time, all were in 1 conversation "
        "group (1 conversation), 1 of them free, and a group has one reader at a time."
    )


def test_max_queue_readers_is_the_reason(project: Project) -> None:
    summary = summary_of(project, "Short")
    assert summary["advice"] == "raise_max_queue_readers"
    # One reader from 0.6 s after noon on; the first check that finds it short is the timer's after 5 s.
    assert summary["short_seconds"] == 3595.0
    assert summary["need_seconds"] == 3600.0
    assert (summary["most_ready"], summary["groups_ready"], summary["groups_free"]) == (3, 3, 3)
    assert (
        "max_queue_readers = 1 allows ran for 59 min while messages waited, at most 3 ready messages in 3 "
        "conversation groups, 3 of them free"
    ) in summary["sentence"]


def test_a_queue_that_rollbacks_turned_off(project: Project) -> None:
    summary = summary_of(project, "Off")
    assert (summary["advice"], summary["is_on"], summary["off_since"]) == ("queue_off", False, at(5.6))
    assert summary["sentence"].startswith(
        "The queue is off since 2026-11-20T12:05:36Z. In the window there were 5 rollbacks; 2 messages are "
        "left in it"
    )
    # Two were ready at first, and one of them is taken and given back.
    assert summary["most_ready"] == 2


def test_an_application_that_answers_late(project: Project) -> None:
    found = runs_of(project, "Late")
    # A notification at noon, at 10 and at 20 minutes past; the message goes at 25 past.
    assert [row[5] for row in found] == [None, "notification_pending"] * 3
    assert summary_of(project, "Late")["advice"] == "answers_late"
    assert summary_of(project, "Late")["activations"] == 3
    assert summary_of(project, "Late")["need_seconds"] == 25 * 60


def test_a_reader_that_exits_while_messages_are_ready(project: Project) -> None:
    summary = summary_of(project, "Hasty")
    assert summary["advice"] == "reader_exits_early"
    assert "1 of 1 exit came while messages were ready" in summary["sentence"]


def test_a_reader_that_keeps_up(project: Project) -> None:
    assert summary_of(project, "Quick")["advice"] == "keeps_up"
    assert summary_of(project, "Quick")["sentence"] == (
        "The readers keep up: one was needed for 0 s, at most 1 ready message in 1 conversation group, "
        "1 of them free."
    )
    assert summary_of(project, "Silent")["advice"] == "keeps_up"
    assert runs_of(project, "Silent") == []


@pytest.mark.spark
def test_oddities_are_counted(project: Project) -> None:
    assert dict(summary_of(project, "Odd")["oddities"]) == {
        "exits_without_start": 1,
        "waits_without_start": 1,
        "waits_without_end": 1,
        "received_while_not_ready": 1,
        "negative_row_counts": 1,
    }
    forgotten = summary_of(project, "Forgotten")
    assert dict(forgotten["oddities"]) == {"queue_not_in_catalog": 2}
    assert (forgotten["advice"], forgotten["mode"]) == ("not_in_catalog", None)


def test_queues_without_a_monitor_have_no_rows(project: Project) -> None:
    for table in ("activation", "activation_summary"):
        assert "Unwatched" not in {row["queue"] for row in project.table(table)}


def told(session: SparkSession, project: Project, queue: str) -> Row:
    return activation_of_queue(project.warehouse(session), AS_OF, ("SQL1", "B", queue))


def test_a_queue_and_its_runs(session: SparkSession, project: Project) -> None:
    found = told(session, project, "Late")
    assert (found["queue"], found["advice"], len(found["runs"])) == ("Late", "answers_late", 6)
    assert found["runs"][0] == {
        "ordinal": 1,
        "first_check": at(0),
        "last_check": at(0),
        "until": at(0),
        "checks": 1,
        "trigger": "arrival",
        "reason": "arrival_on_empty_queue",
        "ready_messages": 1,
        "running_tasks": 0,
        "occurs": True,
        "suppressed_by": None,
    }


def test_the_timeline_in_a_terminal(
    session: SparkSession, project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    print_activation(told(session, project, "Short"), AS_OF - timedelta(hours=WINDOW_HOURS), AS_OF)
    text = capsys.readouterr().out
    assert "SQL1.B.Short (internal), 2026-11-20 11:00 to 2026-11-20 13:00" in text
    # The first half of the window is quiet.
    assert f"[{' ' * 48}{'#' * 48}]" in text
    assert "max_queue_readers" in text


def test_a_window_that_was_not_replayed(session: SparkSession, project: Project) -> None:
    refusal = "--as-of 2026-11-21T13:00:00Z: its window was not replayed yet"
    with pytest.raises(PipelineError, match=refusal):
        activation_of_queue(project.warehouse(session), AS_OF + timedelta(days=1), ("SQL1", "B", "Short"))


def test_queues_by_name(session: SparkSession, project: Project) -> None:
    def found(name: str) -> tuple[str, str, str]:
        return find_queue(project.settings(), project.warehouse(session), AS_OF, name)

    odd = ("SQL1", "B", "Odd")
    assert {found(name) for name in ("Odd", "dbo.Odd", "B.Odd", "[SQL1].[B].[dbo].[Odd]")} == {odd}
    # Queue events name it, and the catalog does not.
    assert found("SQL1.B.Forgotten") == ("SQL1", "B", "Forgotten")
    with pytest.raises(ConfigError, match="--queue Unwatched has no monitor in"):
        found("Unwatched")
    with pytest.raises(
        ConfigError, match=r"--queue Quik: there is no such queue; did you mean SQL1\.B\.Quick"
    ):
        found("Quik")


def test_a_short_run_is_drawn_where_it_is() -> None:
    run = {"first_check": at(30), "until": at(30), "suppressed_by": None}
    assert draw_runs([run], at(0), at(60)) == " " * 48 + "+" + " " * 47


def test_activation_left_out(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog(), activation=None)
    project.add(by_source(*conversation("Quick", "q")))
    project.run(session, AS_OF)
    assert not project.warehouse(session).exists(ACTIVATION)
    warehouse = project.warehouse(session)
    said = write_activation(warehouse, project.settings(), AS_OF, read_completed_batches(warehouse))
    assert said == "left out by the settings"


def test_activation_left_out_of_an_as_of_that_had_it(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.add(by_source(*conversation("Quick", "q")))
    for as_of in (AS_OF, AS_OF + timedelta(minutes=1)):
        project.run(session, as_of)
    summary = project.table("activation_summary", ["as_of", "queue"])
    assert {row["as_of"] for row in summary} == {AS_OF, AS_OF + timedelta(minutes=1)}
    Project(tmp_path, catalog=catalog(), activation=None).run(session, AS_OF)
    assert project.table("activation_summary", ["as_of", "queue"]) == [
        row for row in summary if row["as_of"] != AS_OF
    ]
    assert {row["as_of"] for row in project.table("activation", ["as_of"])} <= {AS_OF + timedelta(minutes=1)}


def test_a_window_that_begins_before_all_time(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog=catalog())
    project.run(session, datetime(1, 1, 1, 1, tzinfo=UTC))
    queues = {row["queue"] for row in project.table("activation_summary", ["queue"])}
    assert queues >= MONITORS.keys() - {"Unwatched"}


def test_a_catalog_without_monitors(session: SparkSession, tmp_path: Path) -> None:
    project = Project(tmp_path, catalog={"instances": []})
    project.add(by_source(on("Forgotten", "RECEIVE", 1)))
    project.run(session, AS_OF)
    assert project.table("activation") == []
    [row] = project.table("activation_summary", ["queue", "advice"])
    assert row == {"queue": "Forgotten", "advice": "not_in_catalog"}
