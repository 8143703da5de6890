"""SIGTERM and Ctrl-C end a job cleanly: Spark's jobs are cancelled, and the session stays to record it.

A handler that raised would leave the call to the JVM that it broke into half-way, and with it the connection.
So it only cancels what Spark is doing, again and again, until the job's own code has met the error and asks
for the reason. tools/supervise.py sees to it that the JVM does not get the signal itself.
"""

import os
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType

from pyspark.sql import SparkSession

PAUSE = 0.2
"""Seconds from one cancelling to the next: Spark may be between two jobs."""
GRACE = 60.0
"""Seconds after which the process ends whatever it does, as when the cluster that it waits for is gone."""


class Interruption:
    """The first signal that asked this process to end, and what is done about it."""

    def __init__(self) -> None:
        self._received: signal.Signals | None = None
        self._spark: SparkSession | None = None
        self._acknowledged = threading.Event()
        self._canceller: threading.Thread | None = None

    def listen(self) -> None:
        """Take SIGTERM and SIGINT from now on; tell tools/supervise.py, if it asks, who does."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        if asked := os.environ.get("DRIVER_PID_FILE"):
            partial = Path(f"{asked}.partial")
            partial.write_text(str(os.getpid()))
            partial.rename(asked)

    def watch(self, spark: SparkSession) -> None:
        """Name the session whose jobs a signal cancels. Before that there is nothing to be cancelled."""
        self._spark = spark
        if signal.getsignal(signal.SIGTERM) == self._on_signal:
            # Spark has put its own in place of it, which raises.
            signal.signal(signal.SIGINT, self._on_signal)

    def acknowledge(self) -> signal.Signals | None:
        """The signal that came, if one did. From here on jobs run again: the last ones, that record it."""
        self._acknowledged.set()
        if self._canceller is not None:
            self._canceller.join()
        return self._received

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._received is not None or self._acknowledged.is_set():
            return  # it is ending already
        self._received = signal.Signals(number)
        if self._spark is None:
            print(f"error: ended by {self._received.name}; nothing was done yet", file=sys.stderr)
            raise SystemExit(exit_code(self._received))
        self._end_in_time(self._received)
        self._canceller = threading.Thread(target=self._cancel, args=[self._spark], daemon=True)
        self._canceller.start()

    def _end_in_time(self, received: signal.Signals) -> None:
        timer = threading.Timer(GRACE, os._exit, [exit_code(received)])
        timer.daemon = True
        timer.start()

    def _cancel(self, spark: SparkSession) -> None:
        while not self._acknowledged.is_set():
            with suppress(Exception):  # without its JVM the job ends all the same
                spark.sparkContext.cancelAllJobs()
            self._acknowledged.wait(PAUSE)


def exit_code(received: signal.Signals) -> int:
    """What a process that a signal ended exits with, as shells have it: 143 for SIGTERM, 130 for SIGINT."""
    return 128 + received


INTERRUPTION = Interruption()
"""That of this process."""
