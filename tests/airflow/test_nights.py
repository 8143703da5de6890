"""Two nights and a backfill by Airflow give the tables of plain runs, on the embedded engine."""

import json
import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.support.factories import (
    Events,
    at,
    by_source,
    catalog,
    create_rule,
    endpoint_event,
    message_event,
    queue_event,
)
from tests.support.harness import Project
from tests.support.warehouses import changed, contents

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW = ROOT / ".venv-airflow" / "bin" / "airflow"
DAG = "conversation_priorities"
PATIENCE = 900.0
TRIED_AGAIN = "tried again while tries are left"
MIDNIGHTS = (at(12 * 60), at(12 * 60, day=1))
"""The first and the second night; each run comes three hours later."""
BACKFILLED = at(30)


class Outcome(NamedTuple):
    """How a run of the DAG ended."""

    code: int
    said: str
    tries: dict[str, tuple[str, int]]
    """State and number of tries, by task."""


class Airflow:
    """An Airflow of its own: a folder with its database, and nobody's settings."""

    def __init__(self, home: Path) -> None:
        self._home = home
        # A session of the embedded engine leaves SPARK_CONNECT_MODE_ENABLED to the processes that it starts.
        foreign = ("AIRFLOW", "SPARK_")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self._environment = inherited | {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__USAGE_DATA_COLLECTION__ENABLED": "False",
            "CONVERSATION_PRIORITIES_ENGINE": "embedded",
            "ENGINE_MEMORY": "1g",
        }
        code, said = self._call("db", "migrate")
        assert code == 0, said[-3000:]

    def run(self, *moment: str, **parameters: str) -> Outcome:
        """One run of the DAG; its logical date is the moment, if one is given."""
        code, said = self._call("dags", "test", DAG, *moment, "--conf", json.dumps(parameters))
        query = (
            "select task_id, state, try_number from task_instance where run_id = "
            "(select run_id from dag_run order by id desc limit 1)"
        )
        with closing(sqlite3.connect(self._home / "airflow.db")) as database:
            tries = {task: (state, number) for task, state, number in database.execute(query)}
        return Outcome(code, said, tries)

    def _call(self, *arguments: str) -> tuple[int, str]:
        """Run a command of Airflow; one that waits to try a task again is ended."""
        path = self._home / "said.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                [AIRFLOW, *arguments],
                cwd=self._home,
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until = time.monotonic() + PATIENCE
        try:
            while process.poll() is None and TRIED_AGAIN not in path.read_text():
                assert time.monotonic() < until, path.read_text()[-5000:]
                time.sleep(0.2)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            code = process.wait()
        return code, path.read_text()


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Airflow:
    return Airflow(tmp_path_factory.mktemp("airflow"))


def first_night() -> Events:
    return by_source(
        endpoint_event(conversation="c1"),
        endpoint_event("DIALOG_CREATED", "c1", event_time=at(1)),
        message_event("DELIVERED", "c1/0", event_time=at(1)),
        message_event("DELIVERED", "c1/1", event_time=at(50)),
        endpoint_event(conversation="c2", event_time=at(20), remote_service="Elsewhere"),
        message_event("SENT", "c2/0", event_time=at(21)),
        message_event("OTHER", "c2/1", event_time=at(21)),
    )


def second_night() -> Events:
    """The first message is taken; an event of the first night comes late."""
    return by_source(
        message_event("RECEIVED", "c1/0", event_time=at(day=1), transaction_id="t"),
        queue_event("COMMIT", event_time=at(1, day=1), transaction_id="t"),
        message_event("DELIVERED", "c1/2", event_time=at(10)),
        endpoint_event("END_CONVERSATION", "c2", event_time=at(5, day=1)),
    )


def project_in(folder: Path, *, rejected: float = 0.5) -> Project:
    rules = [create_rule("Gold", 9, contract="Contract"), create_rule("Low", 2, database="B")]
    return Project(folder, catalog=catalog(), rules=rules, quality={"max_rejected_share": rejected})


def three_hours_after(midnight: datetime) -> str:
    return (midnight + timedelta(hours=3)).isoformat()


def run_plainly(session: SparkSession, project: Project) -> None:
    """Both nights and the backfill, each a run of the nightly job."""
    for midnight, events in zip(MIDNIGHTS, (first_night(), second_night()), strict=True):
        project.add(events)
        project.run(session, midnight)
    project.run(session, BACKFILLED)


def require_success(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.said[-5000:]
    assert outcome.tries == dict.fromkeys(("as_of", "fold", "schedules", "expect"), ("success", 1))


def test_two_nights_and_a_backfill(session: SparkSession, airflow: Airflow, tmp_path: Path) -> None:
    plain, scheduled = project_in(tmp_path / "plain"), project_in(tmp_path / "scheduled")
    for midnight, events in zip(MIDNIGHTS, (first_night(), second_night()), strict=True):
        scheduled.add(events)
        require_success(airflow.run(three_hours_after(midnight), config=scheduled.config))
    backfill = {"config": scheduled.config, "as_of": BACKFILLED.isoformat()}
    require_success(airflow.run(**backfill))
    run_plainly(session, plain)

    of_files = ("path", "modified_at")
    assert changed(contents(plain, leave_out=of_files), contents(scheduled, leave_out=of_files)) == {}
    published = [tuple(row.values()) for row in scheduled.table("runs", ["as_of", "status", "row_counts"])]
    assert sorted(published) == sorted(
        tuple(row.values()) for row in plain.table("runs", ["as_of", "status", "row_counts"])
    )
    assert [as_of for as_of, *_ in sorted(published)] == [BACKFILLED, *MIDNIGHTS]
    assert {status for _, status, _ in published} == {"succeeded"}


def test_a_failed_quality_gate_is_not_tried_again(airflow: Airflow, tmp_path: Path) -> None:
    project = project_in(tmp_path, rejected=0)
    project.add(by_source(message_event("OTHER")))

    outcome = airflow.run(three_hours_after(MIDNIGHTS[0]), config=project.config)

    assert outcome.code == 1
    assert outcome.tries == {
        "as_of": ("success", 1),
        "fold": ("failed", 1),
        "schedules": ("upstream_failed", 0),
        "expect": ("upstream_failed", 0),
    }
    assert "fold: exit code 3, an input breaks its contract, or too many rows" in outcome.said
    assert not (project.folder / "warehouse" / "receive_schedule").exists()


def test_wrong_settings_are_not_tried_again(airflow: Airflow, tmp_path: Path) -> None:
    outcome = airflow.run(three_hours_after(MIDNIGHTS[0]), config=str(tmp_path / "none.yaml"))

    assert outcome.code == 1
    assert outcome.tries["fold"] == ("failed", 1)
    assert "none.yaml: no such file; correct the path or create it" in outcome.said
    assert "fold: exit code 2, the command line, settings, catalog or rules are wrong" in outcome.said
