"""A Spark standalone cluster on this machine, to try one: a master and workers as processes on loopback.

    .venv/bin/python -m tools.local_cluster ./spark-submit.sh jobs/nightly.py ...

runs the command with SPARK_MASTER set to the cluster's address, and takes the cluster down when the command
has ended. All ports are free ones that the system chose. Logs and scratch files are in a folder that goes
with it, unless --folder names one to keep.
"""

import argparse
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOOPBACK = "127.0.0.1"
QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For JVMs that do little: compiling well, and threads that collect garbage, cost more than they gain."""
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"
MASTER_IS_UP = re.compile(r"Starting Spark master at (spark://\S+)")
WORKER_IS_UP = re.compile(r"Successfully registered with master (\S+)")
PATIENCE_SECONDS = 90.0
GRACE_SECONDS = 5.0
SET_PARENT_DEATH_SIGNAL = 1


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    master: str
    """Its address, as SPARK_MASTER takes it."""
    workers: tuple[int, ...]
    """Process groups of the workers; a worker's executors belong to its group."""

    def environment(self) -> dict[str, str]:
        """What a command needs to find it: the driver talks on loopback as well."""
        return {"SPARK_MASTER": self.master, "SPARK_LOCAL_IP": LOOPBACK}


@contextmanager
def cluster(folder: Path, *, workers: int = 2, cores: int = 1, memory: str = "1g") -> Iterator[Cluster]:
    """Start a cluster whose logs and scratch files go to the folder, and stop it with all its executors."""
    (folder / "conf").mkdir(parents=True)
    environment = os.environ | {
        "SPARK_HOME": str(next(ROOT.glob(".venv/lib/python3.*/site-packages/pyspark"))),
        "SPARK_CONF_DIR": str(folder / "conf"),  # nobody else's spark-defaults.conf
        "SPARK_LOCAL_DIRS": str(folder / "scratch"),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_DAEMON_MEMORY": "512m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JVM,
    }
    # The commands that start it may bring a log level of their own; addresses are read from the default log.
    environment.pop("LOG4J_CONFIGURATION_FILE", None)
    here = ["--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
    with ExitStack() as running:

        def start(name: str, is_up: re.Pattern[str], *arguments: str) -> tuple[int, str]:
            log = folder / f"{name}.log"
            process = running.enter_context(_daemon(arguments, environment, log))
            return process.pid, _address(process, log, is_up)

        _, master = start("master", MASTER_IS_UP, MASTER, *here)
        size = ["--cores", str(cores), "--memory", memory]
        groups = []
        for number in range(1, workers + 1):
            work = ["--work-dir", str(folder / f"worker-{number}")]
            group, _ = start(f"worker-{number}", WORKER_IS_UP, WORKER, *here, *size, *work, master)
            groups.append(group)
        yield Cluster(master, tuple(groups))


@contextmanager
def _daemon(
    arguments: Sequence[str], environment: Mapping[str, str], log: Path
) -> Iterator["subprocess.Popen[bytes]"]:
    """One of Spark's daemons; at the end its whole process group is gone."""
    command = [f"{environment['SPARK_HOME']}/bin/spark-class", *arguments]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def die_with_parent() -> None:
    """Let kill -9 of this process end its child as well, where the system can: no cluster stays behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _address(process: "subprocess.Popen[bytes]", log: Path, is_up: re.Pattern[str]) -> str:
    """What the daemon's log tells once it is up.

    Raises:
        RuntimeError: it ended, or took too long.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and time.monotonic() < until:
        if found := is_up.search(log.read_text(errors="replace")):
            return found[1]
        time.sleep(0.1)
    last = log.read_text(errors="replace").strip().splitlines()[-1:] or ["it said nothing"]
    raise RuntimeError(f"{log.stem} did not come up: {last[0]}")


def main(argv: Sequence[str]) -> int:
    """Run a command on a cluster of its own; the exit code is the command's."""
    parser = argparse.ArgumentParser(description="Run a command on a Spark cluster on this machine.")
    parser.add_argument("--workers", type=int, default=2, help="how many workers (default 2)")
    parser.add_argument("--cores", type=int, default=1, help="cores of each (default 1)")
    parser.add_argument("--memory", default="2g", help="memory of each, for its executors (default 2g)")
    parser.add_argument("--folder", type=Path, help="where to keep logs; must not exist yet")
    parser.add_argument(
        "command", nargs=argparse.REMAINDER, help="what to run, such as ./spark-submit.sh ..."
    )
    options = parser.parse_args(argv)
    if not options.command:
        parser.error("no command given")
    # A signal takes the cluster down as well.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    size = {"workers": options.workers, "cores": options.cores, "memory": options.memory}
    with tempfile.TemporaryDirectory(prefix="spark-cluster-") as scratch:
        folder = options.folder or Path(scratch) / "cluster"
        with cluster(folder, **size) as running:
            print(f"cluster: {running.master}, {options.workers} workers", file=sys.stderr)
            environment = os.environ | running.environment()
            done = subprocess.run(
                options.command, env=environment, preexec_fn=die_with_parent, check=False
            ).returncode
    return done if done >= 0 else 128 - done


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except (OSError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        code = 1
    sys.exit(code)
