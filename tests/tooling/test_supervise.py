"""tools/supervise.py with small commands in place of spark-submit."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SLEEPS = "import time; print('ready', flush=True); time.sleep(60)"
# Spark-submit stands for its JVM; the job is its child.
TELLS_AND_LISTENS = """
import os, signal, subprocess, sys, time
job = '''
import os, signal, sys, time
def told(number, frame):
    print("the job got", signal.Signals(number).name, flush=True)
    sys.exit(7)
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    signal.signal(number, told)
open(os.environ["DRIVER_PID_FILE"], "w").write(str(os.getpid()))
print("ready", flush=True)
time.sleep(60)
'''
sys.exit(subprocess.run([sys.executable, "-c", job]).returncode)
"""


def supervised(program: str, *, ends_by_hang_up: bool = True) -> "subprocess.Popen[str]":
    """The supervisor of a Python program, in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, str(ROOT / "tools" / "supervise.py"), sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hang_up if ends_by_hang_up else ignore_hang_up,
    )


def hang_up() -> None:
    """A hang-up ends it, also where the tests run under nohup."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def ignore_hang_up() -> None:
    """As nohup has it."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def wait_for(condition: Callable[[], bool]) -> bool:
    until = time.monotonic() + 10
    while not condition() and time.monotonic() < until:
        time.sleep(0.01)
    return condition()


def out(process: "subprocess.Popen[str]") -> str:
    """What is left to read, once the process has ended."""
    assert process.stdout is not None
    with process.stdout:
        return process.stdout.read()


def is_ready(process: "subprocess.Popen[str]") -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "ready\n"


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_comes_back(code: int) -> None:
    process = supervised(f"raise SystemExit({code})")

    assert process.wait(timeout=10) == code
    assert out(process) == ""


def test_a_command_that_a_signal_ended_has_the_code_that_shells_give_it() -> None:
    process = supervised("import os; os.kill(os.getpid(), 9)")

    assert process.wait(timeout=10) == 137
    out(process)


@pytest.mark.parametrize(
    ("sent", "passed_on"), [("SIGTERM", "SIGTERM"), ("SIGINT", "SIGINT"), ("SIGHUP", "SIGTERM")]
)
def test_a_signal_reaches_the_job_alone_and_once(sent: str, passed_on: str) -> None:
    process = supervised(TELLS_AND_LISTENS)
    assert is_ready(process)

    os.killpg(process.pid, signal.Signals[sent])

    assert process.wait(timeout=10) == 7
    assert out(process) == f"the job got {passed_on}\n"


def test_a_hang_up_is_nothing_to_a_command_under_nohup() -> None:
    process = supervised(TELLS_AND_LISTENS, ends_by_hang_up=False)
    assert is_ready(process)

    os.killpg(process.pid, signal.SIGHUP)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=0.5)
    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(timeout=10) == 7
    assert out(process) == "the job got SIGINT\n"


def test_without_a_job_that_listens_everything_is_ended() -> None:
    process = supervised(SLEEPS)
    assert is_ready(process)

    process.terminate()

    assert process.wait(timeout=10) == 143
    out(process)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can end a child with its parent")
def test_the_child_does_not_survive_a_kill_of_the_supervisor(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    process = supervised(f"import os; open({str(pid)!r}, 'w').write(str(os.getpid()))\n{SLEEPS}")
    assert is_ready(process)

    process.kill()
    process.wait()

    state = Path("/proc", pid.read_text(), "stat")
    assert wait_for(lambda: not state.exists() or state.read_text().split()[2] == "Z")
    out(process)
