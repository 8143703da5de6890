"""What a signal does to a process: a stand-in for the session counts how often its jobs are cancelled."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SESSION = """
import os, signal, sys, time
from types import SimpleNamespace
from jobs import interruption
from jobs.interruption import INTERRUPTION

asked = []
spark = SimpleNamespace(sparkContext=SimpleNamespace(cancelAllJobs=lambda: asked.append(1)))
interruption.PAUSE = 0.01
INTERRUPTION.listen()
"""


def run(program: str, **environment: str) -> tuple[int, str, str]:
    """Exit code, output and errors of the program after the session's lines."""
    done = subprocess.run(
        [sys.executable, "-c", SESSION + program],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_jobs_are_cancelled_until_somebody_asks_why(number: signal.Signals) -> None:
    code, out, _ = run(f"""
INTERRUPTION.watch(spark)
os.kill(os.getpid(), {int(number)})
while len(asked) < 3: time.sleep(0.01)
print(INTERRUPTION.acknowledge().name)
before = len(asked)
os.kill(os.getpid(), signal.SIGTERM)
time.sleep(0.1)
print(len(asked) - before, INTERRUPTION.acknowledge().name)
""")
    assert (code, out) == (0, f"{number.name}\n0 {number.name}\n")


def test_before_there_is_a_session_it_ends_at_once() -> None:
    assert run("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)") == (
        143,
        "",
        "error: ended by SIGTERM; nothing was done yet\n",
    )


def test_a_job_that_does_not_come_to_an_end_is_ended() -> None:
    code, _, _ = run("""
interruption.GRACE = 0.2
INTERRUPTION.watch(spark)
os.kill(os.getpid(), signal.SIGTERM)
INTERRUPTION.acknowledge()
time.sleep(60)
""")
    assert code == 143


def test_without_a_signal_nothing_is_acknowledged() -> None:
    assert run("INTERRUPTION.watch(spark); print(INTERRUPTION.acknowledge(), asked)")[1] == "None []\n"


def test_a_job_that_is_failing_already_is_left_to_it() -> None:
    _, out, _ = run("""
INTERRUPTION.watch(spark)
INTERRUPTION.acknowledge()
os.kill(os.getpid(), signal.SIGTERM)
print(INTERRUPTION.acknowledge(), asked)
""")
    assert out == "None []\n"


def test_the_supervisor_is_told_who_listens(tmp_path: Path) -> None:
    asked = tmp_path / "driver.pid"

    _, out, _ = run("print(os.getpid())", DRIVER_PID_FILE=str(asked))

    assert asked.read_text() == out.strip()
    assert list(tmp_path.iterdir()) == [asked]
