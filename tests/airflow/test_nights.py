"""A night and a backfill by Airflow give the tables of plain runs, on the embedded engine."""

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

from tests.support.factories import at, by_source, message_event
from tests.support.small_project import a_bit_of_everything, night_after, project_in
from tests.support.warehouses import changed, contents

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW = ROOT / ".venv-airflow" / "bin" / "airflow"
DAG = "conversation_priorities"
PATIENCE = 900.0
TRIED_AGAIN = "tried again while tries are left"
MIDNIGHTS = (at(12 * 60), at(12 * 60, day=1))
"""The as_ofs of a plain night and of a scheduled one, whose run comes three hours later."""
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


def three_hours_after(midnight: datetime) -> str:
    return (midnight + timedelta(hours=3)).isoformat()


def require_success(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.said[-5000:]
    assert outcome.tries == dict.fromkeys(("as_of", "fold", "schedules", "expect"), ("success", 1))


def test_a_night_and_a_backfill(session: SparkSession, airflow: Airflow, tmp_path: Path) -> None:
    plain, scheduled = project_in(tmp_path / "plain"), project_in(tmp_path / "scheduled")
    for project in (plain, scheduled):
        project.add(a_bit_of_everything())
        project.run(session, MIDNIGHTS[0])
        project.add(night_after())
    plain.run(session, MIDNIGHTS[1])
    plain.run(session, BACKFILLED)
    require_success(airflow.run(three_hours_after(MIDNIGHTS[1]), config=scheduled.config))
    require_success(airflow.run(config=scheduled.config, as_of=BACKFILLED.isoformat()))

    of_files = ("path", "modified_at")
    assert changed(contents(plain, leave_out=of_files), contents(scheduled, leave_out=of_files)) == {}
    published, expected = (
        sorted(tuple(row.values()) for row in each.table("runs", ["as_of", "status", "row_counts"]))
        for each in (scheduled, plain)
    )
    assert published == expected
    assert [row[:2] for row in published] == [(as_of, "succeeded") for as_of in (BACKFILLED, *MIDNIGHTS)]


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
