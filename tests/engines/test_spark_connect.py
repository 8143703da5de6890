"""A Spark Connect server as documented, and a command that is its client, without a JVM of its own."""

import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.apache_spark import SMALL_JOBS
from tests.support.factories import at
from tests.support.processes import PATIENCE, ROOT, ended, finish
from tests.support.small_project import a_bit_of_everything, project_in

PORT = "15002"
"""The one of the documentation."""
NEXT = (ROOT / ".venv" / "bin" / "priorities", "next", "--queue", "SQL1.B.TargetQueue", "--format", "json")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server that docs/running.md starts, on a free port; its address."""
    text = (ROOT / "docs" / "running.md").read_text("utf-8").split("## A Spark Connect server")[1]
    line = re.findall(r"```\n(.*?)```", text, re.DOTALL)[0].strip()
    assert line.endswith(PORT)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("connect") / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            ["bash", "-c", f"{line.replace(PORT, str(port))} {SMALL_JOBS}"],
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


def test_a_command_asks_the_server(server: str, tmp_path: Path) -> None:
    project = project_in(tmp_path)
    project.add(a_bit_of_everything())
    finish("embedded", project, at(60))
    answers = [
        json.loads(ended([*NEXT, "--config", project.config], environment).stdout)
        for environment in ({}, {"SPARK_REMOTE": server, "JAVA_HOME": "/no/java/here"})
    ]
    assert answers[0]["next"]
    assert answers[1] == answers[0]
