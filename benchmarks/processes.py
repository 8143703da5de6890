"""One process and all that it starts: its time, processor time, memory, and when it said what."""

import os
import resource
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

PROJECT = Path(__file__).resolve().parent.parent
EVERY = 0.2
"""Seconds between two looks at a tree of processes."""


@dataclass(frozen=True)
class Finished:
    """A process that ended well.

    Attributes:
        started: when it started, seconds since the epoch.
        seconds: from its start to its exit.
        cpu_seconds: processor time of it and all its descendants, user and system; of one that nobody waited
            for, as of the last look at it.
        peak_bytes: the greatest sum of the resident memory of all processes of its tree, of what was there
            at two successive looks: a process that is being started has its parent's memory for a moment.
        lines: (seconds since the start, line) of what it wrote to stdout and stderr.
    """

    started: float
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    lines: tuple[tuple[float, str], ...]


class ProcessFailedError(Exception):
    """A process ended with another exit code than 0; the message has its last lines."""


def run_process(
    command: Sequence[str | Path], *, log: Path, environment: Mapping[str, str] | None = None
) -> Finished:
    """Run a command in the project's folder and wait for it.

    Args:
        command: the program and its arguments.
        log: a file that gets what it writes to stdout and stderr.
        environment: variables in addition to those of this process.

    Raises:
        ProcessFailedError: the exit code was not 0.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    lines: list[tuple[float, str]] = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started, began = time.time(), time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=PROJECT,
            env={**os.environ, **(environment or {})},
            stdout=subprocess.PIPE,
            # Spark passes on what a job says, on stderr too, on its own stdout.
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        watch = _Watch(process.pid)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append((time.monotonic() - began, line.rstrip("\n")))
                output.write(line)
                output.flush()
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        finally:
            watch.stop()
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if code != 0:
        last = "\n".join(line for _, line in lines[-5:])
        raise ProcessFailedError(
            f"{' '.join(str(part) for part in command)}: exit code {code}; see {log}\n{last}"
        )
    # The system forgets whose parent did not wait for it, such as an executor that its worker killed.
    waited_for = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Finished(started, seconds, max(waited_for, watch.cpu_seconds), watch.peak, tuple(lines))


class _Watch:
    """Looks at the memory and the processor time of a process tree until it is stopped."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._seen: dict[psutil.Process, float] = {}
        self._before = 0
        self.peak = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    @property
    def cpu_seconds(self) -> float:
        """Of all processes that were ever seen, each as of the last look at it."""
        return sum(self._seen.values())

    def stop(self) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(EVERY):
            total = 0
            with suppress(psutil.NoSuchProcess):
                for process in (self._root, *self._root.children(recursive=True)):
                    with suppress(psutil.NoSuchProcess):
                        total += process.memory_info().rss
                        times = process.cpu_times()
                        self._seen[process] = times.user + times.system
            self.peak = max(self.peak, min(self._before, total))
            self._before = total
