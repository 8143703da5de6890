"""Measure the replay of queue monitors alone: rows per second, and the memory of Spark and its workers.

    SPARK_DRIVER_MEMORY=2g ./spark-submit.sh benchmarks/replay.py --events 50000000 --queues 1000
    SPARK_DRIVER_MEMORY=2g ./spark-submit.sh benchmarks/replay.py --events 10000000 --queues 1

The events are made as they are replayed, so the time includes making, shuffling and sorting them. Every tenth
queue has an external monitor. With one queue there is one task: that is the replay's speed in one core.
"""

import json
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, functions as F

from jobs.launch import Parser, launch, session
from pipelines.activation import happenings as h
from pipelines.activation.replay import Clock, Monitor
from pipelines.activation.timeline import timeline
from pipelines.activation.workers import replayed

DAY = 86_400_000_000
START = 1_795_132_800_000_000
CYCLE = [h.ARRIVAL, h.ARRIVAL, h.RECEIVE, h.TAKEN, h.ARRIVAL, h.RECEIVE, h.TAKEN, h.TASK_STARTED, h.ARRIVAL]
CYCLE += [h.EMPTY_RECEIVE, h.TASK_EXITED, h.RECEIVE, h.TAKEN, h.TAKEN]


def events(spark: SparkSession, count: int, queues: int) -> DataFrame:
    """A day of happenings, spread evenly: each queue gets the cycle again and again."""
    turn = F.floor(F.col("id") / queues)
    return spark.range(count).select(
        F.pmod("id", F.lit(queues)).cast("int").alias("queue_number"),
        (F.lit(START) + F.floor(F.col("id") * (DAY / count))).alias("time"),
        F.lit(h.QUEUE_EVENTS).alias("rank"),
        F.concat(F.lit("event "), F.lpad(F.col("id").cast("string"), 12, "0")).alias("event_id"),
        F.get(F.array(*map(F.lit, CYCLE)), F.pmod(turn, F.lit(len(CYCLE))).cast("int")).alias("kind"),
        F.pmod(turn, F.lit(3)).cast("bigint").alias("session"),
    )


class PeakMemory:
    """The most memory that the driver's JVM and everything it started held at once, looked at as it runs."""

    def __init__(self) -> None:
        """Start looking."""
        self.peak = dict.fromkeys(("jvm", "python workers"), 0)
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def stop(self) -> dict[str, int]:
        """Stop looking.

        Returns:
            Bytes, of the JVM and of all its Python workers together.
        """
        self._done.set()
        self._thread.join()
        return self.peak

    def _look(self) -> None:
        jvm, driver = os.getppid(), os.getpid()
        while not self._done.wait(0.2):
            parents = {
                int(entry.name): _parent(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()
            }
            workers = {pid for pid in parents if pid != driver and _descends(pid, jvm, parents)}
            now = {"jvm": _resident(jvm), "python workers": sum(map(_resident, workers))}
            self.peak = {name: max(self.peak[name], size) for name, size in now.items()}


def _parent(process: Path) -> int:
    try:
        return int((process / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid := parents.get(pid, 0):
        if pid == ancestor:
            return True
    return False


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def main(argv: Sequence[str]) -> int:
    """Parse the command line, measure, and print one line of JSON."""
    parser = Parser("Measure the replay of queue monitors.")
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--queues", type=int, default=1_000)
    options = parser.parse_args(argv)
    spark = session("replay", None)
    monitors = [
        Monitor(number, None, 30_000_000, True) if number % 10 == 9 else Monitor(number, 2, None, True)
        for number in range(options.queues)
    ]
    clock = Clock(START, START + DAY, 5_000_000, 5_000_000)
    memory, began = PeakMemory(), time.monotonic()
    rows = replayed(timeline(events(spark, options.events, options.queues)), monitors, clock)
    runs = rows.where("ordinal > 0").count()
    seconds = time.monotonic() - began
    peak = {name: round(size / 2**20) for name, size in memory.stop().items()}
    print(
        json.dumps(
            {
                "events": options.events,
                "queues": options.queues,
                "runs": runs,
                "seconds": round(seconds, 1),
                "events_per_second": round(options.events / seconds),
                "peak_mib": peak,
            }
        )
    )
    return 0


if __name__ == "__main__":
    launch(main)
