"""A notebook in a Spark Connect session: the documented server, and a client without a JVM of its own."""

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest

from tests.notebooks.conftest import project
from tests.support.harness import Project
from tests.support.notebooks import EXPECTED, NOTEBOOKS, figures, shown
from tools import notebooks

__all__ = ["project"]
ROOT = Path(__file__).parent.parent.parent
PATIENCE = 400.0
PORT = "15002"
"""The one of the documentation."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server that docs/running.md starts, on a free port; its address."""
    text = (ROOT / "docs" / "running.md").read_text("utf-8").split("## A Spark Connect server")[1]
    line = re.findall(r"```\n(.*?)```", text, re.DOTALL)[0]
    assert PORT in line
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", line.replace(PORT, str(port))],
            cwd=ROOT,
            env={**os.environ, "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + PATIENCE
        while not is_up(port):
            assert process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < until, log.read_text()[-2000:]
            time.sleep(0.2)
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def is_up(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_a_notebook_runs_over_connect(server: str, project: Project, tmp_path: Path) -> None:
    """One of them: on the embedded engine all are clients of Spark Connect."""
    notebook = next(path for path in NOTEBOOKS if path.stem == "why_this_order")
    no_jvm = {"SPARK_REMOTE": server, "JAVA_HOME": "/no/java/here"}
    written = notebooks.run(notebook, tmp_path, project.config, no_jvm)
    content = nbformat.read(written, as_version=4)
    count, said = EXPECTED[notebook.stem]
    assert [line for line in said if line not in shown(content)] == []
    assert len(figures(content)) == count
