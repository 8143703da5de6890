"""What every experiment uses: logs, settings, and runs of the pipeline, the peer and the floor."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml

from benchmarks.equality import require_equal
from benchmarks.event_log import Work, files_read, read_event_log
from benchmarks.logs import LogOptions, make_log
from benchmarks.measure import FLOOR, PEER, PIPELINE, Measure
from benchmarks.processes import PROJECT, Finished, run_process

SOURCES = ("endpoint_events", "message_events", "queue_events")
LAST_MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
"""The end of the generator's first day, which is the as_of of logs of one day."""

DONE = re.compile(r"^(\w+) done in ([0-9.]+) s")


@dataclass
class Bench:
    """The options of one call, and the runs it makes.

    Attributes:
        folder: where logs and runs are kept.
        messages: the size that stands for 15 million.
        rounds: how often each case runs.
        nights: how many nights the history has.
        cores: of each system.
        memory: of Spark's driver and of DuckDB, such as 4g.
        peer, floor: whether they run.
        keep: whether the tables of finished runs stay on disk.
    """

    folder: Path
    messages: int
    rounds: int = 1
    nights: int = 30
    cores: int = 2
    memory: str = "4g"
    peer: bool = True
    floor: bool = True
    keep: bool = False
    measures: list[Measure] = field(default_factory=list)

    def log(self, messages: int, *more: str) -> Path:
        """A log of so many messages, in Parquet; `more` are further options of the generator."""
        options = LogOptions(messages, more)
        _say(f"log of {messages:,} messages {' '.join(more)}")
        return make_log(options, self.folder / "logs", memory=self.memory)

    def case(self, experiment: str, case: str, log: Path) -> "Case":
        """A case with a warehouse of its own that reads a log where it lies."""
        inputs = {source: log / source for source in SOURCES}
        return Case(self, experiment, case, log, inputs)

    def add(self, measure: Measure) -> Measure:
        """Keep a measure."""
        self.measures.append(measure)
        _say(f"  {measure.system:9} {measure.seconds:8.1f} s  {measure.cpu_seconds:8.1f} s of processor time")
        return measure

    def compare(
        self, experiment: str, name: str, log: Path, *, questions: bool = False, **spark: Any
    ) -> None:
        """Run pipeline, peer and floor in turn on a log, in each round; figures count once the tables agree.

        Args:
            experiment: the experiment's name.
            name: the case's name in it.
            log: the log's folder.
            questions: whether the pipeline's tables are asked the questions of `queries.py`, to be noted.
            spark: further arguments of `Case.pipeline`.
        """
        for number in range(self.rounds):
            _say(f"{experiment}: {name}, round {number + 1} of {self.rounds}")
            case = self.case(experiment, name, log)
            case.clear()
            ours = case.pipeline(LAST_MIDNIGHT, **spark)
            if questions:
                ours = ours.with_notes(case.ask(LAST_MIDNIGHT))
            if self.peer:
                theirs = case.peer(LAST_MIDNIGHT)
                ours = replace(ours, rows=case.require_equal(LAST_MIDNIGHT))
                self.add(theirs)
            self.add(ours)
            if self.floor:
                self.add(case.floor())
            if not self.keep:
                case.clear()


