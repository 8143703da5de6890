"""Nights as users start them: processes of either engine, which can be killed."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess

from tests.support.harness import Project

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 1200.0
HAS_JAVA = shutil.which("java") is not None
COMMANDS = {
    "embedded": [sys.executable, "-m", "jobs.nightly"],
    "spark": [str(ROOT / "spark-submit.sh"), "jobs/nightly.py"],
}
OWN = ("SPARK", "PYSPARK", "ENGINE", "TEST_ENGINE", "JAVA_TOOL")
"""What a test process may have set for itself."""


def environment() -> dict[str, str]:
    """The environment of a process that knows nothing of the test's own engine."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OWN)}
    return kept | {"SPARK_MASTER": "local[2]", "SPARK_DRIVER_MEMORY": "1g", "ENGINE_MEMORY": "1g"}


def start(engine: str, project: Project, as_of: datetime) -> "subprocess.Popen[bytes]":
    """Start a night in a process group of its own."""
    command = [*COMMANDS[engine], "--config", project.config, "--as-of", as_of.isoformat(), "--quiet"]
    with _log(project).open("ab") as log:
        return subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=log, stderr=log, start_new_session=True
        )


def finish(engine: str, project: Project, as_of: datetime) -> None:
    """Run a night to its end."""
    code = start(engine, project, as_of).wait(timeout=PATIENCE)
    assert code == 0, log_of(project)[-3000:]


def capture_settings(folder: Path) -> str:
    """The settings of the capture sample, with a warehouse in this folder."""
    text = (ROOT / "conf" / "capture.yaml").read_text()
    text = text.replace("../build/warehouse-capture", "warehouse").replace(
        "../pipelines", f"{ROOT}/pipelines"
    )
    (folder / "settings.yaml").write_text(text)
    return str(folder / "settings.yaml")


def ended(command: Sequence[str | Path], changes: Mapping[str, str] | None = None) -> CompletedProcess[str]:
    """Run a command to its end, whatever its exit code, with these changes of `environment`."""
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment() | dict(changes or {}),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=PATIENCE,
        check=False,
    )


def run_program(folder: Path, text: str, *options: str | Path, **changes: str) -> CompletedProcess[str]:
    """Run a Python program that imports the project, to its end.

    It is in a file: of `python -c`, the client of Spark Connect thinks that it is a doctest.
    """
    program = folder / "program.py"
    program.write_text(text)
    return ended([sys.executable, program, *options], {"PYTHONPATH": str(ROOT), **changes})


def start_program(
    text: str, *options: str, cwd: Path = ROOT, stderr: int = subprocess.PIPE, **changes: str
) -> "subprocess.Popen[str]":
    """Start a Python program that imports the project; its output comes by a pipe."""
    return subprocess.Popen(
        [sys.executable, "-c", text, *options],
        cwd=cwd,
        env=environment() | {"PYTHONPATH": str(ROOT), **changes},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
    )


def kill_when(engine: str, project: Project, as_of: datetime, moment: Callable[[], bool]) -> bool:
    """Start a night, and kill -9 it with all its processes; False if it ended before the moment came."""
    job = start(engine, project, as_of)
    until = time.monotonic() + PATIENCE
    try:
        while not moment():
            if job.poll() is not None:
                assert job.returncode == 0, log_of(project)[-3000:]
                return False
            assert time.monotonic() < until, "the job took too long"
            time.sleep(0.002)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
    return True


def written(project: Project) -> int:
    """The commits so far, as files of the tables' logs."""
    return len(list(project.folder.glob("warehouse/*/_delta_log/*.json")))


def log_of(project: Project) -> str:
    """All that the project's nights have printed."""
    return _log(project).read_text()


def _log(project: Project) -> Path:
    return project.folder / "job.log"
