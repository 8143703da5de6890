"""What every experiment uses: logs, settings, and runs of the pipeline, the peer and the floors."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import yaml
from deltalake import DeltaTable

from benchmarks.equality import require_equal
from benchmarks.logs import make_log
from benchmarks.measure import DUCKDB, EMBEDDED, FLOOR, Measure
from benchmarks.processes import PROJECT, Finished, run_process
from benchmarks.server_captures import make_capture
from benchmarks.server_views import Format, make_views, snapshot_of
from schemas.events import CONTRACTS

HIGHEST = 10
LAST_MIDNIGHT = datetime(2026, 11, 21, tzinfo=UTC)
"""The end of the generator's first day, which is the as_of of logs of one day."""

DONE = re.compile(r"^(\w+) done in ([0-9.]+) s")
JOB_START = '{"Event":"SparkListenerJobStart"'


@dataclass
class Bench:
    """The options of one call, and the runs it makes.

    Attributes:
        folder: where logs and runs are kept.
        engines: those that the pipeline and the floor run on.
        messages: of the large nights.
        memory: of each engine and of DuckDB, such as 8g.
        rounds: how often each case runs.
        nights: how many nights the history has.
        keep: whether the tables of finished runs stay on disk.
    """

    folder: Path
    engines: Sequence[str]
    messages: int
    memory: str = "8g"
    rounds: int = 1
    nights: int = 30
    keep: bool = False
    measures: list[Measure] = field(default_factory=list)
    _cold: "Case | None" = None

    def log(self, messages: int, *more: str) -> Path:
        """A log of so many messages, in Parquet; `more` are further options of the generator."""
        _say(f"log of {messages:,} messages {' '.join(more)}")
        return make_log(messages, more, self.folder / "logs")

    def server(self, messages: int, format: Format = "parquet") -> Path:
        """The views of a server with so many queued messages, and five endpoints to two of these."""
        endpoints = messages * 5 // 2
        _say(f"{format} of {endpoints:,} endpoints and {messages:,} messages")
        folder = self.folder / "logs" / f"server-{messages}-{format}"
        if format == "capture":
            return make_capture(endpoints, messages, LAST_MIDNIGHT, folder)
        return make_views(endpoints, messages, folder, format)

    def add(self, measure: Measure) -> None:
        """Keep a measure."""
        self.measures.append(measure)
        _say(
            f"  {measure.system:15} {measure.seconds:8.1f} s {measure.cpu_seconds:8.1f} s of processor time "
            f"{measure.peak_bytes / 1e9:6.1f} GB"
        )

    def cold(self) -> "Case":
        """A first night of the bench's size: made once, its tables stay until `close`."""
        if self._cold is None:
            log = self.log(self.messages)
            self._cold = Case(self, "cold", f"{self.messages:,} messages", log, self.messages)
            self._cold.compare(floor=True)
        return self._cold

    def compare(
        self,
        experiment: str,
        name: str,
        messages: int,
        *more: str,
        memory: Mapping[str, str] | None = None,
    ) -> None:
        """Run the pipeline on each engine and the peer on a log of their own; the tables go."""
        case = Case(self, experiment, name, self.log(messages, *more), messages)
        case.compare(memory=memory)
        case.close()

    def close(self) -> None:
        """Remove what is left of the runs."""
        if self._cold is not None:
            self._cold.close()


