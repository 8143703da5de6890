"""Many small nights in one session, with housekeeping once a week: do files and seconds grow with them?

    .venv/bin/python -m benchmarks.nights --nights 60

A night's events are few, so that what a night costs beside its events is all there is to see. Housekeeping
comes after every seventh night, keeps two weeks of as_ofs, and deletes unused files at once. With `--minutes`
it stops early, and the next call goes on. `nights/nights.jsonl` in the folder has a line per night.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from benchmarks.bench import Bench, Case
from benchmarks.event_log import files_read_from
from benchmarks.experiments.history import FIRST_DAY, bring, empty_inputs
from benchmarks.processes import PROJECT
from jobs import maintain, nightly
from pipelines.settings.load import load_settings

MAINTAINED_EVERY = 7
KEEP_DAYS = 14


def run(spark: SparkSession, bench: Bench, log: Path, *, minutes: float) -> None:
    """Run the nights that are missing, and note each.

    Args:
        spark: the session; it writes its event log to `events` in the folder.
        bench: the folder, and how many nights the log has.
        log: a log with a folder per night.
        minutes: no night is begun later than so many.
    """
    folder = bench.folder / "nights"
    notes, inputs = folder / "nights.jsonl", {name.name: name for name in sorted(folder.glob("*_events"))}
    if not notes.exists():
        inputs = empty_inputs(folder)
        notes.touch()
    done = len(notes.read_text().splitlines())
    config = Case(bench, "nights", "nights", log, inputs, at=folder).write_settings()
    lines, began = [], []
    until = time.monotonic() + 60 * minutes
    for number in range(done + 1, bench.nights + 1):
        if time.monotonic() > until:
            break
        night = FIRST_DAY + timedelta(days=number - 1)
        bring(log / f"night={night:%Y-%m-%d}", inputs)
        began.append(time.time())
        nightly.run(spark, load_settings(str(config)), night + timedelta(days=1))
        ended = time.time()
        line = {"night": number, "seconds": round(ended - began[-1], 1), "files": table_files(folder)}
        if number % MAINTAINED_EVERY == 0:
            # In the event log this is no night's.
            maintain.run(spark, load_settings(str(config)), keep_days=KEEP_DAYS, keep_hours=0)
            line |= {"maintained": round(time.time() - ended, 1), "files_then": table_files(folder)}
        began.append(ended)
        lines.append(line)
        print(json.dumps(line), file=sys.stderr)
    spark.stop()
    read = files_read_from(folder / "events", began)
    with notes.open("a") as output:
        for line, count in zip(lines, read[::2], strict=True):
            output.write(json.dumps(line | {"files_read": count}) + "\n")


def table_files(folder: Path) -> dict[str, int]:
    """How many files the rows of each table are in."""
    tables = sorted(path.parent for path in folder.glob("warehouse/*/_delta_log"))
    return {table.name: len(DeltaTable(str(table)).file_uris()) for table in tables}


def open_session(folder: Path, *, cores: int, memory: str) -> SparkSession:
    """A session with the settings of the local profile, as spark-submit.sh would give it."""
    os.environ |= {
        "LOG4J_CONFIGURATION_FILE": str(PROJECT / "conf" / "spark" / "log4j2.properties"),
        "PYSPARK_PYTHON": sys.executable,
        "TZ": "UTC",
    }
    events = folder / "nights" / "events"
    events.mkdir(parents=True, exist_ok=True)
    builder = SparkSession.builder.master(f"local[{cores}]").appName("nights")
    for line in (PROJECT / "conf" / "spark" / "local.conf").read_text().splitlines():
        if line and not line.startswith("#"):
            name, value = line.split(maxsplit=1)
            builder = builder.config(name, value)
    return (
        builder.config("spark.jars", ",".join(map(str, sorted((PROJECT / ".jars").glob("*.jar")))))
        .config("spark.driver.memory", memory)
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.dir", events.as_uri())
        .config("spark.eventLog.compress", "false")
        .getOrCreate()
    )


def main(argv: Sequence[str]) -> int:
    """Parse the command line, make the log if it is not there, and run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nights")
    parser.add_argument("--nights", type=int, default=60, help="nights of the log (default 60)")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no night after so many")
    parser.add_argument("--messages", type=int, default=100, help="messages a night (default 100)")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--memory", default="2g", help="of the driver")
    parser.add_argument("--folder", type=Path, default=PROJECT / "build" / "bench")
    options = parser.parse_args(argv)
    bench = Bench(options.folder.resolve(), options.messages, nights=options.nights)
    small = ("--services", "20", "--rules", "10", "--days", str(options.nights), "--history", "daily")
    log = bench.log(options.messages * options.nights, *small)
    spark = open_session(bench.folder, cores=options.cores, memory=options.memory)
    run(spark, bench, log, minutes=options.minutes)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
