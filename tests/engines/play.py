"""Plays inputs on one engine, in a process of its own: python -m tests.engines.play ENGINE INPUTS OUT NAME...

INPUTS is the folder of `make_inputs`, OUT a folder. It gets a folder of each input, as it is afterwards, and
beside it a JSON file of what came out: the tables after each step that writes, and what each command said.
Each step says how many seconds it took, and how many of the processors.
"""

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import chdir, contextmanager, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import psutil
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from pipelines.console.invocation import JOBS
from pipelines.engine.session import is_embedded
from pipelines.schedules import numbering
from pipelines.storage import batches
from tests.engines.inputs import INPUTS, arrive, change_rules
from tests.engines.questions import DAMAGED, READING, WRITING, names_in, nights_of, played_on, words_of
from tests.field.running import run, table_of
from tests.support import plans
from tests.support.factories import Row
from tests.support.warehouses import make_older

COMMANDS = {job: command for command, job in JOBS.items()}
MUCH = {
    "codegen_wholeStage": "true",
    "codegen_factoryMode": "FALLBACK",
    "subexpressionElimination_enabled": "true",
    "adaptive_enabled": "true",
    "shuffle_partitions": "3",
}
MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?")
MASKS = (
    (r"\b(done in|failed after) \d+\.\d s", r"\1 ? s"),
    (r"\bfinished at \S+", "finished at ?"),
    (r"(?m)^(service_broker_run_\w+) .*", r"\1 ?"),
    # On the page: how long runs took, in a figure, a cell and the data.
    (r"(The run took</dt><dd[^>]*>)[^<]*(</dd><dd[^>]*>)[^<]*", r"\1?\2?"),
    (r'(data-value=)"\d+\.\d{3,6}">[^<]*', r"\1"),
    (r'("NOW","NOW"),\d+\.\d+', r"\1"),
    # How many files a table has is up to the engine; a line that said nothing else goes.
    (r"(; )?\b(join|delete|in) \d+ (unused )?files?( in \d+ partitions)?", ""),
    (r"(?m)^\w+: \n", ""),
)
"""Patterns of what differs between two runs, and what stands in their place; moments are masked first."""
SUBMITTED = re.compile(r"\./spark-submit\.sh jobs/(\w+)\.py")


def main(engine: str, inputs: str, out: str, *names: str) -> None:
    """Play inputs of these names."""
    session = _open(engine)
    for name in names:
        with _timed(f"{engine} {name}"):
            found = _Player(session, name, Path(inputs), Path(out)).play()
        Path(out, f"{name}.json").write_text(json.dumps(found))


def _open(engine: str) -> SparkSession:
    if engine == "spark":
        from tests.support.apache_spark import open_apache_spark

        return open_apache_spark()
    from pipelines.engine.session import open_session

    return open_session("tests")


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began, used = time.monotonic(), _processor_seconds()
    yield
    took = f"{time.monotonic() - began:6.1f} s {_processor_seconds() - used:6.1f} of the processors"
    print(f"{took}  {what}", flush=True)


def _processor_seconds() -> float:
    process = psutil.Process()
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