@dataclass(frozen=True)
class Case:
    """A case of an experiment: its folder with settings, the warehouses, the peer's tables and the floors'.

    Attributes:
        bench, experiment, name: whose it is.
        log: the folder with catalog and rules, and with the inputs unless they are elsewhere.
        messages: of the log.
        inputs_at: the folder of the inputs, if it is not the log's.
        snapshot: how a server's views are written, if the log is these and has no events.
    """

    bench: Bench
    experiment: str
    name: str
    log: Path
    messages: int
    inputs_at: Path | None = None
    snapshot: Format | None = None

    @property
    def folder(self) -> Path:
        """Where everything of the experiment is; its cases run one after the other."""
        return self.bench.folder / "runs" / self.experiment

    def warehouse(self, engine: str) -> Path:
        """The pipeline's tables."""
        return self.folder / engine / "warehouse"

    def clear(self) -> None:
        """Remove what earlier runs left."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """Remove what this run left, unless the bench keeps it."""
        if not self.bench.keep:
            self.clear()

    def compare(self, *, floor: bool = False, memory: Mapping[str, str] | None = None) -> None:
        """Run the pipeline on each engine, the peer, and the floors, in turn and in each round.

        Figures count once the tables agree.

        Args:
            floor: whether the floors run.
            memory: of an engine, if not that of the bench.
        """
        for number in range(self.bench.rounds):
            _say(f"{self.experiment}: {self.name}, round {number + 1} of {self.bench.rounds}")
            self.clear()
            ours = [
                self.night(engine, LAST_MIDNIGHT, memory=(memory or {}).get(engine))
                for engine in self.bench.engines
            ]
            self.bench.add(self.peer(LAST_MIDNIGHT))
            for measure in ours:
                rows = self.require_equal(measure.system, LAST_MIDNIGHT)
                self.bench.add(replace(measure, rows=rows))
            if floor:
                for engine in self.bench.engines:
                    self.bench.add(self.floor(engine))

    def night(
        self,
        engine: str,
        as_of: datetime,
        *,
        activation: bool = False,
        memory: str | None = None,
        new: Collection[Path] | None = None,
        count_jobs: bool = False,
    ) -> Measure:
        """Run the nightly job.

        Args:
            engine: embedded or Spark.
            as_of: the instant to describe.
            activation: whether the replay of queue monitors runs too.
            memory: if not that of the bench.
            new: the files that are new to it, if not all of the inputs.
            count_jobs: whether Spark counts its jobs, which takes it a little time.
        """
        before = len(self._commits(engine))
        settings = self._settings(engine, activation=activation)
        options: list[str | Path] = ["--config", settings, "--as-of", as_of.isoformat(), "--quiet"]
        jobs = self.folder / engine / "jobs" if count_jobs and engine != EMBEDDED else None
        finished = self._job(engine, "jobs.nightly", options, memory=memory, event_log=jobs)
        return replace(
            self._measure(engine, finished, new, self.warehouse(engine)),
            commits=len(self._commits(engine)) - before,
            jobs=_count_jobs(jobs) if jobs else None,
        )

    def peer(self, as_of: datetime) -> Measure:
        """Run the peer on all files of the inputs."""
        out = self.folder / "peer"
        shutil.rmtree(out, ignore_errors=True)
        command: list[str | Path] = [sys.executable, "-m", "benchmarks.peer", "--as-of", as_of.isoformat()]
        command += ["--config", self._settings(DUCKDB), "--out", out]
        command += ["--threads", str(os.cpu_count()), "--memory", gibibytes(self.bench.memory)]
        finished = run_process(command, log=self.folder / "peer.log")
        return self._measure(DUCKDB, finished, None, out)

    def floor(self, engine: str, new: Collection[Path] | None = None) -> Measure:
        """Run the floor on the inputs and the finished warehouse of the engine; its tables go."""
        # A warehouse without tables: all is new, so spark-submit.sh chooses as for the night.
        place = f"floor_{engine}"
        out = self.warehouse(place)
        options: list[str | Path] = ["--config", self._settings(place), "--finished", self.warehouse(engine)]
        finished = self._job(engine, "benchmarks.floor", options)
        measure = self._measure(FLOOR + engine, finished, new, out)
        shutil.rmtree(out, ignore_errors=True)
        return measure

    def ask(self, engine: str) -> Measure:
        """Ask the questions of `queries.py`: their seconds are the steps."""
        settings = self._settings(engine)
        options: list[str | Path] = ["--config", settings, "--as-of", LAST_MIDNIGHT.isoformat()]
        finished = self._job(engine, "benchmarks.queries", options)
        return self._measure(engine, finished, None, self.warehouse(engine))

    def what_if(self, engine: str) -> Measure:
        """Ask what would change if a rule had another level: the one nearest to a tenth of the endpoints."""
        rules = yaml.safe_load((self.log / "rules.yaml").read_text(encoding="utf-8"))
        asked = _rule_of_a_tenth(self.warehouse(engine))
        for rule in rules:
            form = rule.get("create") or rule.get("alter") or {}
            if (rule["instance"], rule["database"], form.get("name")) == asked and "level" in form:
                form["level"] = 1 if form["level"] == HIGHEST else HIGHEST
        proposed = self.folder / "proposed.yaml"
        proposed.write_text(yaml.safe_dump(rules), encoding="utf-8")
        return self.answer(engine, "whatif", "--rules", proposed)

    def answer(self, engine: str, job: str, *options: str | Path) -> Measure:
        """Have a job answer a question about the night into a folder of its own."""
        out = self.folder / engine / "answer"
        shutil.rmtree(out, ignore_errors=True)
        asked = ["--config", self._settings(engine), *options, "--out", out]
        return self._measure(engine, self._job(engine, f"jobs.{job}", asked), None, out)

    def require_equal(self, engine: str, as_of: datetime) -> dict[str, int]:
        """See `equality.require_equal`."""
        return require_equal(self.warehouse(engine), self.folder / "peer", as_of)

    def _settings(self, system: str, *, activation: bool = False) -> Path:
        folder = self.folder / system
        folder.mkdir(parents=True, exist_ok=True)
        inputs = self.inputs_at or self.log
        settings: dict[str, Any] = {"warehouse": "warehouse"}
        if self.snapshot:
            settings["snapshots"] = [snapshot_of(self.log, LAST_MIDNIGHT, self.snapshot)]
        else:
            settings |= {
                "inputs": {s: {"path": str(inputs / s), "format": "parquet"} for s in CONTRACTS},
                "catalog": str(self.log / "catalog.yaml"),
                "rules": [{"path": str(self.log / "rules.yaml")}],
            }
        if not activation:
            settings["activation"] = None
        path = folder / "settings.yaml"
        path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
        return path

    def _job(
        self,
        engine: str,
        module: str,
        options: Sequence[str | Path],
        memory: str | None = None,
        event_log: Path | None = None,
    ) -> Finished:
        command: list[str | Path] = [sys.executable, "-m", module, *options]
        if engine != EMBEDDED:
            command = [PROJECT / "spark-submit.sh", f"{module.replace('.', '/')}.py", *options, "--spark"]
        if event_log:
            shutil.rmtree(event_log, ignore_errors=True)
            event_log.mkdir(parents=True)
            command += ["--conf", "spark.eventLog.enabled=true"]
            command += ["--conf", "spark.eventLog.compress=false"]
            command += ["--conf", f"spark.eventLog.dir={event_log.as_uri()}"]
        log = self.folder / engine / f"{module.split('.')[-1]}.log"
        return run_process(command, log=log, environment={"ENGINE_MEMORY": memory or self.bench.memory})

    def _measure(self, system: str, finished: Finished, new: Collection[Path] | None, out: Path) -> Measure:
        inputs = self.inputs_at or self.log
        sources = [inputs] if self.snapshot else [inputs / source for source in CONTRACTS]
        pattern = "*" if self.snapshot else "*.parquet"
        files = new or [file for source in sources for file in source.glob(pattern)]
        return Measure(
            experiment=self.experiment,
            case=self.name,
            system=system,
            messages=self.messages,
            events=sum(map(_count_rows, files)),
            bytes_in=_size(files),
            seconds=finished.seconds,
            cpu_seconds=finished.cpu_seconds,
            peak_bytes=finished.peak_bytes,
            bytes_read=finished.bytes_read,
            bytes_out=_size(out.rglob("*.parquet")),
            steps=steps_of(finished.lines),
            of=f"{datetime.now(UTC):%Y-%m-%d %H:%M} {_commit()}",
        )

    def _commits(self, engine: str) -> list[Path]:
        return list(self.warehouse(engine).glob("*/_delta_log/*.json"))


def _rule_of_a_tenth(warehouse: Path) -> tuple[str, str, str]:
    """Instance, database and name of the rule whose share of the endpoints is nearest to a tenth."""
    names = ["instance", "database", "rule_name"]
    endpoints = DeltaTable(warehouse / "endpoints").to_pyarrow_table(columns=names)
    counted = endpoints.group_by(names).aggregate([([], "count_all")]).to_pylist()
    of_rules = [row for row in counted if row["rule_name"] is not None]
    nearest = min(of_rules, key=lambda row: abs(10 * row["count_all"] - endpoints.num_rows))
    return nearest["instance"], nearest["database"], nearest["rule_name"]


def _count_rows(file: Path) -> int:
    """The rows of a Parquet file; of text, its lines."""
    if file.suffix == ".parquet":
        return int(pq.read_metadata(file).num_rows)
    with file.open("rb") as text:
        return sum(block.count(b"\n") for block in iter(lambda: text.read(1 << 20), b""))


def steps_of(said: Iterable[str]) -> dict[str, float]:
    """Seconds by step, from the lines in which jobs and peer say that a step is done."""
    found = (DONE.match(line) for line in said)
    return {match[1]: float(match[2]) for match in found if match}


def gibibytes(memory: str) -> str:
    """An engine's way to write memory (4g, 512m) as DuckDB's."""
    return re.sub(r"(?i)^(\d+)([gm])$", lambda match: f"{match[1]}{match[2].upper()}iB", memory)


def _count_jobs(event_log: Path) -> int:
    """How many jobs Spark's event log has: a few files, a line an event."""
    count = 0
    for file in event_log.rglob("*"):
        # Spark marks the state of a log with an empty file, and checksums begin with a dot.
        if file.is_file() and not file.name.startswith((".", "appstatus")):
            with file.open(encoding="utf-8") as lines:
                count += sum(line.startswith(JOB_START) for line in lines)
    return count


def _commit() -> str:
    said = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip()


def _size(files: Iterable[Path]) -> int:
    return sum(os.path.getsize(file) for file in files)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
