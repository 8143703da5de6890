"""A case of an experiment: runs of the pipeline and the peer on one log."""

import os
import shutil
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from dev.benchmarks.equality import require_equal
from dev.benchmarks.measure import DUCKDB, EMBEDDED, SPARK, Measure
from dev.benchmarks.options import LAST_MIDNIGHT, Options
from dev.benchmarks.processes import PROJECT, Finished, run_process
from dev.benchmarks.readings import (
    commit_of,
    costs_of,
    count_rows,
    gibibytes,
    rule_of_a_tenth,
    size_of,
    steps_of,
)
from dev.benchmarks.server_views import Format, snapshot_of
from schemas.events import CONTRACTS

HIGHEST = 10


@dataclass(frozen=True)
class Case:
    """A case of an experiment: its folder with settings, the warehouses and the peer's tables.

    Attributes:
        options: of the call.
        experiment, name: whose it is.
        log: the folder with catalog and rules, and with the inputs unless they are elsewhere.
        messages: of the log.
        inputs_at: the folder of the inputs, if it is not the log's.
        snapshot: how a server's views are written, if the log is these and has no events.
    """

    options: Options
    experiment: str
    name: str
    log: Path
    messages: int
    inputs_at: Path | None = None
    snapshot: Format | None = None

    @property
    def folder(self) -> Path:
        """Where everything of the experiment is; its cases run one after the other."""
        return self.options.folder / "runs" / self.experiment

    def warehouse(self, system: str) -> Path:
        """The tables of the pipeline on an engine."""
        return self.folder / system / "warehouse"

    def clear(self) -> None:
        """Remove what earlier runs left."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def close(self) -> None:
        """Remove what this run left, unless the call keeps it."""
        if not self.options.keep:
            self.clear()

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
            memory: if not that of the call.
            new: the files that are new to it, if not all of the inputs.
            count_jobs: whether Spark counts its jobs, which takes it a little time.
        """
        before = len(self._commits(engine))
        settings = self._settings(engine, activation=activation)
        options: list[str | Path] = ["--config", settings, "--as-of", as_of.isoformat(), "--quiet"]
        jobs = self._event_log(engine) if count_jobs else None
        finished = self._job(engine, "jobs.nightly", options, memory=memory, event_log=jobs)
        return replace(
            self._measure(engine, finished, new, self.warehouse(engine)),
            commits=len(self._commits(engine)) - before,
            spark=costs_of(jobs) if jobs else {},
        )

    def peer(self, as_of: datetime) -> Measure:
        """Run the peer on all files of the inputs."""
        out = self.folder / "peer"
        shutil.rmtree(out, ignore_errors=True)
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "dev.benchmarks.peer",
            "--as-of",
            as_of.isoformat(),
        ]
        command += ["--config", self._settings(DUCKDB), "--out", out]
        command += ["--threads", str(os.cpu_count()), "--memory", gibibytes(self.options.memory)]
        finished = run_process(command, log=self.folder / "peer.log")
        return self._measure(DUCKDB, finished, None, out)

    def ask(self, engine: str) -> Measure:
        """Ask the questions of `queries.py`: their seconds are the steps."""
        settings = self._settings(engine)
        options: list[str | Path] = ["--config", settings, "--as-of", LAST_MIDNIGHT.isoformat()]
        finished = self._job(engine, "dev.benchmarks.queries", options)
        return self._measure(engine, finished, None, self.warehouse(engine))

    def what_if(self, engine: str) -> Measure:
        """Ask what would change if a rule had another level: the one nearest to a tenth of the endpoints."""
        rules = yaml.safe_load((self.log / "rules.yaml").read_text(encoding="utf-8"))
        asked = rule_of_a_tenth(self.warehouse(engine))
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

    def compared(self, measure: Measure, as_of: datetime) -> Measure:
        """A night's measure with the rows by table, which equal the peer's.

        Raises:
            UnequalError: they don't.
        """
        return replace(
            measure, rows=require_equal(self.warehouse(measure.system), self.folder / "peer", as_of)
        )

    def _event_log(self, engine: str) -> Path | None:
        return self.folder / engine / "jobs" if engine == SPARK else None

    def _settings(self, system: str, *, activation: bool = False) -> Path:
        folder = self.folder / system
        folder.mkdir(parents=True, exist_ok=True)
        inputs = self.inputs_at or self.log
        settings: dict[str, Any] = {"warehouse": "warehouse"}
        if self.snapshot:
            settings["snapshots"] = [snapshot_of(self.log, LAST_MIDNIGHT, self.snapshot)]
        else:
            settings |= {
                "inputs": {
                    source: {"path": str(inputs / source), "format": "parquet"}
                    for source in CONTRACTS
                    if (inputs / source).exists()
                },
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
        # What is measured may be another checkout's; the questions of `queries.py` are this one's.
        project = self.options.project if module.startswith("jobs.") else PROJECT
        command: list[str | Path] = [sys.executable, "-m", module, *options]
        if engine != EMBEDDED:
            command = [project / "spark-submit.sh", f"{module.replace('.', '/')}.py", *options, "--spark"]
        if event_log:
            shutil.rmtree(event_log, ignore_errors=True)
            event_log.mkdir(parents=True)
            command += ["--conf", "spark.eventLog.enabled=true"]
            command += ["--conf", "spark.eventLog.compress=false"]
            command += ["--conf", f"spark.eventLog.dir={event_log.as_uri()}"]
        log = self.folder / engine / f"{module.split('.')[-1]}.log"
        environment = {"ENGINE_MEMORY": memory or self.options.memory}
        return run_process(command, log=log, environment=environment, project=project)

    def _measure(self, system: str, finished: Finished, new: Collection[Path] | None, out: Path) -> Measure:
        inputs = self.inputs_at or self.log
        sources = [inputs] if self.snapshot else [inputs / source for source in CONTRACTS]
        pattern = "*" if self.snapshot else "*.parquet"
        files = new or [file for source in sources for file in source.glob(pattern)]
        # The peer is of this checkout.
        project = self.options.project if system in (EMBEDDED, SPARK) else PROJECT
        return Measure(
            experiment=self.experiment,
            case=self.name,
            system=system,
            messages=self.messages,
            events=sum(map(count_rows, files)),
            bytes_in=size_of(files),
            seconds=finished.seconds,
            cpu_seconds=finished.cpu_seconds,
            peak_bytes=finished.peak_bytes,
            bytes_read=finished.bytes_read,
            bytes_out=size_of(out.rglob("*.parquet")),
            steps=steps_of(finished.lines),
            of=f"{datetime.now(UTC):%Y-%m-%d %H:%M} {commit_of(project)}",
        )

    def _commits(self, engine: str) -> list[Path]:
        return list(self.warehouse(engine).glob("*/_delta_log/*.json"))
