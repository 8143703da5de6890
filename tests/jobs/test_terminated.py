"""A nightly job that is asked to end says so in `runs`. That it can be run again, test_kill shows."""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.jobs.test_kill import PATIENCE, night, project_in, start

pytestmark = pytest.mark.slow

QUICK = "-XX:TieredStopAtLevel=1"
"""For a JVM that lives for seconds: compiling well costs more than it gains."""


@pytest.mark.parametrize(
    ("table", "number", "code"),
    [
        pytest.param("accepted_endpoint_events", signal.SIGTERM, 143, id="SIGTERM in a stream's callback"),
        pytest.param("transactions", signal.SIGINT, 130, id="SIGINT between two tables"),
    ],
)
def test_a_signal_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, number: signal.Signals, code: int
) -> None:
    monkeypatch.setenv("JDK_JAVA_OPTIONS", QUICK)
    project = project_in(tmp_path)
    project.add(night())
    job = start(project)
    written = project.folder / "warehouse" / table / "_delta_log" / f"{0:020d}.json"
    until = time.monotonic() + PATIENCE
    try:
        while not written.exists():
            assert job.poll() is None, f"the job ended before it wrote {table}"
            assert time.monotonic() < until, f"the job did not write {table} in time"
            time.sleep(0.01)
        # As a terminal and a scheduler do it: to all of the job's processes, not to one of them.
        os.killpg(job.pid, number)
        found = job.wait(timeout=PATIENCE)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    said = (project.folder / "job.log").read_text()
    assert found == code, said[-2000:]
    assert f"error: ended by {number.name}; run it again, it takes up where it broke off\n" in said
    columns = ["status", "error", "row_counts", "last_ingest_batch"]
    assert [tuple(row.values()) for row in project.table("runs", columns)] == [
        ("terminated", f"ended by {number.name}", [], None)
    ]


def test_before_spark_is_there_nothing_is_recorded(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    job = start(project)
    time.sleep(0.5)
    job.terminate()
    assert job.wait(timeout=PATIENCE) == 143
    assert not (project.folder / "warehouse").exists()
