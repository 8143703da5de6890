"""The nightly job on a real cluster: a standalone master and two workers as processes on this machine.

The executors have neither Python nor anything of this project installed: what they need travels with the job.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.harness import Project, one_log
from tests.jobs.warehouses import changed, contents
from tests.strategies import Log
from tests.test_against_model import project_of, random_logs, require_equal
from tools.local_cluster import Cluster, cluster

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300.0
EXECUTOR = "CoarseGrainedExecutorBackend"
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that live for seconds: compiling well costs more than it gains."""
SMALL = {
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.executor.extraJavaOptions": QUICK,
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.ui.enabled": "false",
}
"""What a user of a small cluster says after --spark; the cluster profile leaves it to Spark."""


@pytest.fixture(scope="module")
def log() -> Log:
    return one_log(random_logs(20, 31))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster") / "files", memory="512m") as running:
        yield running


@pytest.fixture(scope="module")
def on_one_machine(log: Log, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """All tables of a run with two threads of one process, equal to those of the naive model."""
    project = project_with(log, tmp_path_factory.mktemp("local"))
    finish(project, submit(project, log, {"SPARK_MASTER": "local[2]"}))
    require_equal(project, log)
    return contents(project)


def project_with(log: Log, folder: Path) -> Project:
    project = project_of(folder / "project", log)
    project.add(log.events)
    return project


def submit(project: Project, log: Log, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    """The job as users start it, in a process group of its own."""
    job = ["jobs/nightly.py", "--config", project.config, "--as-of", log.as_of.isoformat(), "--quiet"]
    options = [f"--conf={name}={value}" for name, value in SMALL.items()]
    settings = {"JDK_JAVA_OPTIONS": QUICK, "SPARK_DRIVER_MEMORY": "1g", **environment}
    with (project.folder / "job.log").open("ab") as output:
        return subprocess.Popen(
            [str(ROOT / "spark-submit.sh"), *job, "--spark", *options],
            env=os.environ | settings,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def on_cluster(running: Cluster) -> dict[str, str]:
    return running.environment() | {
        "PYSPARK_PYTHON": "/no/python/here",
        "PYSPARK_DRIVER_PYTHON": str(ROOT / ".venv" / "bin" / "python"),
    }


def finish(project: Project, job: "subprocess.Popen[bytes]") -> str:
    """Wait for the job to succeed; what it said."""
    try:
        code = job.wait(timeout=PATIENCE)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    said = (project.folder / "job.log").read_text()
    assert code == 0, said[-3000:]
    return said


def executors(running: Cluster) -> list[int]:
    """The processes of the cluster's executors."""
    listed = subprocess.run(
        ["ps", "-A", "-o", "pid=,pgid=,args="], capture_output=True, text=True, check=True
    ).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines() if EXECUTOR in line]
    return sorted(int(pid) for pid, group, _ in rows if int(group) in running.workers)


def wait_for(condition: Callable[[], bool], job: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert job.poll() is None, "the job ended too early"
        assert time.monotonic() < until, "the job took too long"
        time.sleep(0.02)


def test_the_tables_are_those_of_one_machine(
    log: Log, on_one_machine: dict[str, list[str]], running: Cluster, tmp_path: Path
) -> None:
    project = project_with(log, tmp_path)
    job = submit(project, log, on_cluster(running))
    wait_for(lambda: len(executors(running)) == 2, job)
    finish(project, job)
    assert changed(on_one_machine, contents(project)) == {}


def test_an_executor_that_dies_changes_nothing(
    log: Log, on_one_machine: dict[str, list[str]], running: Cluster, tmp_path: Path
) -> None:
    """It dies while the batch that it holds in memory is being recorded."""
    project = project_with(log, tmp_path)
    job = submit(project, log, on_cluster(running))
    recorded = project.folder / "warehouse" / "accepted_endpoint_events" / "_delta_log" / f"{1:020d}.json"
    wait_for(recorded.exists, job)
    before = executors(running)
    os.kill(before[0], signal.SIGKILL)
    wait_for(lambda: len(set(executors(running)) - set(before)) == 1, job)
    said = finish(project, job)
    assert re.search(r"Lost executor \d+ on 127\.0\.0\.1", said), said[-3000:]
    assert changed(on_one_machine, contents(project)) == {}
