"""One process and all that it starts: its time, processor time, memory, bytes read, and when it said what."""

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

PROJECT = Path(__file__).resolve().parents[2]
EVERY = 0.2
"""Seconds between two looks at a tree of processes."""


@dataclass(frozen=True)
class Finished:
    """A process that ended well.

    Attributes:
        seconds: from its start to its exit.
        cpu_seconds: processor time of it and all its descendants, user and system; of one that nobody waited
            for, as of the last look at it.
        peak_bytes: the greatest sum of the resident memory of all processes of its tree, of what was there
            at two successive looks: a process that is being started has its parent's memory for a moment.
        bytes_read: what the processes of its tree asked the system to read, from disk or from its cache, as
            of the last look; programs that are loaded, and all that was spilled, count too.
        lines: what it wrote to stdout and stderr.
    """

    seconds: float
    cpu_seconds: float
    peak_bytes: int
    bytes_read: int
    lines: tuple[str, ...]


class ProcessFailedError(Exception):
    """A process ended with another exit code than 0; the message has its last lines."""


def run_process(
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    project: Path = PROJECT,
) -> Finished:
    """Run a command in a checkout's folder and wait for it.

    Args:
        command: the program and its arguments.
        log: a file that gets what it writes to stdout and stderr.
        environment: variables in addition to those of this process.
        project: the checkout.

    Raises:
        ProcessFailedError: the exit code was not 0.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    lines: list[str] = []
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    with log.open("w", encoding="utf-8") as output:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=project,
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
                lines.append(line.rstrip("\n"))
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
        last = "\n".join(lines[-5:])
        raise ProcessFailedError(
            f"{' '.join(str(part) for part in command)}: exit code {code}; see {log}\n{last}"
        )
    # The system forgets whose parent did not wait for it, such as a worker that was killed.
    waited_for = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    return Finished(
        seconds, max(waited_for, watch.cpu_seconds), watch.peak_bytes, watch.bytes_read, tuple(lines)
    )


class _Watch:
    """Looks at the memory, the processor time and the reads of a process tree until it is stopped."""

    def __init__(self, pid: int) -> None:
        self._root = psutil.Process(pid)
        self._seen: dict[psutil.Process, float] = {}
        self._before = 0
        self.peak_bytes = 0
        self.bytes_read = 0
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
            resident = read = 0
            with suppress(psutil.NoSuchProcess):
                for process in (self._root, *self._root.children(recursive=True)):
                    with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                        resident += process.memory_info().rss
                        times = process.cpu_times()
                        self._seen[process] = times.user + times.system
                        # What a child had read is its parent's once it has waited for it.
                        read += process.io_counters().read_chars
            self.peak_bytes = max(self.peak_bytes, min(self._before, resident))
            self.bytes_read = max(self.bytes_read, read)
            self._before = resident
