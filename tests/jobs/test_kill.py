"""A nightly job that is killed, and run again: the tables are those of a run that was left alone."""

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.factories import (
    Events,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.harness import Project
from tests.jobs.warehouses import changed, contents

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
AS_OF = at(60).isoformat()
KILLED_AT = ("accepted_message_events", "endpoints", "receive_schedule")
"""The job is killed as soon as the first commit of these tables is there, or a moment later."""
PATIENCE = 300.0
WHEN_IT_CLOSED = {"closed_on", "ledger_batch"}
"""A fold that is done again knows the ends that the broken-off one wrote, and may close rows earlier."""


def night() -> Events:
    """A bit of everything: ready, locked, waiting, ended, unresolved, early, twice, rejected, monitored."""
    rows = []
    for conversation in ("c1", "c2", "c3", "ended"):
        rows += [
            endpoint_event(conversation=conversation),
            endpoint_event("DIALOG_CREATED", conversation, event_time=at(1)),
            *[message_event("SENT", f"{conversation}/{number}") for number in range(3)],
            *[
                message_event("DELIVERED", f"{conversation}/{number}", event_time=at(2))
                for number in range(2)
            ],
        ]
    rows += [
        message_event("RECEIVED", "c1/0", event_time=at(3), transaction_id="open"),
        message_event("RECEIVED", "c2/0", event_time=at(3), transaction_id="done"),
        queue_event("RECEIVE", event_time=at(3), transaction_id="open", conversation_group_id="g"),
        queue_event("COMMIT", event_time=at(4), transaction_id="done"),
        queue_event("QUEUE_ALTERED", event_time=at(4), queue_status="ON"),
        queue_event("TASK_STARTED", event_time=at(1), session_id=51),
        queue_event("ROLLBACK", event_time=at(4), transaction_id="back"),
        endpoint_event("END_CONVERSATION", "ended", event_time=at(5)),
        endpoint_event("END_CONVERSATION", "ended", event_time=at(5), is_initiator=False),
        endpoint_event("END_CONVERSATION", "unknown", event_time=at(5)),
        message_event("DELIVERED", "early/0"),
        message_event("SENT", "c3/2"),
        message_event("OTHER", "c3/3"),
    ]
    return by_source(*rows)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project's folder before its first run."""
    folder = tmp_path_factory.mktemp("fresh")
    project_in(folder).add(night())
    return folder


def project_in(folder: Path) -> Project:
    rules = [create_rule("Gold", 9, contract="Contract"), create_rule("Low", 2, database="B")]
    places = catalog()
    for instance in places["instances"]:
        for database in instance["databases"]:
            for queue in database["queues"]:
                queue["activation"] = {"status": "on", "procedure": "dbo.Read", "max_queue_readers": 1}
    return Project(folder, catalog=places, rules=rules, quality={"max_rejected_share": 0.5})


def start(project: Project) -> "subprocess.Popen[bytes]":
    """The job as users start it, in a process group of its own."""
    command = [str(ROOT / "spark-submit.sh"), "jobs/nightly.py", "--config", project.config, "--as-of", AS_OF]
    environment = os.environ | {
        "SPARK_MASTER": "local[2]",
        "SPARK_PROFILE": "small",
        "SPARK_DRIVER_MEMORY": "1g",
    }
    with (project.folder / "job.log").open("ab") as log:
        return subprocess.Popen(
            [*command, "--quiet"], cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
        )


def finish(project: Project) -> None:
    """Run the job to its end."""
    code = start(project).wait(timeout=PATIENCE)
    assert code == 0, (project.folder / "job.log").read_text()[-2000:]


def kill_at(project: Project, table: str) -> None:
    """Start the job, and kill it with all its processes once the table has its first rows."""
    job = start(project)
    # The first commit creates the table, the second one writes to it.
    written = project.folder / "warehouse" / table / "_delta_log" / f"{1:020d}.json"
    until = time.monotonic() + PATIENCE
    try:
        while not written.exists():
            assert job.poll() is None, f"the job ended before it wrote {table}"
            assert time.monotonic() < until, f"the job did not write {table} in time"
            time.sleep(0.01)
    finally:
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()


@pytest.fixture(scope="module")
def left_alone(fresh: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The tables of a run that nobody killed."""
    project = project_in(tmp_path_factory.mktemp("alone") / "project")
    shutil.copytree(fresh, project.folder, dirs_exist_ok=True)
    finish(project)
    tables = contents(project, leave_out=WHEN_IT_CLOSED)
    assert {name for name, rows in tables.items() if not rows} == set()
    return tables


@pytest.mark.parametrize("table", KILLED_AT)
def test_a_killed_run_is_simply_run_again(
    fresh: Path, left_alone: dict[str, list[str]], tmp_path: Path, table: str
) -> None:
    project = project_in(tmp_path / "project")
    shutil.copytree(fresh, project.folder, dirs_exist_ok=True)
    kill_at(project, table)
    runs = project.folder / "warehouse" / "runs"
    assert not runs.exists(), "a run that was killed is not published"
    finish(project)
    assert changed(left_alone, contents(project, leave_out=WHEN_IT_CLOSED)) == {}
    assert [row["status"] for row in project.table("runs")] == ["succeeded"]