@dataclass(frozen=True)
class Case:
    """A case of an experiment: its folder with settings, warehouse, the peer's tables and the floor's."""

    bench: Bench
    experiment: str
    name: str
    log: Path
    inputs: Mapping[str, Path]
    at: Path | None = None

    @property
    def folder(self) -> Path:
        """Where everything of this case is; `at`, if cases share one."""
        return self.at or self.bench.folder / "runs" / self.experiment / re.sub(r"\W+", "-", self.name)

    @property
    def warehouse(self) -> Path:
        """The pipeline's tables."""
        return self.folder / "warehouse"

    def clear(self) -> None:
        """Remove what earlier runs left."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def write_settings(self) -> Path:
        """Write the settings, and return their path."""
        self.folder.mkdir(parents=True, exist_ok=True)
        settings = {
            "warehouse": "warehouse",
            "inputs": {
                source: {"path": str(path), "format": "parquet"} for source, path in self.inputs.items()
            },
            "catalog": str(self.log / "catalog.yaml"),
            "rules": [{"path": str(self.log / "rules.yaml")}],
        }
        path = self.folder / "settings.yaml"
        path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        return path

    def pipeline(
        self,
        as_of: datetime,
        *,
        memory: str | None = None,
        executors: int | None = None,
        profile: str | None = None,
        new: Sequence[Path] | None = None,
    ) -> Measure:
        """Run the nightly job.

        Args:
            as_of: the instant to describe.
            memory: of the driver, if not that of the bench.
            executors: of one core each, on a cluster on this machine; without it, the job is one process.
            profile: of spark-submit.sh, if not the one that follows from the master.
            new: the files that are new to it, if not all of the inputs.
        """
        command: list[str | Path] = [
            "jobs/nightly.py",
            "--config",
            self.write_settings(),
            "--as-of",
            as_of.isoformat(),
            "--quiet",
        ]
        finished, work, _ = self._spark(
            command, "nightly", memory=memory, executors=executors, profile=profile
        )
        timeline = tuple(_timeline(finished, self.warehouse))
        return self._measure(
            PIPELINE,
            finished,
            new=new,
            cores=executors,
            bytes_out=_size(self.warehouse.rglob("*.parquet")),
            work=asdict(work),
            notes={"timeline": timeline},
        )

    def peer(self, as_of: datetime) -> Measure:
        """Run the peer on all files of the inputs."""
        out = self.folder / "peer"
        shutil.rmtree(out, ignore_errors=True)
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "benchmarks.peer",
            "--config",
            self.write_settings(),
        ]
        command += ["--as-of", as_of.isoformat(), "--out", out]
        command += ["--threads", str(self.bench.cores), "--memory", gibibytes(self.bench.memory)]
        finished = run_process(command, log=self.folder / "peer.log", environment={"TZ": "UTC"})
        return self._measure(PEER, finished, bytes_out=_size(out.glob("*.parquet")))

    def floor(self, *, profile: str | None = None, new: Sequence[Path] | None = None) -> Measure:
        """Run the floor on the inputs and the finished warehouse; the arguments are those of `pipeline`."""
        out = self.folder / "floor"
        shutil.rmtree(out, ignore_errors=True)
        command: list[str | Path] = ["benchmarks/floor.py", "--config", self.write_settings()]
        command += ["--finished", self.warehouse, "--out", out]
        finished, work, _ = self._spark(command, "floor", profile=profile)
        written = _size(out.rglob("*.parquet"))
        return self._measure(FLOOR, finished, new=new, bytes_out=written, work=asdict(work))

    def ask(self, as_of: datetime) -> dict[str, str]:
        """Ask the questions of `queries.py`; the answer says the files and the seconds of each."""
        command: list[str | Path] = ["benchmarks/queries.py", "--config", self.write_settings()]
        command += ["--as-of", as_of.isoformat()]
        finished, _, files = self._spark(command, "queries")
        seconds = steps_of(line for _, line in finished.lines)
        return {name: f"{files.get(name, 0)} files, {value:.2f} s" for name, value in seconds.items()}

    def require_equal(self, as_of: datetime) -> dict[str, int]:
        """See `equality.require_equal`."""
        return require_equal(self.warehouse, self.folder / "peer", as_of)

    def _spark(
        self,
        command: Sequence[str | Path],
        name: str,
        *,
        memory: str | None = None,
        executors: int | None = None,
        profile: str | None = None,
    ) -> tuple[Finished, Work, dict[str, int]]:
        events = self.folder / f"{name}-events"
        shutil.rmtree(events, ignore_errors=True)
        events.mkdir(parents=True)
        memory = memory or self.bench.memory
        conf = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events.as_uri(),
            "spark.eventLog.compress": "false",
        }
        whole: list[str | Path] = [PROJECT / "spark-submit.sh", *command, "--spark"]
        if executors:
            conf |= {"spark.executor.cores": "1", "spark.executor.memory": memory}
            size = ["--workers", str(executors), "--cores", "1", "--memory", memory]
            whole = [sys.executable, "-m", "tools.local_cluster", *size, *whole]
        whole += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
        environment = {"SPARK_MASTER": f"local[{self.bench.cores}]", "SPARK_DRIVER_MEMORY": memory}
        if profile:
            environment["SPARK_PROFILE"] = profile
        finished = run_process(whole, log=self.folder / f"{name}.log", environment=environment)
        work, files = read_event_log(events), files_read(events)
        shutil.rmtree(events)
        return finished, work, files

    def _measure(
        self,
        system: str,
        finished: Finished,
        *,
        bytes_out: int,
        new: Sequence[Path] | None = None,
        cores: int | None = None,
        work: Mapping[str, Any] | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> Measure:
        files = (
            [file for path in self.inputs.values() for file in path.rglob("*.parquet")]
            if new is None
            else new
        )
        return Measure(
            experiment=self.experiment,
            case=self.name,
            system=system,
            events=sum(pq.read_metadata(file).num_rows for file in files),
            bytes_in=_size(files),
            seconds=finished.seconds,
            cpu_seconds=finished.cpu_seconds,
            peak_bytes=finished.peak_bytes,
            cores=cores or self.bench.cores,
            bytes_out=bytes_out,
            steps=steps_of(line for _, line in finished.lines),
            work=work or {},
            notes=notes or {},
        )


def steps_of(said: Iterable[str]) -> dict[str, float]:
    """Seconds by step, from the lines in which jobs and peer say that a step is done."""
    found = (DONE.match(line) for line in said)
    return {match[1]: float(match[2]) for match in found if match}


def gibibytes(memory: str) -> str:
    """Spark's way to write memory (4g, 512m) as DuckDB's."""
    return re.sub(r"(?i)^(\d+)([gm])$", lambda match: f"{match[1]}{match[2].upper()}iB", memory)


def _timeline(finished: Finished, warehouse: Path) -> Iterable[tuple[str, float]]:
    """Where the seconds of a run went: up to the first step, up to each commit of a table, up to the exit."""
    first = next((seconds for seconds, line in finished.lines if line.endswith("...")), 0.0)
    yield "start, to the first step", first
    previous = first
    for moment, table in sorted(_commits(warehouse)):
        at = moment - finished.started
        if at >= first:
            yield table, at - previous
            previous = at
    yield "after the last table", finished.seconds - previous


def _commits(warehouse: Path) -> Iterable[tuple[float, str]]:
    for log in warehouse.glob("*/_delta_log/*.json"):
        for line in log.read_text(encoding="utf-8").splitlines():
            action = json.loads(line)
            if "commitInfo" in action:
                kind = action["commitInfo"].get("operation", "").lower()
                table = log.parent.parent.name
                yield action["commitInfo"]["timestamp"] / 1000, f"{table} ({kind})"


def _size(files: Iterable[Path]) -> int:
    return sum(os.path.getsize(file) for file in files)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
