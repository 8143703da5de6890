"""Print the settings of a local Spark that follow from its memory and from the work, as `name=value` lines.

**Compilers.** The JVM's second compiler costs a small night more than it gains; a large one takes up to two
thirds longer without it. It has to be chosen before the JVM starts, so this looks at sizes alone: those of
the files of inputs and snapshots that came after the last fold, and, for a job that describes an as_of, of
the events that are open then. What is not on this disk counts nothing.

**Broadcasts.** To send a few hundred thousand ids to every task costs less than to shuffle all events for a
join with them; by default that ends at 10 MB of files. But memory holds them whole, at five to forty times
the size of their files.

**Heap.** Where there is little to do and room for it, the JVM takes 2 GB at once, half of it for new
objects, and room for the classes that it loads. By default it starts with a 64th of the machine's memory,
and collects garbage as it grows.

**Classes.** Java takes them from the archive that `tools/setup` has made, which halves the start of a job.

The tables are the same whatever is chosen.
"""

import argparse
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent

OPTIONS = "spark.driver.extraJavaOptions"
BOTH = "-XX:TieredStopAtLevel=4"
ROOMY = "-Xms2g -Xmn1g -XX:MetaspaceSize=256m"
ARCHIVE = ROOT / ".jars" / "classes.jsa"
SHARED = f'"-XX:SharedArchiveFile={ARCHIVE}" -Xlog:cds=off -Xlog:cds+dynamic=off -Xlog:class+path=off'
"""Java says of an archive of another Java that it does not fit, to standard output."""
ROOM = 6 << 30
"""Of so many bytes of memory 2 GB can be taken at once (our choice)."""
BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
MOST_BROADCAST = 64 << 20
"""Bytes of files; with 12 GiB of memory up to so many were measured."""
OF_MEMORY = 192
"""Of so many bytes of memory one may be in the files of a broadcast."""
UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}
MUCH = 150_000_000
"""Bytes of new Parquet files: those of some 700,000 messages (figures in dev/benchmarks/README.md)."""
OPEN = 2
"""So many bytes of events that were taken in before are as much work as a new one."""
DESCRIBING = ("nightly", "schedules", "activation")
"""Jobs that read all events which are open at an as_of, or in the window before it."""
LATEST = "latest"
EVENTS = ("endpoint_events", "message_events", "queue_events")
DAY_HOURS = 24
"""What activation looks back, unless the settings say otherwise."""
VIEWS = 10
"""A byte of a view is as much work as so many of a log: its rows become rows of five tables."""
PLAIN = (".csv", ".json", ".jsonl")
TEXT = 4
"""So many bytes of text are as much work as one of a packed file (our choice, not measured)."""


def main(job: str, arguments: Sequence[str], memory: str) -> None:
    """Print the settings; what is wrong with the job's own says the job itself, and with memory the JVM.

    Args:
        job: its file.
        arguments: its options.
        memory: of the driver, as Spark writes it, such as 8g.
    """
    parser = argparse.ArgumentParser(allow_abbrev=False, add_help=False, exit_on_error=False)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--as-of")
    room = 0
    with suppress(ValueError, LookupError):
        room = _bytes(memory)
        print(f"{BROADCAST}={min(MOST_BROADCAST, room // OF_MEMORY)}b")
    java = [SHARED] if ARCHIVE.exists() else []
    with suppress(Exception):
        options = parser.parse_known_args(arguments)[0]
        as_of = options.as_of if Path(job).stem in DESCRIBING else None
        if _work(options.config or _find_settings(), as_of) > MUCH:
            java.append(BOTH)
        elif room >= ROOM:
            java.append(ROOMY)
    if java:
        print(f"{OPTIONS}={' '.join(java)}")


def _find_settings() -> Path:
    """The settings of a job that names none."""
    sys.path.append(str(ROOT))
    from pipelines.commands.options import find_settings

    return Path(find_settings())


def _bytes(memory: str) -> int:
    number, unit = memory[:-1], memory[-1].lower()
    return int(number) << UNITS[unit]


def _work(settings_file: Path, as_of: str | None) -> int:
    """Bytes of new Parquet files that would be as much work as this job."""
    if not settings_file.is_file():
        # To open a pipe is to wait for who writes into it.
        return 0
    settings: dict[str, Any] = yaml.safe_load(settings_file.read_bytes())
    folder = settings_file.parent
    warehouse = folder / str(settings["warehouse"])
    # A fold writes this table last.
    since = _last_commit(warehouse / "batches")
    inputs = [folder / given["path"] for given in (settings.get("inputs") or {}).values()]
    views = [folder / given["path"] for given in settings.get("snapshots") or []]
    work = _bytes_since(since, inputs) + VIEWS * _bytes_since(since, views)
    # What is wrong with a moment says the job.
    with suppress(ValueError, OverflowError):
        work += _open_bytes(settings, warehouse, as_of) // OPEN if as_of else 0
    return work


def _open_bytes(settings: Mapping[str, Any], warehouse: Path, as_of: str) -> int:
    """Of the files of events, by their partitions; what a later commit has replaced counts until it goes."""
    activation = settings.get("activation", {})
    hours = 0 if activation is None else float(activation.get("window_hours", DAY_HOURS))
    parts = [part for name in EVENTS for part in (warehouse / name).glob("closed_on=*")]
    days = {part: part.name.removeprefix("closed_on=") for part in parts}
    if as_of == LATEST:
        # The job finds out which moment that is. It is about the end of the last day on which events closed.
        last = max((day for day in days.values() if day[0].isdigit()), default=date.max.isoformat())
        moment = datetime.combine(date.fromisoformat(last), time.max, UTC)
    else:
        moment = datetime.fromisoformat(as_of).astimezone(UTC)
    since = (moment - timedelta(hours=hours)).date().isoformat()
    # That of events that have not closed yet comes after all days.
    return _bytes_since(0, [part for part, day in days.items() if day >= since])


def _last_commit(table: Path) -> float:
    # Their names are numbers of one length.
    last = max((table / "_delta_log").glob("*.json"), default=None)
    return last.stat().st_ctime if last else 0


def _bytes_since(moment: float, paths: Sequence[Path]) -> int:
    total = 0
    for file in (file for path in paths for file in _files(path)):
        found = file.stat()
        # Not when it was last changed, which a file that is moved in keeps.
        if found.st_ctime > moment:
            total += found.st_size // (TEXT if file.suffix in PLAIN else 1)
    return total


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:], os.environ["SPARK_DRIVER_MEMORY"])
