"""The nightly job on a real cluster: a standalone master and two workers as processes on this machine.

The executors have nothing of this project installed: what they need travels with the job. Queue monitors are
replayed in Python workers, so they have a Python with pyarrow.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.harness import Project, one_log
from tests.support.processes import COMMANDS, ROOT, finish
from tests.support.random_logs import project_of, random_logs, require_equal
from tests.support.strategies import Log
from tests.support.warehouses import changed, contents
from tools.local_cluster import QUICK_JVM, Cluster, cluster

pytestmark = pytest.mark.slow

PATIENCE = 300.0
EXECUTOR = "CoarseGrainedExecutorBackend"
SMALL = {
    "spark.executor.extraJavaOptions": QUICK_JVM,
    "spark.executor.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    "spark.ui.enabled": "false",
}
"""What a user of a small cluster says after --spark; the cluster profile leaves it to Spark."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path / "cluster", memory="512m") as running:
        yield running


def monitored(log: Log) -> Log:
    """The log with a monitor on every queue."""
    catalog = deepcopy(log.catalog)
    for instance in catalog["instances"]:
        for database in instance["databases"]:
            for queue in database["queues"]:
                queue["activation"] = {"max_queue_readers": 1}
    return replace(log, catalog=catalog)


def project_with(log: Log, folder: Path) -> Project:
    project = project_of(folder, log)
    project.add(log.events)
    return project


@contextmanager
def submitted(project: Project, log: Log, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The job as users start it, in a process group of its own, which does not outlive the test."""
    job = [*COMMANDS["spark"], "--config", project.config, "--as-of", log.as_of.isoformat(), "--quiet"]
    options = [f"--conf={name}={value}" for name, value in SMALL.items()]
    settings = {"JDK_JAVA_OPTIONS": QUICK_JVM, "SPARK_DRIVER_MEMORY": "1g", **environment}
    with (project.folder / "job.log").open("ab") as output:
        process = subprocess.Popen(
            [*job, "--spark", *options],
            env=os.environ | settings,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def said_at_its_end(process: "subprocess.Popen[bytes]", project: Project) -> str:
    """Wait for the job to succeed; what it said."""
    code = process.wait(timeout=PATIENCE)
    said = (project.folder / "job.log").read_text()
    assert code == 0, said[-3000:]
    return said


def executors(running: Cluster) -> set[int]:
    """The processes of the cluster's executors."""
    command = ["ps", "-A", "-ww", "-o", "pid=,pgid=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=2) for line in listed.splitlines() if EXECUTOR in line]
    return {int(pid) for pid, group, _ in rows if int(group) in running.workers}


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, "the job ended too early"
        assert time.monotonic() < until, "the job took too long"
        time.sleep(0.02)


def test_the_tables_are_those_of_one_machine_even_if_an_executor_dies(
    running: Cluster, tmp_path: Path
) -> None:
    """It dies in the fold, with what the fold keeps in memory; another one comes in its place."""
    log = monitored(one_log(random_logs(20, 31)))
    on_one_machine = project_with(log, tmp_path / "local")
    finish("embedded", on_one_machine, log.as_of)
    require_equal(on_one_machine, log)
    assert on_one_machine.table("activation")

    on_cluster = project_with(log, tmp_path / "on cluster")
    recorded = on_cluster.folder / "warehouse" / "endpoint_events" / "_delta_log" / f"{1:020d}.json"
    environment = running.environment() | {"PYSPARK_PYTHON": str(ROOT / ".venv" / "bin" / "python")}
    with submitted(on_cluster, log, **environment) as process:
        wait_for(recorded.exists, process)
        before = executors(running)
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        wait_for(lambda: len(executors(running) - before) == 1, process)
        said = said_at_its_end(process, on_cluster)

    assert re.search(r"Lost executor \d+ on 127\.0\.0\.1", said), said[-3000:]
    assert changed(*[contents(each, leave_out={"path"}) for each in (on_one_machine, on_cluster)]) == {}
