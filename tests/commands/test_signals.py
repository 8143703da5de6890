"""A signal ends a job at once, whatever has become of standard error."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import (
    COMMANDS,
    HAS_JAVA,
    PATIENCE,
    ROOT,
    capture_settings,
    ended,
    environment,
    start_program,
)

SIGNALS = {signal.SIGTERM: 143, signal.SIGINT: 130, signal.SIGHUP: 129}
ENDS_WITHIN = 20.0
"""Seconds, on a machine that does other work; the job itself takes one at most."""

BUSY = """
import sys, threading, time
from pipelines.engine.scratch import local_scratch
from pipelines.commands.launch import launch

def main(argv):
    (local_scratch() / "rows").write_text("1")
    if argv:
        # Another thread holds the stream, and waits for a reader for ever.
        threading.Thread(target=lambda: sys.stderr.write("x" * 1_000_000), daemon=True).start()
        time.sleep(0.5)
    print("ready", flush=True)
    thread = threading.Thread(target=time.sleep, args=(600,))
    thread.start()
    thread.join()

launch(main)
"""

FAILS = """
import time
from pipelines.commands import launch, signals

def main(argv):
    print("ready", flush=True)
    while not signals._ending.is_set():
        time.sleep(0.01)
    raise ConnectionError("the engine has gone")

signals.stop_java = lambda: time.sleep(1)
launch.launch(main)
"""


@pytest.fixture(autouse=True)
def terminal() -> Iterator[None]:
    """The signals as in a terminal: a test run under nohup, or behind &, hands ignored ones on."""
    before = {sign: signal.signal(sign, signal.SIG_DFL) for sign in (signal.SIGHUP, signal.SIGINT)}
    yield
    for sign, handler in before.items():
        signal.signal(sign, handler)


def started(temporary: Path, *options: str, stderr: int) -> "subprocess.Popen[str]":
    """A job that keeps something and waits."""
    job = start_program(BUSY, *options, stderr=stderr, TMPDIR=str(temporary))
    assert job.stdout
    assert job.stdout.readline() == "ready\n"
    return job


def require_ended(job: "subprocess.Popen[Any]", sign: signal.Signals, temporary: Path) -> None:
    try:
        assert job.wait(timeout=ENDS_WITHIN) == SIGNALS[sign]
        assert list(temporary.iterdir()) == []
    finally:
        job.kill()
        if job.stdout:
            job.stdout.close()


@pytest.mark.parametrize("is_gone", [True, False], ids=["nobody is there", "it is full and nobody reads"])
def test_while_nobody_reads_standard_error(tmp_path: Path, is_gone: bool) -> None:
    reads, writes = os.pipe()
    job = started(tmp_path, *([] if is_gone else ["write"]), stderr=writes)
    if is_gone:
        os.close(reads)
    sign = signal.SIGINT if is_gone else signal.SIGTERM
    job.send_signal(sign)
    require_ended(job, sign, tmp_path)
    for end in (writes,) if is_gone else (reads, writes):
        os.close(end)


@pytest.mark.parametrize(
    ("sign", "says"),
    [
        (signal.SIGHUP, "its terminal was closed"),
        (signal.SIGINT, "interrupted"),
        (signal.SIGTERM, "asked to end"),
    ],
)
def test_a_signal_is_told(tmp_path: Path, sign: signal.Signals, says: str) -> None:
    job = started(tmp_path, stderr=subprocess.PIPE)
    job.send_signal(sign)
    assert job.wait(timeout=ENDS_WITHIN) == SIGNALS[sign]
    assert job.stderr
    assert job.stderr.read() == f"error: {says}; run the same command again to resume\n"
    job.stderr.close()
    require_ended(job, sign, tmp_path)


def test_nohup_keeps_its_meaning(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        job = started(tmp_path, stderr=subprocess.DEVNULL)
    finally:
        signal.signal(signal.SIGHUP, before)
    job.send_signal(signal.SIGHUP)
    time.sleep(0.5)
    assert job.poll() is None
    job.send_signal(signal.SIGTERM)
    require_ended(job, signal.SIGTERM, tmp_path)


def test_before_the_job_listens_to_signals() -> None:
    """While modules are imported there is no traceback either."""
    ask = "import os, signal; import jobs; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(60)"
    done = ended([sys.executable, "-c", f"import sys; sys.argv[0] = '-m'; {ask}"])
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


WITH_JAVA = [pytest.mark.long, pytest.mark.skipif(not HAS_JAVA, reason="no java on the PATH")]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["embedded", pytest.param("spark", marks=WITH_JAVA)])
def test_a_night_that_works(tmp_path: Path, engine: str) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    settings = capture_settings(tmp_path)
    reads, writes = os.pipe()
    job = subprocess.Popen(
        [*COMMANDS[engine], "--config", settings, "--as-of", "2026-11-24T07:30:00Z"],
        cwd=ROOT,
        env=environment() | {"TMPDIR": str(temporary), "SPARK_LOCAL_DIRS": str(temporary)},
        stdout=subprocess.DEVNULL,
        stderr=writes,
        start_new_session=True,
    )
    os.close(reads)
    os.close(writes)
    until = time.monotonic() + PATIENCE
    try:
        while not any(tmp_path.glob("warehouse/*/_delta_log/*.json")):
            assert job.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        job.send_signal(signal.SIGTERM)
        require_ended(job, signal.SIGTERM, temporary)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, signal.SIGKILL)


def test_what_fails_because_of_the_signal_is_no_error_of_its_own() -> None:
    with start_program(FAILS) as job:
        assert job.stdout
        assert job.stdout.readline() == "ready\n"
        # The second one changes nothing.
        job.send_signal(signal.SIGTERM)
        job.send_signal(signal.SIGINT)
        error = job.communicate(timeout=PATIENCE)[1]
    assert job.returncode in (SIGNALS[signal.SIGTERM], SIGNALS[signal.SIGINT])
    assert len(error.splitlines()) == 1
    assert error.endswith("; run the same command again to resume\n")
