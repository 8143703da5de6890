"""A process and its children, measured."""

import sys
from pathlib import Path

import pytest

from dev.benchmarks.processes import ProcessFailedError, run_process

HOLDS_AND_READS = "import sys, time; held = open(sys.argv[1], 'rb').read() * 3; time.sleep(0.7)"
# The clock of processes counts in hundredths, so a little more than is asked for below.
BUSY = "import time\nwhile time.process_time() < 0.6: pass\nprint('busy', flush=True); time.sleep(60)"


def test_time_memory_and_reading_of_children_and_lines(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 30_000_000)
    parent = f"""
import subprocess, sys, time
print('begin', file=sys.stderr, flush=True)
subprocess.run([sys.executable, '-c', {HOLDS_AND_READS!r}, {str(tmp_path / "file")!r}])
print('end', file=sys.stderr); print('said')
time.sleep(0.2)
"""
    finished = run_process([sys.executable, "-c", parent], log=tmp_path / "run.log")
    assert set(finished.lines) == {"begin", "end", "said"}
    assert sorted((tmp_path / "run.log").read_text().split()) == ["begin", "end", "said"]
    assert finished.seconds >= 0.9
    assert finished.cpu_seconds > 0
    assert 90_000_000 < finished.peak_bytes < 400_000_000
    assert 30_000_000 <= finished.bytes_read < 50_000_000


def test_processor_time_of_a_child_that_nobody_waited_for(tmp_path: Path) -> None:
    parent = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, '-c', {BUSY!r}], stdout=subprocess.PIPE)
child.stdout.readline()
time.sleep(1.0)  # some looks
child.kill()
os._exit(0)
"""
    finished = run_process([sys.executable, "-c", parent], log=tmp_path / "run.log")
    assert 0.5 <= finished.cpu_seconds <= finished.seconds


def test_a_process_that_fails(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; print('no luck', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(ProcessFailedError, match=r"exit code 3(.|\n)*no luck"):
        run_process(command, log=tmp_path / "run.log")