class _Player:
    """One input on the engine of this process."""

    def __init__(self, session: SparkSession, name: str, inputs: Path, out: Path) -> None:
        self._session = session
        self._name, self._input = name, INPUTS[name]
        self._arrivals, self._folder = inputs / name, out / name
        shutil.copytree(self._arrivals / "project", self._folder)
        self._tables: dict[str, dict[str, Any]] = {}
        self._said: dict[str, Row] = {}
        self._runs: dict[str, str] = {}
        self._began = datetime.now(UTC).replace(microsecond=0)

    def play(self) -> Any:
        """Run the nights, then every command, and return the tables after each night and what was said."""
        names, warehouse = self._input.moments, self._folder / "warehouse"
        for number, (night, line) in enumerate(nights_of(self._name).items(), start=1):
            if (self._arrivals / str(number)).exists():
                arrive(self._folder, self._arrivals / str(number))
            if night == "second" and self._input.is_older:
                make_older(warehouse)
            is_large = night == "backfill" and self._input.is_large
            with taken_for_much(self._session) if is_large else nullcontext():
                self._ask(line, names)
            assert self._said[line]["code"] in ("0", "6"), self._said[line]["err"]
            self._tables[night] = self._read_tables()
        named = ("receive_schedule", "transmission_schedule", "activation_summary")
        names |= names_in({name: table_of(warehouse, name) for name in named}, self._input)
        for line in played_on(self._name, READING):
            self._ask(line, names)
        change_rules(self._folder)
        for line in played_on(self._name, WRITING):
            self._ask(line, names)
        self._tables["commands"] = self._read_tables()
        lose_commits(warehouse, "receive_schedule")
        self._ask(DAMAGED, names)
        return {"tables": self._tables, "said": self._said}

    def _ask(self, line: str, names: Mapping[str, str]) -> None:
        """Run a command in the folder of the project, and keep what it says."""
        command, *options = words_of(line, names)
        with _timed(f"  {line}"), chdir(self._folder):
            outcome = run(command.replace("-", "_"), "--config", "settings.yaml", *options)
        said = {
            "code": str(outcome.code),
            "out": outcome.out,
            "err": "\n".join(sorted(outcome.err.splitlines())),
        }
        if "page.html" in options and not outcome.code:
            said["page"] = (self._folder / "page.html").read_text("utf-8")
        self._said[line] = {name: self._plain(text) for name, text in said.items()}

    def _read_tables(self) -> dict[str, Any]:
        """Columns and rows of the tables of the warehouse, and of the answers that commands wrote."""
        runs = table_of(self._folder / "warehouse", "runs")
        for number, row in enumerate(sorted(runs, key=lambda row: row["started_at"])):
            self._runs[row["run_id"]] = f"run {number}"
        found = {}
        for log in sorted(self._folder.glob("*/*/_delta_log")):
            root, name = log.parent.parent, log.parent.name
            columns = {each.name: str(each.type) for each in DeltaTable(str(log.parent)).schema().fields}
            rows = [{name: self._value(value) for name, value in row.items()} for row in table_of(root, name)]
            found[f"{root.name}.{name}"] = {"columns": columns, "rows": rows}
        return found

    def _value(self, value: object) -> object:
        """A value that JSON has: maps in one order, moments as text."""
        if isinstance(value, list):
            return sorted((self._value(each) for each in value), key=str)
        if isinstance(value, tuple):
            return [self._value(each) for each in value]
        return value if value is None or isinstance(value, int | float) else self._plain(str(value))

    def _plain(self, text: str) -> str:
        """A text without the folder, ids and moments of runs, seconds, and how the process was started."""
        text = text.replace(str(self._folder), "FOLDER")
        for id, name in self._runs.items():
            text = text.replace(id, name)
        text = MOMENT.sub(self._plain_moment, text)
        for pattern, mask in MASKS:
            text = re.sub(pattern, mask, text)
        return SUBMITTED.sub(lambda job: f"priorities {COMMANDS.get(job[1], job[1])}", text)

    def _plain_moment(self, found: re.Match[str]) -> str:
        moment = datetime.fromisoformat(found[0]).replace(tzinfo=UTC)
        return "NOW" if self._began <= moment <= datetime.now(UTC) else found[0]


@contextmanager
def taken_for_much(session: SparkSession) -> Iterator[None]:
    """Let Apache Spark work as it does on large ledgers: compiled, in several tasks, ranked in buckets."""
    if is_embedded(session):
        yield
        return
    with (
        patch.object(batches, "SMALL_LEDGER", -1),
        patch.object(numbering, "MOST_TOGETHER", 2),
        plans.settings(session, **MUCH),
    ):
        yield


def lose_commits(warehouse: Path, table: str) -> None:
    """Take away the newest commits of a table, with the last one that was published."""
    last = max(table_of(warehouse, "runs"), key=lambda run: run["started_at"])
    newest = DeltaTable(str(warehouse / table)).version()
    for version in range(dict(last["versions"])[table], newest + 1):
        for path in (warehouse / table / "_delta_log").glob(f"*{version:020}.*"):
            path.unlink()


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    main(*sys.argv[1:])
