"""The nightly job on a real cluster: a standalone master and two workers as processes on this machine.

The executors have nothing of this project installed: what they need travels with the job. JSON lines are
parsed and queue monitors replayed in Python workers, so they have a Python with pyarrow and orjson.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.factories import at
from tests.support.harness import Project
from tests.support.processes import COMMANDS, ROOT, finish, log_of
from tests.support.small_project import a_bit_of_everything, project_in
from tests.support.warehouses import changed, contents
from tools.local_cluster import QUICK_JVM, Cluster, cluster

pytestmark = pytest.mark.slow

AS_OF = at(60)
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


@contextmanager
def submitted(project: Project, environment: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    """The job as users start it, in a process group of its own, which does not outlive the test."""
    job = [*COMMANDS["spark"], "--config", project.config, "--as-of", AS_OF.isoformat(), "--quiet"]
    options = [f"--conf={name}={value}" for name, value in SMALL.items()]
    settings = {"JDK_JAVA_OPTIONS": QUICK_JVM, "SPARK_DRIVER_MEMORY": "1g"}
    with (project.folder / "job.log").open("ab") as output:
        process = subprocess.Popen(
            [*job, "--spark", *options],
            env=os.environ | settings | dict(environment),
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


def test_the_tables_are_those_of_one_machine_even_if_an_executor_dies(tmp_path: Path) -> None:
    """It dies in the fold, with what the fold keeps in memory; another one comes in its place."""
    on_one_machine, on_cluster = project_in(tmp_path / "local"), project_in(tmp_path / "on cluster")
    for project in (on_one_machine, on_cluster):
        project.add(a_bit_of_everything())
    finish("embedded", on_one_machine, AS_OF)
    assert on_one_machine.table("activation")

    recorded = on_cluster.folder / "warehouse" / "endpoint_events" / "_delta_log" / f"{1:020d}.json"
    python = {"PYSPARK_PYTHON": str(ROOT / ".venv" / "bin" / "python")}
    with (
        cluster(tmp_path / "cluster", memory="512m") as running,
        submitted(on_cluster, running.environment() | python) as process,
    ):
        wait_for(recorded.exists, process)
        before = executors(running)
        assert len(before) == 2
        os.kill(min(before), signal.SIGKILL)
        wait_for(lambda: len(executors(running) - before) == 1, process)
        code = process.wait(timeout=PATIENCE)

    said = log_of(on_cluster)
    assert code == 0, said[-3000:]
    assert re.search(r"Lost executor \d+ on 127\.0\.0\.1", said), said[-3000:]
    assert changed(*[contents(each, leave_out={"path"}) for each in (on_one_machine, on_cluster)]) == {}
